"""When theory says it happens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from latebloom.errors import InputError, check_number
from latebloom.linalg.spectrum import Spectrum
from latebloom.oracles.l2 import least_squares
from latebloom.problems.base import known_truth, require_least_squares, require_linear
from latebloom.theory.lojasiewicz import cl_constant_linear, excess_loss

PAPER = "Grokking Beyond the Euclidean Norm of Model Parameters"


@dataclass(frozen=True)
class Prediction:
    """A predicted moment: `step`, and `time = learning_rate step`, with its formula and what it assumes.

    `as_printed` is the step that the paper's formula gives to the letter, where that differs.

    >>> Prediction("t1", step=10.0, time=1.0, formula="...", source="Theorem 2.1").as_printed is None
    True
    """

    name: str
    step: float
    time: float
    formula: str
    source: str
    notes: str = ""
    as_printed: float | None = None


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


def memorisation_step_thm31(problem: Any, learning_rate: float, strength: float) -> Prediction:
    """The step after which the l1-penalised iterate is within `2αβ√n / (1 - ρ)` of â in the row space.

    `t_1 = ceil(log(1 + (1 - ρ) |P_row(a_0 - â)| / (αβ√n)) / -log ρ)` with `ρ = |I - α XᵀX|` *restricted to the
    row space of X*. The paper takes the whole space, where ρ_2 = 1 exactly as soon as N < n: the formula is then
    0/0 and the radius it certifies is infinite, at any step; `as_printed` is infinite.

    >>> from latebloom.problems import LinearRegression
    >>> problem = LinearRegression([[1.0, 0.0, 0.0, 0.0]], [1.0])
    >>> prediction = memorisation_step_thm31(problem, learning_rate=0.5, strength=1e-3)
    >>> prediction.step, prediction.as_printed
    (9.0, inf)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Eq. 78 with p = 2.
    """
    problem = require_linear(problem, "memorisation_step_thm31")
    learning_rate, strength = check_pair(learning_rate, strength)
    spectrum = Spectrum.of(np.asarray(problem.design))
    rho = stable_contraction(spectrum, learning_rate)
    away = (np.asarray(problem.init()) - least_squares(problem).solution).ravel()
    ratio = (1 - rho) * np.linalg.norm(spectrum.row_part(away)) / (learning_rate * strength * math.sqrt(spectrum.size))
    step = float(math.ceil(math.log1p(ratio) / -math.log(rho))) if rho > 0 else 1.0
    return Prediction(
        name="memorised",
        step=step,
        time=learning_rate * step,
        formula="ceil(log(1 + (1 - ρ)|P_row(a_0 - â)| / (αβ√n)) / -log ρ), ρ = |I - α XᵀX| on the row space",
        source=f"{PAPER}, Eq. 78",
        notes="a sufficient step; as printed, ρ is taken on the whole space, where it is 1 for N < n",
        as_printed=math.inf if spectrum.has_kernel else step,
    )


def memorisation_radius_thm31(
    problem: Any, learning_rate: float, strength: float, *, as_printed: bool = False
) -> float:
    """The radius `2αβ√n / (1 - ρ)` around â within which the row-space part of the iterate stays once memorised.

    The kernel part leaves: it is what generalises. `as_printed` takes ρ on the whole space, where it is 1 for N < n.

    >>> from latebloom.problems import LinearRegression
    >>> problem = LinearRegression([[1.0, 0.0, 0.0, 0.0]], [1.0])
    >>> memorisation_radius_thm31(problem, 0.5, 0.25), memorisation_radius_thm31(problem, 0.5, 0.25, as_printed=True)
    (1.0, inf)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem 3.1, first statement.
    """
    problem = require_linear(problem, "memorisation_radius_thm31")
    learning_rate, strength = check_pair(learning_rate, strength)
    spectrum = Spectrum.of(np.asarray(problem.design))
    if as_printed and spectrum.has_kernel:
        return math.inf
    rho = stable_contraction(spectrum, learning_rate)
    return 2 * learning_rate * strength * math.sqrt(spectrum.size) / (1 - rho)


def generalisation_delay(
    problem: Any, learning_rate: float, strength: float, *, eta: float, params: Any = None
) -> Prediction:
    """The delay `Δt = |a_{t1} - a*|² / (αβη)` after which `|a|_1 - |a*|_1` is at most `(η + (C + C')αβ)/2`.

    `params` is the iterate when memorised; by default the least-squares solution closest to the start.
    Sufficient only: the paper's "only if" fails, since the true delay saturates as η falls and this one grows as 1/η.

    >>> from latebloom.problems import LinearRegression
    >>> problem = LinearRegression([[1.0, 1.0]], [2.0], truth=[2.0, 0.0])
    >>> round(generalisation_delay(problem, 0.1, 1e-3, eta=0.5).step, 6)
    40000.0

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem 3.1.
    """
    distance = from_memorised_to_truth(problem, params, "generalisation_delay")
    learning_rate, strength = check_pair(learning_rate, strength)
    step = float(distance @ distance) / (learning_rate * strength * check_number("eta", eta, above=0))
    return Prediction(
        name="delay",
        step=step,
        time=learning_rate * step,
        formula="|a_t1 - a*|² / (αβη)",
        source=f"{PAPER}, Theorem 3.1",
        notes="an upper bound (sufficient, not necessary) on the delay between memorised and generalised",
    )


def uniform_delay(problem: Any, learning_rate: float, strength: float, *, params: Any = None) -> Prediction:
    """The delay `|â - a*|_inf / (αβ)`: each coordinate moves by αβ a step until it arrives.

    A heuristic of the right order. The coordinates are coupled by `X a = y`, so the constant is not exact; the
    slow flow's time divided by αβ is.

    >>> from latebloom.problems import LinearRegression
    >>> problem = LinearRegression([[1.0, 1.0]], [2.0], truth=[2.0, 0.0])
    >>> round(uniform_delay(problem, 0.1, 1e-3).step, 6)
    10000.0

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", caption of Figure 4.
    """
    distance = from_memorised_to_truth(problem, params, "uniform_delay")
    learning_rate, strength = check_pair(learning_rate, strength)
    step = float(np.abs(distance).max()) / (learning_rate * strength)
    return Prediction(
        name="delay",
        step=step,
        time=learning_rate * step,
        formula="|â - a*|_inf / (αβ)",
        source=f"{PAPER}, Figure 4",
        notes="an order of magnitude: it ignores that the coordinates are coupled by X a = y",
    )


def junction_time(weight_decay: float, *, rate: float = 1.0) -> Prediction:
    """The time `-ln λ / μ` at which the fast phase hands over to the slow one: slow time `-λ ln λ / μ`.

    μ (`rate`) is the slowest rate of the fast phase, the smallest non-zero eigenvalue of the Hessian at its end; the
    paper fixes the order only and prints a constant of its proof. `step` is infinite: a flow has none.

    >>> round(junction_time(1e-3).time, 4)
    6.9078

    Source: "A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm Minimisation", Lemma 2.
    """
    weight_decay = check_number("weight_decay", weight_decay, above=0, below=1)
    time = -math.log(weight_decay) / check_number("rate", rate, above=0)
    return Prediction(
        name="junction",
        step=math.inf,
        time=time,
        formula="-ln λ / μ, slow time -λ ln λ / μ",
        source="A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm Minimisation, Lemma 2",
        notes="there the flow is within order -λ ln λ of Φ(w0); any later time that vanishes in slow time will do",
    )


def from_memorised_to_truth(problem: Any, params: Any, who: str) -> np.ndarray:
    """`a_t1 - a*` as a vector; without `params`, from the least-squares solution closest to the start."""
    problem = require_linear(problem, who)
    truth = known_truth(problem, who)
    memorised = least_squares(problem, problem.init()).solution if params is None else np.asarray(params)
    if memorised.shape != truth.shape:
        raise InputError(f"params has shape {memorised.shape}: {who} needs the shape of the truth, {truth.shape}")
    return (memorised - truth).ravel()


def check_pair(learning_rate: float, strength: float) -> tuple[float, float]:
    """A learning rate and a strength, both positive."""
    return check_number("learning_rate", learning_rate, above=0), check_number("strength", strength, above=0)


def stable_contraction(spectrum: Spectrum, learning_rate: float) -> float:
    """The contraction `|I - α XᵀX|` on the row space, refused if it is none."""
    rho = spectrum.contraction(learning_rate)
    if rho >= 1:
        most = 2 / spectrum.sigma[0] ** 2
        raise InputError(
            f"learning_rate={learning_rate:g} is not allowed: descent diverges; it must be below {most:.3g}, "
            "2 / σ_max(XᵀX) (see largest_stable_learning_rate)"
        )
    return rho
