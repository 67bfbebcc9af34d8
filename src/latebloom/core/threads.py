"""Linear algebra on one core: for matrices this small, threads that wait for each other cost more than they give."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def one_core() -> Iterator[None]:
    """NumPy, SciPy and LAPACK inside compiled programs use one core; the runs of a batch share out the others.

    On a busy machine the nuclear-norm oracle is five times quicker so, and a step with a Cholesky factor of 133 rows
    twelve times; and how they round does not depend on how many cores there are. XLA's own products of large matrices
    are not held by this: a network is rounded differently on another number of cores.

    >>> import numpy as np
    >>> with one_core():
    ...     np.linalg.svd(np.eye(2), compute_uv=False)
    array([1., 1.])
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


ROUNDING_CORES = "PJRT_NPROC"  # XLA reads it when a process begins to compute


def rounding_cores() -> int:
    """How many cores XLA cuts its products of large matrices by in this process, which decides how they are rounded.

    A worker that is given the same number in the environment variable `PJRT_NPROC` rounds alike, on whatever cores it
    has: on one core a network with two threads took 16.2 s and with one 14.5 (once, on a busy machine).
    """
    for name in (ROUNDING_CORES, "NPROC"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return len(mine)


@cache
def _controller() -> Any:
    """Looking for the libraries takes 10 ms, so once."""
    import scipy.linalg  # noqa: F401  # it brings a library of its own, which is found only if it is loaded
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
