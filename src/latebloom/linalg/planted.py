"""Planted matrices of low rank."""

from __future__ import annotations

import numpy as np

from latebloom.core.seeds import generator
from latebloom.errors import InputError, check_choice, check_count

TRUTHS = ("orthogonal", "gaussian")


def low_rank_factors(
    shape: tuple[int, int],
    rank: int,
    kind: str = "orthogonal",
    *,
    norm: float = 1.0,
    symmetric: bool = False,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`U, σ, V` of a random matrix `U diag(σ) Vᵀ` of the given rank and Frobenius norm; `U = V` if `symmetric`.

    "orthogonal" is the random orthogonal model: orthonormal singular vectors, uniform on their manifolds, and all
    singular values equal, `norm / √rank`. "gaussian" is a product of two Gaussian factors.

    >>> left, sigma, right = low_rank_factors((4, 3), 2)
    >>> left.shape, sigma.round(4).tolist(), right.shape
    ((4, 2), [0.7071, 0.7071], (3, 2))
    """
    check_choice("truth_kind", kind, TRUTHS)
    if check_count("rank", rank) > min(shape):
        raise InputError(f"rank={rank} is more than a matrix of shape {shape} can have: use at most {min(shape)}")
    random = generator(seed, "truth")
    first = random.normal(size=(shape[0], rank))
    second = first if symmetric else random.normal(size=(shape[1], rank))
    left, sigma, right = orthonormal(first), np.ones(rank), orthonormal(second)
    if kind == "gaussian":
        u, sigma, vt = np.linalg.svd(left.T @ first @ second.T @ right)
        signs = np.sign(u[0])  # an SVD leaves them to LAPACK
        left, right = left @ (u * signs), right @ (vt.T * signs)
    return left, norm * sigma / np.linalg.norm(sigma), left if symmetric else right


def assembled(left: np.ndarray, sigma: np.ndarray, right: np.ndarray) -> np.ndarray:
    """`U diag(σ) Vᵀ`, symmetric to the last bit if `U = V`."""
    root = np.sqrt(sigma)
    return (left * root) @ (right * root).T


def orthonormal(gaussian: np.ndarray) -> np.ndarray:
    """Orthonormal columns from a Gaussian draw, uniformly distributed."""
    q, r = np.linalg.qr(gaussian)
    return q * np.sign(np.diag(r))  # QR leaves the signs to LAPACK; a positive diagonal makes the draw unique


def completed(columns: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """An orthonormal basis that begins with these orthonormal columns.

    >>> (completed(np.eye(3)[:, :1], np.random.default_rng(0))[:, 0] + 0.0).tolist()
    [1.0, 0.0, 0.0]
    """
    size, count = columns.shape
    return orthonormal(np.hstack([columns, random.normal(size=(size, size - count))]))
