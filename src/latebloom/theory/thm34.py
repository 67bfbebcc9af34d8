"""Theorem 3.4: the two phases of descent on a matrix with a nuclear-norm penalty.

The second statement bounds `min |A_t|_* - |A*|_*` by `(η + (C + C')αβ)/2` once `t >= t_1 + |A_t1 - A*|_F² / (αβη)`.
It is printed with "=" and "if and only if" (Theorem C.40 has "<=" and still "only if"); what is proved, and true, is
"<=" and "if". For 10 x 10 matrices of rank 2, sensed 70 times, at α = 0.1 and β = 1e-3, an excess of η/2 is reached
3818 steps after t_1 for η = 0.1 and 6248 for η = 0.001, where the formula has 1.9e4 and 1.9e6.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from latebloom.linalg.spectrum import Spectrum
from latebloom.oracles.l2 import least_squares
from latebloom.problems.base import require_linear
from latebloom.problems.matrix.base import AbstractMatrix, require_matrix
from latebloom.theory.conditions import Condition, noise_conditions
from latebloom.theory.predictions import (
    PAPER,
    Prediction,
    check_pair,
    from_memorised_to_truth,
    stable_contraction,
)

THM34 = f"{PAPER}, Theorem 3.4"


def conditions_thm34(
    problem: Any, learning_rate: float, strength: float, *, noise_constant: float = math.inf
) -> list[Condition]:
    """The hypotheses of Theorem 3.4 (nuclear norm, linear): on the learning rate α, the strength β and the noise ξ.

    `0 < α σ_max(XᵀX) < 2`, `0 < β √min(n1, n2) < σ_max(XᵀX)`, and the noise bounds of `conditions_thm31`.

    >>> from latebloom.problems import MatrixCompletion
    >>> found = conditions_thm34(MatrixCompletion(), learning_rate=0.1, strength=1e-4)
    >>> [(c.name, round(c.value, 6), round(c.bound, 6)) for c in found[:2]]
    [('learning_rate', 0.1, 2.0), ('strength', 0.000316, 1.0)]

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorems 3.4 and C.40.
    """
    matrix, spectrum = _measured(problem, "conditions_thm34")
    learning_rate, strength = check_pair(learning_rate, strength)
    largest = float(spectrum.sigma[0] ** 2)
    scaled = strength * _subgradient_norm(matrix)
    stable = learning_rate * largest
    step = Condition("learning_rate", "α σ_max(XᵀX) < 2", stable, 2.0, stable < 2, THM34)
    weak = Condition("strength", "β √min(n1, n2) < σ_max(XᵀX)", scaled, largest, scaled < largest, THM34)
    return [step, weak, *noise_conditions(matrix, spectrum, learning_rate, strength, noise_constant)]


def memorisation_step_thm34(problem: Any, learning_rate: float, strength: float) -> Prediction:
    """The step after which the penalised iterate is within `2αβ√min(n1, n2) / (1 - ρ)` of Â in the row space.

    `t_1 = ceil(log(1 + (1 - ρ) |P_row(A_0 - Â)|_F / (αβ√min(n1, n2))) / -log ρ)` with `ρ = |I - α XᵀX|` restricted
    to the row space of X. The paper takes ρ on the whole space, where it is 1 for N < n1 n2, and `√(n1 n2)` for the
    norm of a subgradient; `as_printed` does so.

    >>> from latebloom.problems import MatrixCompletion
    >>> prediction = memorisation_step_thm34(MatrixCompletion(), learning_rate=0.1, strength=1e-4)
    >>> prediction.step, prediction.as_printed
    (75.0, inf)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem C.40 and Eq. 78.
    """
    matrix, spectrum = _measured(problem, "memorisation_step_thm34")
    learning_rate, strength = check_pair(learning_rate, strength)
    rho = stable_contraction(spectrum, learning_rate)
    away = float(np.linalg.norm(least_squares(matrix, matrix.init()).solution - np.asarray(matrix.init())))
    drift = learning_rate * strength * _subgradient_norm(matrix)
    step = _contraction_steps(rho, away, drift)
    printed = _contraction_steps(rho, away, learning_rate * strength * math.sqrt(spectrum.size))
    return Prediction(
        name="memorised",
        step=step,
        time=learning_rate * step,
        formula="ceil(log(1 + (1 - ρ)|P_row(A_0 - Â)|_F / (αβ√min(n1, n2))) / -log ρ), ρ = |I - αXᵀX| on the row space",
        source=f"{PAPER}, Theorem C.40, Eq. 78",
        notes="a sufficient step; as printed, ρ is taken on the whole space, where it is 1 for N < n1 n2",
        as_printed=math.inf if spectrum.has_kernel else printed,
    )


def memorisation_radius_thm34(
    problem: Any, learning_rate: float, strength: float, *, as_printed: bool = False
) -> float:
    """The radius `2αβ√min(n1, n2) / (1 - ρ)` around Â within which the row-space part stays once memorised.

    Every subgradient of the nuclear norm has `|H|_op <= 1`, so `|H|_F <= √min(n1, n2)`, which U Vᵀ attains at full
    rank; the printed `√(n1 n2)` (Lemma C.41) comes from bounding each entry by 1. `as_printed` takes that, and ρ
    on the whole space, where it is 1 for N < n1 n2.

    >>> from latebloom.problems import MatrixCompletion
    >>> problem = MatrixCompletion()
    >>> memorisation_radius_thm34(problem, 0.1, 1e-4), memorisation_radius_thm34(problem, 0.1, 1e-4, as_printed=True)
    (0.0006324..., inf)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem 3.4, first statement, and Lemma C.41.
    """
    matrix, spectrum = _measured(problem, "memorisation_radius_thm34")
    learning_rate, strength = check_pair(learning_rate, strength)
    if as_printed and spectrum.has_kernel:
        return math.inf
    rho = stable_contraction(spectrum, learning_rate)
    norm = math.sqrt(spectrum.size) if as_printed else _subgradient_norm(matrix)
    return 2 * learning_rate * strength * norm / (1 - rho)


def spectral_delay(problem: Any, learning_rate: float, strength: float, *, params: Any = None) -> Prediction:
    """The delay `|Â - A*|_op / (αβ)`: each singular value of the difference moves by αβ a step until it arrives.

    `params` is the iterate when memorised; by default the least-squares solution closest to the start. It scales as
    the true delay does, with too small a constant: the penalty acts on A and not on `A - A*`, and the data hold the
    row-space part. For 10 x 10 matrices of rank 2 a relative error of 1e-2 comes 2.3 to 5.6 times as late.
    The delay of Theorem 3.4 itself, `|A_t1 - A*|_F² / (αβη)`, is `generalisation_delay`.

    >>> from latebloom.problems import MatrixCompletion
    >>> problem = MatrixCompletion()
    >>> round(spectral_delay(problem, 0.1, 1e-4, params=problem.truth + 0.5).step)
    500000

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", caption of Figure 6, and Lemma C.42.
    """
    shape = require_matrix(problem, "spectral_delay").shape
    away = from_memorised_to_truth(problem, params, "spectral_delay").reshape(shape)
    learning_rate, strength = check_pair(learning_rate, strength)
    step = float(np.linalg.norm(away, 2)) / (learning_rate * strength)
    return Prediction(
        name="delay",
        step=step,
        time=learning_rate * step,
        formula="|Â - A*|_op / (αβ)",
        source=f"{PAPER}, Figure 6",
        notes="an order of magnitude: it ignores that the entries are coupled by X vec(A) = y",
    )


def _measured(problem: Any, who: str) -> tuple[AbstractMatrix, Spectrum]:
    matrix = require_matrix(problem, who)
    require_linear(matrix, who)
    return matrix, Spectrum.of(np.asarray(matrix.design))


def _subgradient_norm(problem: AbstractMatrix) -> float:
    return math.sqrt(min(problem.shape))


def _contraction_steps(rho: float, away: float, drift: float) -> float:
    return float(math.ceil(math.log1p((1 - rho) * away / drift) / -math.log(rho))) if rho > 0 else 1.0
