"""The null space property: when the truth is the interpolator of minimum l1 norm, and how robustly."""

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


def robust_constant(design: Any, rho: float) -> float:
    """A constant `τ = max(1, ρ) √n / σ_min⁺(X)` with `|u_S|_1 <= ρ |u_{S^c}|_1 + τ |X u|_2` for all u.

    Split `u = v + w` into kernel and row space, so that `|w|_2 <= |X u|_2 / σ_min⁺`. Then
    `|u_S|_1 <= |v_S|_1 + |w_S|_1 <= ρ |v_{S^c}|_1 + |w_S|_1 <= ρ |u_{S^c}|_1 + ρ |w_{S^c}|_1 + |w_S|_1`, and
    the last two terms are at most `max(1, ρ) |w|_1 <= max(1, ρ) √n |w|_2`. Sufficient, not the smallest.
    (The definition prints a strict inequality, which u = 0 violates.)

    >>> robust_constant([[1.0, 0.0, 0.0, 0.0]], rho=0.5)
    2.0

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Definition 3.2; the constant is derived here.
    """
    design = check_array("design", design, ndim=2)
    rho = check_number("rho", rho, least=0)
    return float(max(1.0, rho) * math.sqrt(design.shape[1]) / Spectrum.of(design).sigma[-1])


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


def constants_thm33(
    problem: Any, learning_rate: float, *, rho: float, tau: float, descent_constant: float = 0.0
) -> RecoveryConstants:
    """The constants C_1, C_2, C_3 of Theorem 3.3, for a design with the robust null space property (ρ, τ).

    `C_1 = (1+ρ)/(2(1-ρ))`, `C_2 = (C+C')/2 (1+ρ)/(1-ρ) + 4τ√n σ_max(X) / ((1-ρ_2)(1-ρ))`, `C_3 = 4τ/(1-ρ)`;
    `descent_constant` is the unspecified C + C'. ρ_2 is restricted to the row space: as printed it is 1 for N < n
    and C_2 infinite.

    >>> from latebloom.problems import LinearRegression
    >>> constants = constants_thm33(LinearRegression([[1.0, 2.0]], [2.0]), 0.1, rho=0.5, tau=1.0)
    >>> constants.eta, constants.noise, constants.strength_as_printed
    (1.5, 8.0, inf)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem 3.3, Eq. 94.
    """
    problem = require_linear(problem, "constants_thm33")
    learning_rate = check_number("learning_rate", learning_rate, above=0)
    rho, tau = _check_constants(rho, tau)
    constant = check_number("descent_constant", descent_constant, least=0)
    spectrum = Spectrum.of(np.asarray(problem.design))
    contraction = spectrum.contraction(learning_rate)
    largest = 2 / spectrum.sigma[0] ** 2
    check_number("learning_rate", learning_rate, below=float(largest))
    drift = 4 * tau * math.sqrt(spectrum.size) * float(spectrum.sigma[0]) / ((1 - contraction) * (1 - rho))
    strength = constant / 2 * (1 + rho) / (1 - rho) + drift
    printed = math.inf if spectrum.has_kernel else strength
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
