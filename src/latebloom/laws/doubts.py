"""Censored runs that contradict the rest: they had time enough by the law of the others, and may never get there.

Censoring says "later"; a run that settles above the threshold of t2 is "never", and no law in the settings holds for
it. One such seed of three turned an exponent of -1.00 into -0.1 ± 3.9, so that it has to be said.
"""

from __future__ import annotations

import numpy as np

from latebloom.laws.likelihood import Brackets, Likelihood
from latebloom.laws.maximum import Maximum, NoMaximumError, maximise
from latebloom.laws.shapes import Power

FAR = 6.0  # standard deviations of the runs that got there
LEAST = 1.5  # times as long, for runs that hardly scatter
LEAST_STRANGE = 10.0  # times as long, of a seed without any t2: how far seeds are apart is known from a few others


def doubts(data: Brackets, shape: Power, best: Maximum, quantity: str, *, effects: bool) -> list[str]:
    """A sentence on censored runs that ended long after the law of the others, if there are any."""
    censored = np.isinf(data.high)
    others, left = data.but(~censored), data.but(censored)
    design = shape.mean(np.zeros(shape.count), others.logs)[1]
    enough = len(others.low) > shape.count and np.linalg.matrix_rank(design) == shape.count
    if not censored.any() or not enough:
        return []
    silent = len(data.starts) - len(others.starts) if effects else 0
    told = f"{silent} of {len(data.starts)} seeds {'has' if silent == 1 else 'have'} no {quantity} in any run"
    said = [f"{told}: all that is known of {'it' if silent == 1 else 'them'} is that it is later"] if silent else []
    effects = effects and len(others.starts) > 1
    try:
        likelihood = Likelihood(others, shape, effects=effects)
        best = maximise(likelihood, [best.parameters[: shape.count + 1 + effects]])
    except NoMaximumError:
        return said
    law = shape.mean(best.parameters[: shape.count], left.logs)[0]
    spread, strange = np.full(len(law), np.exp(best.parameters[shape.count])), np.zeros(len(law), bool)
    if effects:
        known = dict(zip(others.seeds[others.starts], likelihood.seed_effects(best.parameters), strict=True))
        law = law + [known.get(seed, 0.0) for seed in left.seeds]
        strange = ~np.isin(left.seeds, others.seeds)
        spread = np.where(strange, np.hypot(spread, np.exp(best.parameters[-1])), spread)
    beyond = left.low - law
    far = beyond > np.maximum(FAR * spread, np.log(np.where(strange, LEAST_STRANGE, LEAST)))
    if not far.any():
        return said
    runs = "1 censored run" if far.sum() == 1 else f"{far.sum()} censored runs"
    return [
        *said,
        f"{runs} went on for up to {np.exp(beyond[far].max()):.2g} times what the law of the others allows: "
        f"they may never reach their {quantity}, and the law leans on them; look at them, or leave them out",
    ]
