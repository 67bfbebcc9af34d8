"""Linear algebra on one core: for matrices this small, threads that wait for each other cost more than they give."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def one_core() -> Iterator[None]:
    """NumPy and SciPy use one core inside; on a busy machine the nuclear-norm oracle is five times quicker so.

    >>> import numpy as np
    >>> with one_core():
    ...     np.linalg.svd(np.eye(2), compute_uv=False)
    array([1., 1.])
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> Any:
    """Looking for the libraries takes 10 ms, so once."""
    import scipy.linalg  # noqa: F401  # it brings a library of its own, which is found only if it is loaded
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
