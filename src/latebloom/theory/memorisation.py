"""When it memorises, and how near it then stays to the least-squares solution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from latebloom.errors import InputError, check_number
from latebloom.oracles.l2 import least_squares
from latebloom.problems.base import require_least_squares
from latebloom.theory.lojasiewicz import cl_constant_linear, excess_loss
from latebloom.theory.prediction import PAPER, Descent, Prediction


def memorisation_time(
    problem: Any,
    learning_rate: float,
    *,
    tolerance: float,
    slack: float = 0.5,
    cl_constant: float | None = None,
) -> Prediction:
    """The step by which the training loss g is within `tolerance` of its minimum, by its CL constant χ.

    `t_1 = log(g(x_0) / tolerance) / -log(1 - δ)` with `δ = (1 - ε) χ α`, ε being the `slack`. An upper bound
    on the true step if the learning rate and the strength are small enough for the theorem. χ is exact and used
    by default for a linear problem; for another, pass `local_cl_constant(...).estimate`.

    >>> from latebloom.problems import LinearRegression
    >>> problem = LinearRegression([[1.0, 0.0]], [2.0])
    >>> round(memorisation_time(problem, learning_rate=0.1, tolerance=2e-4).step, 1)
    87.4

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem 2.1 and Eq. 8.
    """
    problem = require_least_squares(problem, "memorisation_time")
    learning_rate = check_number("learning_rate", learning_rate, above=0)
    tolerance = check_number("tolerance", tolerance, above=0)
    slack = check_number("slack", slack, least=0, below=1)
    if cl_constant is None:
        if not problem.linear:
            raise InputError(
                f"cl_constant is not known for {type(problem).__name__}, which is not linear: "
                "pass cl_constant=local_cl_constant(problem, params, radius).estimate"
            )
        cl_constant = cl_constant_linear(problem)
    delta = min(1.0, (1 - slack) * check_number("cl_constant", cl_constant, above=0) * learning_rate)
    decades = max(0.0, math.log(max(excess_loss(problem, problem.init()), tolerance) / tolerance))
    # δ = 1 is a loss that vanishes in one step.
    step = decades / -math.log1p(-delta) if delta < 1 else float(decades > 0)
    return Prediction(
        name="memorised",
        step=step,
        time=learning_rate * step,
        formula="log(g(x_0) / tolerance) / -log(1 - δ), δ = (1 - slack) χ α",
        source=f"{PAPER}, Theorem 2.1, Eq. 8",
        notes=f"χ = {cl_constant:.3g}, δ = {delta:.3g}; an upper bound, for a penalty weak up to that step",
    )


def memorisation_step(problem: Any, learning_rate: float, penalty: Any) -> Prediction:
    """The step after which descent with L1(β) or NuclearNorm(β) is within `memorisation_radius` of â in the row space.

    `t_1 = ceil(log(1 + (1 - ρ) |P_row(a_0 - â)| / (αβ√n)) / -log ρ)`, with √min(n1, n2) for √n under the nuclear norm,
    and `ρ = |I - α XᵀX|` *restricted to the row space of X*. The paper takes the whole space, where ρ_2 = 1 exactly as
    soon as N < n: the formula is then 0/0 and the radius it certifies is infinite, at any step; `as_printed` is
    infinite. For matrices it also takes `√(n1 n2)` for the norm of a subgradient.

    >>> import latebloom as lb
    >>> problem = lb.problems.LinearRegression([[1.0, 0.0, 0.0, 0.0]], [1.0])
    >>> prediction = memorisation_step(problem, 0.5, lb.L1(1e-3))
    >>> prediction.step, prediction.as_printed
    (9.0, inf)
    >>> memorisation_step(lb.problems.MatrixCompletion(), 0.1, lb.NuclearNorm(1e-4)).step
    75.0

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Eq. 78 with p = 2; for matrices Theorem C.40.
    """
    descent = Descent.of(problem, learning_rate, penalty, "memorisation_step")
    rho, away = descent.contraction, _row_distance(descent)
    drift = descent.learning_rate * descent.strength
    step = _contraction_steps(rho, away, drift * descent.subgradient_norm)
    printed = _contraction_steps(rho, away, drift * descent.printed_norm)
    return Prediction(
        name="memorised",
        step=step,
        time=descent.learning_rate * step,
        formula=f"ceil(log(1 + (1 - ρ)|P_row(a_0 - â)| / (αβ{descent.root})) / -log ρ), ρ = |I - αXᵀX| on the rows",
        source=f"{PAPER}, Eq. 78" if descent.shape is None else f"{PAPER}, Theorem C.40, Eq. 78",
        notes="a sufficient step; as printed, ρ is taken on the whole space, where it is 1 for N < n",
        as_printed=math.inf if descent.spectrum.has_kernel else printed,
    )


def memorisation_radius(problem: Any, learning_rate: float, penalty: Any, *, as_printed: bool = False) -> float:
    """The radius `2αβ√n / (1 - ρ)` around â within which the row-space part of the iterate stays once memorised.

    √min(n1, n2) for √n under the nuclear norm. The kernel part leaves: it is what generalises. `as_printed` takes ρ on
    the whole space, where it is 1 for N < n, and `√(n1 n2)` for matrices.

    >>> import latebloom as lb
    >>> problem = lb.problems.LinearRegression([[1.0, 0.0, 0.0, 0.0]], [1.0])
    >>> memorisation_radius(problem, 0.5, lb.L1(0.25)), memorisation_radius(problem, 0.5, lb.L1(0.25), as_printed=True)
    (1.0, inf)
    >>> memorisation_radius(lb.problems.MatrixCompletion(), 0.1, lb.NuclearNorm(1e-4))
    0.0006324...

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorems 3.1 (l1) and 3.4 (nuclear), first
    statements, and Lemma C.41.
    """
    descent = Descent.of(problem, learning_rate, penalty, "memorisation_radius")
    if as_printed and descent.spectrum.has_kernel:
        return math.inf
    norm = descent.printed_norm if as_printed else descent.subgradient_norm
    return 2 * descent.learning_rate * descent.strength * norm / (1 - descent.contraction)


def _row_distance(descent: Descent) -> float:
    """`|P_row(a_0 - â)|`; each norm keeps the order of operations that its printed numbers were made with."""
    problem, start = descent.problem, np.asarray(descent.problem.init())
    if descent.shape is None:
        away = (start - least_squares(problem).solution).ravel()
        return float(np.linalg.norm(descent.spectrum.row_part(away)))
    return float(np.linalg.norm(least_squares(problem, problem.init()).solution - start))


def _contraction_steps(rho: float, away: float, drift: float) -> float:
    return float(math.ceil(math.log1p((1 - rho) * away / drift) / -math.log(rho))) if rho > 0 else 1.0
