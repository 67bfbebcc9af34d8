"""Values as JSON can carry them."""

from __future__ import annotations

from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A value as JSON can carry it: NumPy numbers as numbers, what is not finite as null."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value
