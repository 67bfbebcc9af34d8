"""Numbers between two others that are the same on every processor, since they are part of what identifies a run.

A power differs in its last digit from one processor to the next (with AVX-512 or without), so twelve digits are kept.
"""

from __future__ import annotations

import numpy as np


def geometric(first: float, last: float, count: int) -> tuple[float, ...]:
    """`count` numbers from `first` to `last`, each the same factor above the one before.

    >>> geometric(1e-3, 1e-1, 5)
    (0.001, 0.00316227766017, 0.01, 0.0316227766017, 0.1)
    """
    return tuple(short(value) for value in np.geomspace(first, last, count).tolist())


def linear(first: float, last: float, count: int) -> tuple[float, ...]:
    """`count` numbers from `first` to `last`, each as much above the one before.

    >>> linear(0.1, 0.7, 3)
    (0.1, 0.4, 0.7)
    """
    return tuple(short(value) for value in np.linspace(first, last, count).tolist())


def short(value: float) -> float:
    """A computed number with twelve digits.

    >>> short(0.1 + 0.2)
    0.3
    """
    return float(f"{value:.12g}")
