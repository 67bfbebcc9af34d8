"""Where one phase hands over to the next.

The fast phase to the slow one at a time `-ln λ / μ`; the kernel phase to the rich one at `λt = log α + c`, a straight
line of slope one in the logarithm of the initial scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from latebloom.errors import InputError, check_number
from latebloom.problems import AbstractProblem
from latebloom.theory.prediction import Prediction

DICHOTOMY = "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking"
RIEMANNIAN = "A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm Minimisation"


@dataclass(frozen=True)
class TransitionLaw:
    """`λt = slope · log α + offset`, fitted by least squares; `spread` is the largest residual.

    >>> law = fit_transition([1.0, 10.0, 100.0], [5.0, 7.302585, 9.605170])
    >>> round(law.slope, 6), round(law.offset, 6)
    (1.0, 5.0)
    """

    slope: float
    offset: float
    spread: float


def fit_transition(init_scales: Sequence[float], slow_times: Sequence[float]) -> TransitionLaw:
    """The line through measured transitions: slow times `λt` against the logarithms of the initial scales α.

    The theorems give the slope, 1, for α → ∞ and leave the offset open: it depends on what α is measured in
    (the entries or the norm of the start) and on where in the transition one looks.

    >>> fit_transition([1.0, 2.0], [0.0, 1.0]).slope > 1.4
    True

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", Theorems 3.4 and 3.5.
    """
    scales, times = np.asarray(init_scales, dtype=float), np.asarray(slow_times, dtype=float)
    if scales.shape != times.shape or scales.ndim != 1 or len(np.unique(scales)) < 2:
        raise InputError(
            f"a line needs as many slow times as initial scales and two different ones: got {scales.shape} and "
            f"{times.shape}"
        )
    if not (scales > 0).all() or not np.isfinite(times).all():
        raise InputError("initial scales must be positive and slow times finite: leave out runs without a transition")
    slope, offset = np.polyfit(np.log(scales), times, 1)
    residuals = times - slope * np.log(scales) - offset
    return TransitionLaw(float(slope), float(offset), float(np.abs(residuals).max()))


def transition_time(init_scale: float, weight_decay: float, *, offset: float = 0.0) -> Prediction:
    """The time `(log α + c) / λ` around which the kernel phase ends and the rich one begins.

    The kernel regime holds until `(1 - ε) log α / λ`, the rich one from `(1 + ε) log α / λ` on, for any ε as α → ∞.
    `offset` is the constant c, which the theorems do not give: fit it with `fit_transition`.

    >>> import math
    >>> round(transition_time(math.e**5, 1e-3).time, 6)
    5000.0

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", Theorems 3.4 and 3.5.
    """
    init_scale = check_number("init_scale", init_scale, above=0)
    weight_decay = check_number("weight_decay", weight_decay, above=0)
    slow = float(np.log(init_scale)) + check_number("offset", offset)
    if slow <= 0:
        raise InputError(
            f"init_scale={init_scale:g} is not allowed: log α + offset = {slow:.3g} gives no time; the law is about "
            "large initial scales"
        )
    return Prediction(
        name="transition",
        step=float("nan"),
        time=slow / weight_decay,
        formula="(log α + c) / λ",
        source=f"{DICHOTOMY}, Theorems 3.4 and 3.5",
        notes="of the flow: divide by the learning rate for steps; the constant c is fitted, not predicted",
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
        source=f"{RIEMANNIAN}, Lemma 2",
        notes="there the flow is within order -λ ln λ of Φ(w0); any later time that vanishes in slow time will do",
    )


def homogeneity_degree(problem: AbstractProblem, params: Any = None, *, factor: float = 1.5) -> float:
    """The degree L of `f(cθ) = c^L f(θ)`, measured: `log(|f(cθ)| / |f(θ)|) / log c` for the training outputs.

    Without `params` they are the start with an eighth of it added in a fixed pattern, since the paper's starts have
    output zero. A model that is not homogeneous gives a number that changes with `factor`.

    >>> from latebloom.problems import DiagonalClassifier, LabelledPoints
    >>> data = LabelledPoints([[1.0, 2.0], [0.5, -1.0]], [1, -1])
    >>> round(homogeneity_degree(DiagonalClassifier(data, depth=3)), 12)
    3.0

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", Assumption 3.1.
    """
    import jax
    import jax.numpy as jnp

    outputs: Any = getattr(problem, "outputs", None) or getattr(problem, "end_to_end", None)
    if outputs is None:
        raise InputError(
            f"homogeneity_degree needs a problem with outputs; {type(problem).__name__} has none: give one with "
            "a method `outputs(params)`"
        )
    factor = check_number("factor", factor, above=0)
    if factor == 1:
        raise InputError("factor=1 is not allowed: it changes nothing; use 1.5")
    if params is None:
        params = jax.tree.map(lambda a: a * (1 + jnp.cos(jnp.arange(a.size).reshape(a.shape)) / 8), problem.init())
    sizes = [jnp.linalg.norm(jnp.ravel(outputs(jax.tree.map(lambda a, c=c: c * a, params)))) for c in (1.0, factor)]
    if float(sizes[0]) == 0:
        raise InputError("the outputs are zero at these parameters: give params at which they are not")
    return float(jnp.log(sizes[1] / sizes[0]) / np.log(factor))
