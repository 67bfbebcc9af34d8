"""Where a run comes from: versions and machine."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version
from typing import Any

import jax


def provenance(seconds: float, gradients: int) -> dict[str, Any]:
    """Where a run comes from: versions, machine, seconds and gradients."""
    return {"seconds": seconds, "gradients": gradients, **_surroundings()}


@cache
def _surroundings() -> dict[str, Any]:
    packages = ("latebloom", "jax", "jaxlib", "equinox", "numpy")
    return {
        "versions": {name: version(name) for name in packages} | {"python": platform.python_version()},
        "platform": platform.platform(),
        "device": jax.devices()[0].platform,
    }
