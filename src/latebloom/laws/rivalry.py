"""Which law the runs speak for: each fitted by the same likelihood, compared by Akaike's criterion.

AIC = 2 (parameters - log likelihood), with the errors' among the parameters; the evidence of one law against another is
exp of half the difference. BIC is given, too; among laws of as many parameters, which all but the offset have, both say
the same. All likelihoods are of the same brackets, so that they can be compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from latebloom.laws.likelihood import Brackets, Likelihood
from latebloom.laws.maximum import Maximum, NoMaximumError, maximise
from latebloom.laws.shapes import AbstractShape, Power, rivals

CRITERION = "AIC"
TOLD_APART = 10.0  # an evidence below it, for or against, tells nothing
SURE = 1e6  # beyond it a number says no more


@dataclass(frozen=True)
class Rival:
    """A law with its parameters; `evidence` is how many times as likely the power law is."""

    name: str
    formula: str
    values: dict[str, float]
    log_likelihood: float
    parameters: int
    aic: float
    bic: float
    evidence: float

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def compared(data: Brackets, power: Power, best: Maximum, *, effects: bool) -> list[Rival]:
    """The power law and its rivals, the most likely first; a rival without a maximum is left out."""
    ends = np.maximum(best.parameters[power.count :], np.log(0.3))  # a rival may be far off
    found: list[tuple[AbstractShape, Maximum]] = [(power, best)]
    for shape in rivals(power.scaled, power.labels):
        starts = [np.concatenate([start, ends]) for start in shape.starts(best.parameters[: power.count])]
        try:
            found.append((shape, maximise(Likelihood(data, shape, effects=effects), starts)))
        except NoMaximumError:
            continue
    reference = _aic(best)
    told = [_rival(shape, one, reference, len(data.low)) for shape, one in found]
    return sorted(told, key=lambda rival: rival.aic)


def _rival(shape: AbstractShape, found: Maximum, reference: float, runs: int) -> Rival:
    count, aic = len(found.parameters), _aic(found)
    evidence = math.exp(min(max((aic - reference) / 2, -700), 700))
    values = shape.values(found.parameters[: shape.count])
    bic = count * math.log(runs) - 2 * found.log
    return Rival(shape.name, shape.formula, values, found.log, count, aic, bic, evidence)


def _aic(found: Maximum) -> float:
    return 2 * len(found.parameters) - 2 * found.log
