"""Derivatives of residuals and loss at all parameters in one vector, and their ranks: manifolds as linear algebra."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

RANK = 1e-8  # a singular value below this share of the largest is zero


def jacobian(problem: Any, params: Any) -> np.ndarray:
    """The derivative of the residuals, a row per residual."""
    return _evaluated(problem, params, "residuals")


def hessian(problem: Any, params: Any) -> np.ndarray:
    """The second derivative of the loss."""
    return _evaluated(problem, params, "loss")


def rank(matrix: np.ndarray, share: float = RANK) -> int:
    """The number of singular values above a share of the largest."""
    return int(np.linalg.matrix_rank(matrix, tol=share * np.linalg.norm(matrix, 2)))


def _evaluated(problem: Any, params: Any, of: str) -> np.ndarray:
    from jax.flatten_util import ravel_pytree

    return np.asarray(_compiled(problem, of)(ravel_pytree(params)[0]))


@lru_cache(maxsize=16)
def _compiled(problem: Any, of: str) -> Any:
    """The derivative that is asked for, compiled once for all points of a problem."""
    import jax
    from jax.flatten_util import ravel_pytree

    unravel = ravel_pytree(problem.init())[1]
    if of == "loss":
        return jax.jit(jax.hessian(lambda vector: problem.loss(unravel(vector))))
    return jax.jit(jax.jacobian(lambda vector: problem.residuals(unravel(vector))))
