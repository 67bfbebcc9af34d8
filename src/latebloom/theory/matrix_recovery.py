"""Can a matrix be recovered: when it is the interpolator of minimum nuclear norm, by the rank null space property.

The constant of the property is a maximum of a ratio of two convex functions over the kernel, and nobody knows how to
compute it in general. Computable are: a lower bound with a witness, which disproves the property; the constant
itself for a kernel of one dimension; and, exactly, the constant relative to one truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from latebloom.core.seeds import check_seed, generator
from latebloom.errors import check_count, check_number
from latebloom.linalg.spectral_norm import smallest_spectral_norm
from latebloom.linalg.spectrum import Spectrum
from latebloom.problems.base import known_truth
from latebloom.problems.matrix.base import require_matrix
from latebloom.theory.recovery import check_design


@dataclass(frozen=True, eq=False)
class RankNullSpaceBound:
    """A lower bound on the rank null space constant ρ of order r, reached by `witness`, a matrix of the kernel.

    `exact` says whether the bound is ρ. The witness is None if the kernel is trivial.

    >>> RankNullSpaceBound(lower=1.2, exact=False, witness=None).fails
    True
    """

    lower: float
    exact: bool
    witness: np.ndarray | None

    @property
    def fails(self) -> bool:
        """Whether the property is disproved: some matrix of rank r is then not recovered uniquely."""
        return self.lower >= 1

    @property
    def sentence(self) -> str:
        """The bound in words."""
        if self.fails:
            return f"the rank null space property fails: the kernel has a matrix with ratio {self.lower:.4g} >= 1"
        if self.exact:
            return f"the rank null space property holds with constant {self.lower:.4g}"
        return f"not decided: the rank null space constant is at least {self.lower:.4g}, and no upper bound is known"


def rank_null_space_lower_bound(
    design: Any, shape: Any, rank: int, *, starts: int = 10, seed: int = 0
) -> RankNullSpaceBound:
    """A lower bound on `ρ = max Σ_{l<=r} σ_l(Z) / Σ_{l>r} σ_l(Z)` over the kernel of the design, by local ascent.

    ρ < 1 if and only if every matrix of rank r is the unique interpolator of minimum nuclear norm of its
    measurements. The best of `starts` quasi-Newton ascents is a proof that ρ is at least that, and so of failure if it
    is 1 or more; below 1 it proves nothing. Exact for a kernel of dimension 1, and 0 for a trivial one. Infinite if
    the witness has rank r or less to rounding: so it is for every matrix completion with an entry that is not
    observed, since that entry alone is a matrix of rank 1 in the kernel. Theorem 3.5 then never applies.

    >>> bound = rank_null_space_lower_bound([[1.0, 0, 0, -2], [0, 1, 0, 0], [0, 0, 1, 0]], (2, 2), rank=1)
    >>> round(bound.lower, 12), bound.fails
    (2.0, True)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Definition C.46 and Theorem C.47.
    """
    from scipy.linalg import null_space

    design, shape = check_design(design, shape)
    rank = check_count("rank", rank, most=min(shape))
    starts, seed = check_count("starts", starts), check_seed(seed)
    kernel = null_space(design)
    if kernel.shape[1] == 0:
        return RankNullSpaceBound(0.0, exact=True, witness=None)
    if kernel.shape[1] == 1 or rank == min(shape):
        witness = kernel[:, 0].reshape(shape)
        return RankNullSpaceBound(_ratio(witness, rank), exact=True, witness=witness)
    # The entry that the design sees least: if it sees none of it, that entry alone is in the kernel, exactly.
    entry = (kernel @ kernel[np.argmax(np.linalg.norm(kernel, axis=1))]).reshape(shape)
    if math.isinf(_ratio(entry, rank)):
        return RankNullSpaceBound(math.inf, exact=True, witness=entry)
    random = generator(seed, "null space")
    tried = [entry] + [_ascend(kernel, random.normal(size=kernel.shape[1]), shape, rank) for _ in range(starts)]
    lower, witness = max(((_ratio(z, rank), z) for z in tried), key=lambda pair: pair[0])
    return RankNullSpaceBound(lower, exact=math.isinf(lower), witness=witness)


@dataclass(frozen=True)
class RelativeNullSpace:
    """The null space constant of one truth, between `lower` and `upper`.

    `injectivity` is the sine of the smallest angle between the kernel and the tangent space T of the truth: zero if
    they share a direction.

    >>> RelativeNullSpace(lower=0.5, upper=0.5, injectivity=0.1).recovered
    True
    """

    lower: float
    upper: float
    injectivity: float

    @property
    def minimiser(self) -> bool | None:
        """Whether the truth has minimum nuclear norm among the interpolators; None if the bounds do not tell."""
        return True if self.upper <= 1 else False if self.lower > 1 else None

    @property
    def recovered(self) -> bool | None:
        """Whether it is the only one; None where the constant does not tell."""
        if self.upper < 1 and self.injectivity > 0:
            return True
        return False if self.minimiser is False else None

    @property
    def sentence(self) -> str:
        """The answer in words."""
        value = f"{self.lower:.6g}" if self.lower == self.upper else f"{self.lower:.6g} to {self.upper:.6g}"
        if self.recovered:
            return f"the truth is the unique interpolator of minimum nuclear norm (relative constant {value} < 1)"
        if self.minimiser is False:
            return f"the truth is not an interpolator of minimum nuclear norm (relative constant {value} > 1)"
        if self.minimiser:
            return f"the truth has minimum nuclear norm, and first order does not tell if it alone has ({value})"
        return f"not decided: the relative constant is {value}"


def null_space_relative(problem: Any, *, tolerance: float = 1e-6) -> RelativeNullSpace:
    """The constant `ρ = max -<U Vᵀ, H>` over the kernel with `|P_T⊥ H|_* <= 1`, for the truth `A* = U Σ Vᵀ`.

    T is the tangent space of the matrices of its rank, `P_T⊥ H = (I - UUᵀ) H (I - VVᵀ)`. The slope of the nuclear
    norm at A* along H is `<U Vᵀ, H> + |P_T⊥ H|_*`, so A* has minimum nuclear norm among all matrices with its
    measurements if and only if ρ <= 1, and is the only one if ρ < 1 and the design is injective on T. The converse of
    the last fails: the second order can decide, see the second example. Solved by its dual, the smallest
    `|P_T⊥ Y|_op` over Y in the row space with `P_T Y = U Vᵀ` (a dual certificate), with bounds from both sides.
    It is about the noise-free measurements of A*: the targets play no part.

    >>> from latebloom.problems import MatrixRegression
    >>> truth = [[1.0, 0.0], [0.0, 0.0]]
    >>> seen = [[[1.0, 0, 0, -0.5], [0, 1, 0, 0], [0, 0, 1, 0]], [[1.0, 0, 0, 0], [0, 1, -1, 0], [0, 0, 0, 1]]]
    >>> one, two = (MatrixRegression(np.reshape(m, (3, 2, 2)), [1.0, 0, 0], truth=truth) for m in seen)
    >>> round(null_space_relative(one).upper, 9), null_space_relative(one).recovered
    (0.5, True)
    >>> null_space_relative(two).upper, null_space_relative(two).recovered  # |A* + tH|_* = √(1 + 4t²): unique
    (0.0, None)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Section C.7; Candès and Recht (2009), Lemma 3.1.
    """
    matrix = require_matrix(problem, "null_space_relative")
    truth = known_truth(matrix, "null_space_relative")
    tolerance = check_number("tolerance", tolerance, above=0)
    spectrum = Spectrum.of(np.asarray(matrix.design, dtype=np.float64))
    if not spectrum.has_kernel:
        return RelativeNullSpace(0.0, 0.0, 1.0)
    u, sigma, vt = np.linalg.svd(truth)
    rank = int(np.sum(sigma > max(truth.shape) * np.finfo(float).eps * sigma[0]))
    if rank == 0:
        return RelativeNullSpace(0.0, 0.0, 1.0)
    rows = u.T @ spectrum.right.T.reshape(-1, *truth.shape) @ vt.T  # in the truth's bases U Vᵀ is an identity block
    tangent = np.ones(truth.shape, dtype=bool)
    tangent[rank:, rank:] = False
    wanted = _identity_block(truth.shape, rank)[tangent]
    return _dual_constant(rows[:, tangent], rows[:, rank:, rank:], wanted, tolerance)


def _dual_constant(inside: np.ndarray, outside: np.ndarray, wanted: np.ndarray, tolerance: float) -> RelativeNullSpace:
    """The smallest `|Σ c_k outside_k|_op` with `Σ c_k inside_k = wanted`; (inside, outside)_k are orthonormal."""
    left, sine, right = np.linalg.svd(inside, full_matrices=True)
    seen = int(np.sum(sine > max(inside.shape) * np.finfo(float).eps))  # sines of angles, at most 1
    injectivity = float(sine[-1]) if seen == len(wanted) else 0.0
    measures = right[:seen] @ wanted
    if np.linalg.norm(wanted - measures @ right[:seen]) > math.sqrt(np.finfo(float).eps) * np.linalg.norm(wanted):
        return RelativeNullSpace(math.inf, math.inf, injectivity)
    if min(outside.shape[1:]) == 0:
        return RelativeNullSpace(0.0, 0.0, injectivity)
    offset = np.tensordot(left[:, :seen] @ (measures / sine[:seen]), outside, 1)
    # Orthonormal, like the whole rows, since their inside parts vanish.
    directions = np.tensordot(left[:, seen:].T, outside, 1)
    smallest = smallest_spectral_norm(offset, directions, tolerance=tolerance)
    return RelativeNullSpace(smallest.lower, smallest.upper, injectivity)


def _identity_block(shape: tuple[int, ...], rank: int) -> np.ndarray:
    block = np.zeros(shape)
    block[range(rank), range(rank)] = 1.0
    return block


def _ascend(kernel: np.ndarray, start: np.ndarray, shape: tuple[int, int], rank: int) -> np.ndarray:
    from scipy.optimize import minimize

    def objective(coefficients: np.ndarray) -> tuple[float, np.ndarray]:
        u, sigma, vt = np.linalg.svd((kernel @ coefficients).reshape(shape), full_matrices=False)
        head, tail = sigma[:rank].sum(), max(sigma[rank:].sum(), np.finfo(float).tiny)
        slope = u[:, rank:] @ vt[rank:] / tail - u[:, :rank] @ vt[:rank] / head
        return math.log(tail / head), kernel.T @ slope.ravel()

    found = minimize(objective, start / np.linalg.norm(start), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return (kernel @ found.x / np.linalg.norm(found.x)).reshape(shape)


def _ratio(matrix: np.ndarray, rank: int) -> float:
    sigma = np.linalg.svd(matrix, compute_uv=False)
    head, tail = float(sigma[:rank].sum()), float(sigma[rank:].sum())
    return math.inf if tail <= max(matrix.shape) * np.finfo(float).eps * head else head / tail
