"""A law through the t2 of many runs: the likelihood's maximum, its interval over seeds, its rivals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.errors import InputError, check_choice, check_count, check_number, says_what_it_takes
from latebloom.laws.conditions import rows_where
from latebloom.laws.doubts import doubts
from latebloom.laws.enough import check_enough
from latebloom.laws.intervals import METHODS, Resampled, resample
from latebloom.laws.law import Fit
from latebloom.laws.likelihood import Brackets, Likelihood
from latebloom.laws.maximum import Maximum, maximise, start_of
from latebloom.laws.observations import Observations, observe
from latebloom.laws.rivalry import compared
from latebloom.laws.shapes import Power, Scaled

if TYPE_CHECKING:
    import pandas as pd

FEWEST_PER_SEED = 2  # runs, on average: with fewer a seed's effect and a run's error are the same thing


@says_what_it_takes
def fit(
    frame: pd.DataFrame,
    quantity: str = "t2",
    against: str | Sequence[str] = "learning_rate*strength",
    *,
    seeds: str | None = "seed",
    where: Any = None,
    confidence: float = 0.95,
    interval: str = "jackknife",
    draws: int = 400,
    bootstrap_seed: int = 0,
) -> Fit:
    """The power law of `quantity` in one regressor or several, by maximum likelihood on its logarithm.

    `frame` has a row per run, as `Store.frame()` and `SweepResult.frame()` give it: `t2`, `t2_low`, `t2_high` (the
    bracket; without these columns t2 is exact), `end` (where a run without a t2 ended: it is censored there),
    `outcome`, and the settings. `against` is a formula of columns, or several with commas between them, each with an
    exponent of its own. Runs of one value of the column `seeds` share a draw (None: all are independent).

    >>> import numpy as np, pandas as pd
    >>> x = np.geomspace(1e-7, 1e-5, 8)
    >>> frame = pd.DataFrame({"strength": x, "t2": 0.2 / x})
    >>> found = fit(frame, "t2", "strength", seeds=None)
    >>> round(found.exponent, 6), round(found.prefactor, 6)
    (-1.0, 0.2)
    """
    confidence = check_number("confidence", confidence, above=0, below=1)
    check_choice("interval", interval, METHODS)
    draws = check_count("draws", draws, least=20)
    frame = _a_frame(frame)
    seeds, said = _seeds_of(frame, seeds)
    seen = observe(rows_where(frame, where), quantity, against, seeds)
    check_enough(seen)
    data = seen.data
    clusters = data if seen.clustered else Brackets(data.low, data.high, data.logs, np.arange(len(data.low)))
    effects = seen.clustered and seen.counts.used >= FEWEST_PER_SEED * seen.counts.seeds
    shape = Power(Scaled.of(clusters.logs), seen.labels)
    best = maximise(Likelihood(clusters, shape, effects=effects), [start_of(clusters, shape, effects=effects)])
    resampled = resample(
        clusters, shape, best, effects=effects, confidence=confidence, method=interval, draws=draws, seed=bootstrap_seed
    )
    return _told(seen, clusters, best, resampled, said, effects=effects, shape=shape)


def _told(
    seen: Observations,
    data: Brackets,
    best: Maximum,
    resampled: Resampled,
    said: list[str],
    *,
    effects: bool,
    shape: Power,
) -> Fit:
    """What was found, by the regressors' names; rivals and doubts are looked for when they are asked for."""
    log_prefactor, *exponents = resampled.centre
    ends = np.column_stack(resampled.interval(np.eye(shape.count)))
    intervals = {label: (float(low), float(high)) for label, (low, high) in zip(seen.labels, ends[1:], strict=True)}
    return Fit(
        quantity=seen.quantity,
        exponents=dict(zip(seen.labels, map(float, exponents), strict=True)),
        prefactor=_exp(log_prefactor),
        intervals=intervals | {"prefactor": (_exp(ends[0, 0]), _exp(ends[0, 1]))},
        confidence=resampled.confidence,
        counts=seen.counts,
        spread=_exp(best.parameters[shape.count]),
        seed_spread=_exp(best.parameters[shape.count + 1]) if effects else None,
        log_likelihood=best.log,
        said=[*said, *seen.notes],
        seen=seen,
        shape=shape,
        resampled=resampled,
        doubt=lambda: doubts(data, shape, best, seen.quantity, effects=effects),
        compare=lambda: compared(data, shape, best, effects=effects),
    )


def _seeds_of(frame: pd.DataFrame, seeds: str | None) -> tuple[str | None, list[str]]:
    """The column of seeds; where nothing was asked for and there is none, a sentence that says so."""
    if seeds != "seed" or "seed" in frame.columns:
        return seeds, []
    if "problem_seed" in frame.columns:
        return "problem_seed", []
    return None, ["there is no column seed"]


def _a_frame(frame: Any) -> pd.DataFrame:
    import pandas as pd

    try:
        return frame if isinstance(frame, pd.DataFrame) else pd.DataFrame(frame)
    except (TypeError, ValueError) as error:
        raise InputError(f"a law needs a table with a row per run, not {type(frame).__name__}: {error}") from None


def _exp(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(value))
