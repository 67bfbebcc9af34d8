"""When an iteration generalises, by the slow flow that it follows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from latebloom.errors import CapabilityError, check_number
from latebloom.penalties import L1, NuclearNorm
from latebloom.problems.base import known_truth, require_linear
from latebloom.theory.predictions import PAPER, Prediction

if TYPE_CHECKING:
    from latebloom.flows import SlowPath


def predicted_t2(
    problem: Any, learning_rate: float, penalty: Any, *, threshold: float = 1e-3, path: SlowPath | None = None
) -> Prediction:
    """The step `s / (αβ)`, s the slow time at which the slow flow's recovery error falls to the threshold.

    The slow flow (`flows.l1_path`, `flows.nuclear_path`; `path` if it is at hand) is the limit αβ → 0 of descent with
    the `penalty` L1(β) or NuclearNorm(β) and learning rate α, so one path predicts t2 for all of them. Infinite if it
    ends above the threshold. What the prediction leaves out: the steps until memorisation, the shift of order β
    that a penalty keeps from the data, which delays t2, and steps too long for the path's corners.

    >>> import latebloom as lb
    >>> problem = lb.problems.LinearRegression([[1.0, 2.0]], [2.0], truth=[0.0, 1.0])
    >>> round(predicted_t2(problem, 0.1, lb.L1(1e-4), threshold=1e-3).step)
    99776
    >>> run = lb.train(problem, lb.ProjectedSubgradient(0.1), lb.L1(1e-4), steps=110_000, progress=False)
    >>> run.milestones.generalised.step
    99778

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorems 2.1, 3.1 and 3.4.
    """
    problem = require_linear(problem, "predicted_t2")
    learning_rate = check_number("learning_rate", learning_rate, above=0)
    path = _follow(problem, penalty) if path is None else path
    slow_time = path.crossing(known_truth(problem, "predicted_t2"), threshold)
    strength = check_number("strength", float(penalty.strength), above=0)
    step = math.inf if slow_time is None else slow_time / (learning_rate * strength)
    end = "never: it ends above the threshold" if slow_time is None else f"at slow time {slow_time:.6g}"
    return Prediction(
        name="generalised",
        step=step,
        time=learning_rate * step,
        formula="s / (αβ), |a(s) - a*| = threshold |a*| on the slow flow",
        source=f"{PAPER}, Theorems 2.1, 3.1 and 3.4, in the limit αβ → 0",
        notes=f"the slow flow falls to {threshold:g} {end}; {path.outcome.sentence}",
    )


def _follow(problem: Any, penalty: Any) -> SlowPath:
    from latebloom.flows.paths.l1 import l1_path  # here, since the flows need theory themselves
    from latebloom.flows.paths.nuclear import nuclear_path

    if isinstance(penalty, L1):
        return l1_path(problem)
    if isinstance(penalty, NuclearNorm):
        return nuclear_path(problem)
    raise CapabilityError(
        f"predicted_t2 knows the slow flows of L1 and NuclearNorm; {penalty!r} has none here: give path=, or use "
        "L2Iteration for weight decay"
    )
