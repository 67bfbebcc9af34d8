"""Whether runs can carry a law: what is missing, how much of it, and where to add it."""

from __future__ import annotations

import numpy as np

from latebloom.errors import InputError
from latebloom.laws.observations import Observations

LEAST_FACTOR = 1.5  # between the smallest and the largest value of a regressor among the runs with a t2
TOGETHER = 0.02  # of a regressor's variation, what is left when the others are taken out


def least_runs(regressors: int) -> int:
    """So many runs with a t2 are needed: the law's parameters, the errors' size, and as many again to judge it by."""
    return 2 * (regressors + 1) + 1


def check_enough(seen: Observations) -> None:
    """Refuses runs from which no law can be told, with how many more are needed and where."""
    observed, counts, quantity = ~seen.censored, seen.counts, seen.quantity
    if counts.used == 0:
        why = "; ".join(f"{number} {reason}" for reason, number in counts.left_out.items())
        raise InputError(f"no run to fit {quantity} to{f' ({why})' if why else ''}: widen the selection, or make runs")
    if not observed.any():
        ends = np.exp(seen.data.low)
        raise InputError(
            f"all {counts.used} runs ended before their {quantity} (the last at {ends.max():g}): give them more steps"
        )
    needed, logs = least_runs(len(seen.labels)), seen.data.logs[observed]
    told = [f"{label}={np.exp(column.max()) * 3:.2g}" for label, column in zip(seen.labels, logs.T, strict=True)]
    told += [f"{label}={np.exp(column.min()) / 3:.2g}" for label, column in zip(seen.labels, logs.T, strict=True)]
    where = " or ".join(told)
    if len(logs) < needed:
        longer = f", or give more steps to the {counts.censored} censored" if counts.censored else ""
        raise InputError(
            f"{len(logs)} run{'s' if len(logs) > 1 else ''} with a {quantity} cannot carry "
            f"{len(seen.labels)} exponent{'s' if len(seen.labels) > 1 else ''}: {needed} are needed; add at least "
            f"{needed - len(logs)}, e.g. at {where}{longer}"
        )
    for label, column in zip(seen.labels, logs.T, strict=True):
        _check_spread(label, column, quantity)
    places = len(np.unique(np.round(logs, 9), axis=0))
    if places < len(seen.labels) + 2:
        raise InputError(
            f"the runs with a {quantity} are at {places} different settings, and {len(seen.labels) + 2} are needed to "
            f"judge a law: add {len(seen.labels) + 2 - places}, e.g. at {where}"
        )
    _check_apart(seen.labels, logs)


def _check_spread(label: str, column: np.ndarray, quantity: str) -> None:
    least, most = float(np.exp(column.min())), float(np.exp(column.max()))
    if most < LEAST_FACTOR * least:
        apart = f"is {least:g} in all" if most <= least * (1 + 1e-9) else f"only goes from {least:g} to {most:g} in the"
        raise InputError(
            f"{label} {apart} runs with a {quantity}: an exponent needs a factor of {LEAST_FACTOR:g} at least; add "
            f"runs e.g. at {3 * most:.2g} or {least / 3:.2g}"
        )


def _check_apart(labels: list[str], logs: np.ndarray) -> None:
    centred = logs - logs.mean(axis=0)
    for number, label in enumerate(labels):
        others = np.delete(centred, number, axis=1)
        if others.shape[1]:
            rest = centred[:, number] - others @ np.linalg.lstsq(others, centred[:, number], rcond=None)[0]
            if np.linalg.norm(rest) < TOGETHER * np.linalg.norm(centred[:, number]):
                beside = ", ".join(other for other in labels if other != label)
                raise InputError(
                    f"{label} varies only together with {beside}: add runs where one changes and the other does not"
                )
