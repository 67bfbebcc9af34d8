"""Can it be recovered: the null space property of the l1 norm, and how far from the truth it leaves descent.

With (ρ, τ) the theorems bound the distance to the truth, in the l1 and in the nuclear norm. What is known of ρ for
matrices is in `matrix_recovery`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from latebloom.core.arrays import check_array
from latebloom.errors import InputError, check_number
from latebloom.linalg.spectrum import Spectrum
from latebloom.problems.base import known_truth, require_linear
from latebloom.problems.matrix.base import check_shape, require_matrix
from latebloom.theory.prediction import is_nuclear

LARGEST_SUPPORT = 12  # 2^11 linear programs, about half a minute


def null_space_constant(design: Any, support: Any, *, signs: Any = None) -> float:
    """The stable null space constant `ρ = max |u_S|_1` over `u in ker X` with `|u_{S^c}|_1 <= 1`.

    With ρ < 1 every vector supported on S is the unique minimum l1-norm interpolator of its measurements.
    `|u_S|_1` is the largest `signsᵀ u_S`, so it is one linear program for each pattern of signs up to a global one,
    2^(s-1) in all. With `signs` given, it is the constant of the vectors with those signs: ρ < 1 if and
    only if each of them is recovered. Solved by its dual, `min |X_{S^c}ᵀ ν|_inf` subject to `X_Sᵀ ν = signs`,
    which has only N + 1 unknowns. Zero if the kernel is trivial, infinite if it has a vector supported on S.

    >>> null_space_constant([[1.0, 2.0]], support=[1]), null_space_constant([[1.0, 2.0]], support=[0])
    (0.5, 2.0)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Definitions C.34 and C.35.
    """
    design = check_array("design", design, ndim=2)
    support = _check_support(support, design.shape[1])
    patterns = _patterns(len(support)) if signs is None else [_check_signs(signs, len(support))]
    if len(support) == 0 or not Spectrum.of(design).has_kernel:
        return 0.0
    inside = design[:, support]
    if np.linalg.matrix_rank(inside) < len(support):
        return math.inf
    outside = np.delete(design, support, axis=1)
    return max(_smallest_dual(inside, outside, pattern) for pattern in patterns)


def robust_constant(design: Any, rho: float, *, shape: Any = None) -> float:
    """A constant τ with which a null space constant ρ is robust: of the l1 norm, or of matrices of this `shape`.

    `τ = max(1, ρ) √n / σ_min⁺(X)` gives `|u_S|_1 <= ρ |u_{S^c}|_1 + τ |X u|_2` for all u.
    Split `u = v + w` into kernel and row space, so that `|w|_2 <= |X u|_2 / σ_min⁺`. Then
    `|u_S|_1 <= |v_S|_1 + |w_S|_1 <= ρ |v_{S^c}|_1 + |w_S|_1 <= ρ |u_{S^c}|_1 + ρ |w_{S^c}|_1 + |w_S|_1`, and
    the last two terms are at most `max(1, ρ) |w|_1 <= max(1, ρ) √n |w|_2`.
    (The definition prints a strict inequality, which u = 0 violates.)

    `τ = (1 + ρ) √min(n1, n2) / σ_min⁺(X)` gives `Σ_{l<=r} σ_l(A) <= ρ Σ_{l>r} σ_l(A) + τ |X vec(A)|` for all A: the sum
    of the r largest is a norm, and the tail sum is the nuclear distance to the matrices of rank r, so both move by at
    most `|W|_* <= √min(n1, n2) |W|_F`. Both are sufficient, not the smallest.

    >>> robust_constant([[1.0, 0.0, 0.0, 0.0]], rho=0.5)
    2.0
    >>> robust_constant(np.eye(4)[:3], rho=0.0, shape=(2, 2))
    1.4142135623730951

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Definitions 3.2 and C.48; the constants are
    derived here.
    """
    rho = check_number("rho", rho, least=0)
    if shape is None:
        design = check_array("design", design, ndim=2)
        return float(max(1.0, rho) * math.sqrt(design.shape[1]) / Spectrum.of(design).sigma[-1])
    design, shape = check_design(design, shape)
    return float((1 + rho) * math.sqrt(min(shape)) / Spectrum.of(design).sigma[-1])


def recovery_error_bound(problem: Any, estimate: Any, *, rho: float, tau: float) -> float:
    """The bound on `|a - a*|_1` by what can be measured at `a`: excess of l1 norm, and misfit.

    `(1 + ρ)/(1 - ρ) (|a|_1 - |a*|_1) + 2τ/(1 - ρ) |X(a - a*)|_2`, with ρ and τ relative to the support of a*.

    >>> from latebloom.problems import LinearRegression
    >>> problem = LinearRegression([[1.0, 2.0]], [2.0], truth=[0.0, 1.0])
    >>> rho = null_space_constant(problem.design, [1])
    >>> round(recovery_error_bound(problem, [2.0, 0.0], rho=rho, tau=robust_constant(problem.design, rho)), 12)
    3.0

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem C.38 (Foucart and Rauhut, 4.20).
    """
    problem = require_linear(problem, "recovery_error_bound")
    truth = known_truth(problem, "recovery_error_bound")
    estimate = check_array("estimate", estimate, ndim=1)
    rho, tau = _check_constants(rho, tau)
    excess = float(np.abs(estimate).sum() - np.abs(truth).sum())
    misfit = float(np.linalg.norm(np.asarray(problem.design) @ (estimate - truth)))
    return ((1 + rho) * excess + 2 * tau * misfit) / (1 - rho)


@dataclass(frozen=True)
class RecoveryConstants:
    """The constants of `min |a_t - a*|_1 <= C_1 η + C_2 αβ + C_3 |ξ|`; `strength_as_printed` is the paper's C_2.

    >>> RecoveryConstants(eta=1.0, strength=2.0, noise=3.0, strength_as_printed=math.inf).noise
    3.0
    """

    eta: float
    strength: float
    noise: float
    strength_as_printed: float


def recovery_constants(
    problem: Any, learning_rate: float, penalty: Any, *, rho: float, tau: float, descent_constant: float = 0.0
) -> RecoveryConstants:
    """The constants C_1, C_2, C_3 for a design with the robust null space property (ρ, τ) of the penalty's norm.

    `C_1 = (1+ρ)/(2(1-ρ))`, `C_2 = (C+C')/2 (1+ρ)/(1-ρ) + 4τ√n σ_max(X) / ((1-ρ_2)(1-ρ))`, `C_3 = 4τ/(1-ρ)`;
    `descent_constant` is the unspecified C + C'. ρ_2 is restricted to the row space: as printed it is 1 for N < n
    and C_2 infinite. With NuclearNorm, √n in C_2 is the sharp norm √min(n1, n2) of a subgradient, where the paper has
    `√(n1 n2)`. The penalty's strength plays no part: C_2 multiplies it.

    >>> import latebloom as lb
    >>> problem = lb.problems.LinearRegression([[1.0, 2.0]], [2.0])
    >>> constants = recovery_constants(problem, 0.1, lb.L1(1e-5), rho=0.5, tau=1.0)
    >>> constants.eta, constants.noise, constants.strength_as_printed
    (1.5, 8.0, inf)
    >>> recovery_constants(lb.problems.MatrixSensing(), 0.1, lb.NuclearNorm(1e-4), rho=0.5, tau=1.0).noise
    8.0

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem 3.3, Eq. 94 (l1), and Theorems 3.5
    and C.50, Eq. 107 (nuclear norm).
    """
    shape = require_matrix(problem, "recovery_constants").shape if is_nuclear(penalty, "recovery_constants") else None
    problem = require_linear(problem, "recovery_constants")
    learning_rate = check_number("learning_rate", learning_rate, above=0)
    rho, tau = _check_constants(rho, tau)
    constant = check_number("descent_constant", descent_constant, least=0)
    spectrum = Spectrum.of(np.asarray(problem.design))
    contraction = spectrum.contraction(learning_rate)
    largest = 2 / spectrum.sigma[0] ** 2
    check_number("learning_rate", learning_rate, below=float(largest))
    drift = 4 * tau * math.sqrt(spectrum.size) * float(spectrum.sigma[0]) / ((1 - contraction) * (1 - rho))
    descent = constant / 2 * (1 + rho) / (1 - rho)
    strength = descent + drift
    printed = math.inf if spectrum.has_kernel else strength
    if shape is not None:
        strength = descent + (strength - descent) * math.sqrt(min(shape) / math.prod(shape))
    return RecoveryConstants((1 + rho) / (2 * (1 - rho)), strength, 4 * tau / (1 - rho), printed)


def _smallest_dual(inside: np.ndarray, outside: np.ndarray, signs: np.ndarray) -> float:
    from scipy.optimize import linprog

    rows, others = outside.shape
    cost = np.append(np.zeros(rows), 1.0)
    cap = -np.ones((others, 1))
    bounds = np.block([[outside.T, cap], [-outside.T, cap]])
    equal = np.hstack([inside.T, np.zeros((inside.shape[1], 1))])
    program = linprog(cost, A_ub=bounds, b_ub=np.zeros(2 * others), A_eq=equal, b_eq=signs, bounds=(None, None))
    if program.x is None:
        raise InputError(f"the null space constant could not be computed ({program.message}): rescale the design")
    return float(program.fun)


def _patterns(size: int) -> list[np.ndarray]:
    if size > LARGEST_SUPPORT:
        raise InputError(
            f"support has {size} entries: without signs that is 2^{size - 1} linear programs, and at most "
            f"{LARGEST_SUPPORT} entries are allowed; pass signs=np.sign(truth[support])"
        )
    return [np.array((1.0, *rest)) for rest in itertools.product((1.0, -1.0), repeat=max(size - 1, 0))]


def _check_support(support: Any, size: int) -> np.ndarray:
    support = np.asarray(support)
    if support.dtype == bool and support.shape == (size,):
        return np.flatnonzero(support)
    whole = support.ndim == 1 and (support.size == 0 or np.issubdtype(support.dtype, np.integer))
    if (
        not whole
        or len(np.unique(support)) != support.size
        or (support.size and not 0 <= support.min() <= support.max() < size)
    ):
        raise InputError(
            f"support={support.tolist()!r} is not allowed: give different column numbers from 0 to {size - 1}, "
            f"or {size} booleans, e.g. truth != 0"
        )
    return support.astype(int)


def _check_signs(signs: Any, size: int) -> np.ndarray:
    signs = np.asarray(signs, dtype=np.float64)
    if signs.shape != (size,) or not np.isin(signs, (-1.0, 1.0)).all():
        raise InputError(
            f"signs={signs.tolist()!r} is not allowed: give {size} values, each 1 or -1, e.g. np.sign(truth[support])"
        )
    return signs


def _check_constants(rho: float, tau: float) -> tuple[float, float]:
    return check_number("rho", rho, least=0, below=1), check_number("tau", tau, above=0)


def check_design(design: Any, shape: Any) -> tuple[np.ndarray, tuple[int, int]]:
    """A design that measures matrices of a shape, and the shape."""
    design, shape = check_array("design", design, ndim=2), check_shape(shape)
    if design.shape[1] != math.prod(shape):
        raise InputError(
            f"design has {design.shape[1]} columns and a matrix of shape {shape} has {math.prod(shape)} entries: "
            "give one column for each entry, row by row"
        )
    return design, shape
