"""The formulas of Section 6 and Appendix C as they are printed, in plain NumPy, against what they are said to be."""

from __future__ import annotations

from typing import Any

import numpy as np

MODULUS, WIDTH = 11, 64


def bracket(inputs: np.ndarray, targets: np.ndarray, first: np.ndarray) -> np.ndarray:
    """`Xᵀ[(A Y Yᵀ A H) ⊙ σ'(X W1)]` with `A = (H Hᵀ)⁻¹`, literally: an inverse and square products."""
    before = inputs @ first
    hidden = np.maximum(before, 0.0)
    inverse = np.linalg.inv(hidden @ hidden.T)
    return inputs.T @ ((inverse @ targets @ targets.T @ inverse @ hidden) * (before > 0))


def compare(seed: int) -> dict[str, np.ndarray]:
    """Relative gaps: of Appendix C's last line and of Equation 21 to the derivative of Equation 20, and of
    `Hᵀ(HHᵀ)⁻¹` to the pseudo-inverse where H has full column rank, and full row rank.
    """
    import jax
    import jax.numpy as jnp

    from latebloom.problems.networks.modular_net import ModularNet

    problem = ModularNet(MODULUS, WIDTH, seed=seed)
    inputs, targets = np.asarray(problem.inputs), np.asarray(problem.targets)
    first = np.asarray(problem.init()["first"])

    def cost(weights: Any) -> jax.Array:  # Equation 20 over λ
        hidden = jax.nn.relu(inputs @ weights)
        return jnp.sum(weights**2) + jnp.trace(targets.T @ jnp.linalg.solve(hidden @ hidden.T, targets))

    slope, force = np.asarray(jax.grad(cost)(jnp.asarray(first))), bracket(inputs, targets, first)
    wide = np.random.default_rng(seed).normal(size=(8, 12))
    return {
        "appendix_c": np.array([_gap(-2 * first + 2 * force, slope)]),
        "equation_21": np.array([_gap(-2 * (force - first), slope)]),
        "column_rank": np.array([_gap(_right_inverse(wide.T), np.linalg.pinv(wide.T))]),
        "row_rank": np.array([_gap(_right_inverse(wide), np.linalg.pinv(wide))]),
    }


def _right_inverse(matrix: np.ndarray) -> np.ndarray:
    """`Hᵀ(HHᵀ)⁻¹`; infinite where LAPACK finds HHᵀ singular, which for one of rank 8 of 12 rounding decides."""
    try:
        return matrix.T @ np.linalg.inv(matrix @ matrix.T)
    except np.linalg.LinAlgError:
        return np.full(matrix.T.shape, np.inf)


def _gap(value: np.ndarray, reference: np.ndarray) -> float:
    return float(np.linalg.norm(value - reference) / np.linalg.norm(reference))
