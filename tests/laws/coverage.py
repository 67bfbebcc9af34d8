"""How often intervals at 95 % cover the truth, for planted laws and by several methods.

    PYTHONPATH=src python tests/laws/coverage.py [--draws 200] [--bootstrap] [DESIGN…]

Prints a table: for each design and method the share of draws that cover, the intervals' mean half width, and the
exponent's bias and root mean square error. It takes minutes; the tests beside it take a hundred of the first design.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[1]))

from planted_laws import EXPONENT, planted

from latebloom.laws.intervals import resample
from latebloom.laws.likelihood import Brackets, Likelihood
from latebloom.laws.maximum import maximise, start_of
from latebloom.laws.observations import observe
from latebloom.laws.shapes import Power, Scaled

DESIGNS: dict[str, dict[str, Any]] = {
    "40 % censored": {},
    "budget in proportion": {"budget": "proportion"},
    "nothing censored": {"censored": 0.0},
    "70 % censored": {"censored": 0.7},
    "exponents differ": {"slopes": 0.1},
    "3 seeds": {"seeds": 3},
    "20 seeds of 9": {"seeds": 20, "cells": 9},
    "heavy tails": {"tails": True},
    "wide brackets": {"bracket": 0.3},
    "errors below the brackets": {"bracket": 0.3, "spread": 0.02},
    "seeds far apart": {"spread": 0.02, "between": 1.0},
    "one clock, no errors": {"spread": 0.0, "between": 0.0, "bracket": 0.1},
}
AGAINST = "learning_rate*strength"
Z = stats.norm.ppf(0.975)


def methods(frame: Any, bootstrap: bool) -> dict[str, tuple[float, float, float]]:
    """The exponent and the ends of its interval, by the method."""
    seen = observe(frame, "t2", AGAINST, "seed")
    shape = Power(Scaled.of(seen.data.logs), seen.labels)
    found: dict[str, tuple[float, float, float]] = {}
    for effects in (True, False):
        best = maximise(Likelihood(seen.data, shape, effects=effects), [start_of(seen.data, shape, effects=effects)])
        value = float(shape.natural(best.parameters[:2])[1])
        word = "" if effects else ", no effects"
        for how in ("jackknife", "bootstrap")[: 1 + (bootstrap and effects)]:
            again = resample(seen.data, shape, best, effects=effects, confidence=0.95, method=how, draws=100, seed=0)
            low, high = again.interval(np.array([0.0, 1.0]))
            found[how + word] = (value, float(low[0]), float(high[0]))
        errors = {"curvature": np.linalg.pinv(best.curvature), "sandwich": _sandwich(seen.data, shape, best, effects)}
        for how, covariance in errors.items():
            half = Z * float(np.sqrt(max(covariance[1, 1], 0.0))) * float(shape.scaled.turn[0, 0].__abs__())
            found[how + word] = (value, value - half, value + half)
    return found | _wrong(frame)


def _sandwich(data: Brackets, shape: Power, best: Any, effects: bool) -> np.ndarray:
    """The clustered covariance with the normal's quantile: what packages give by default."""
    scores = Likelihood(data, shape, effects=effects).per_seed(best.parameters)[1]
    bread = np.linalg.pinv(best.curvature)
    return bread @ scores.T @ scores @ bread


def _wrong(frame: Any) -> dict[str, tuple[float, float, float]]:
    """What a user would do first: censored runs as if t2 were their end, or left out; least squares either way."""
    found = {}
    for word, rows in {
        "censored as observed": frame.assign(t2=frame["t2"].fillna(frame["end"])),
        "censored left out": frame.dropna(subset="t2"),
    }.items():
        line = stats.linregress(np.log(rows["learning_rate"] * rows["strength"]), np.log(rows["t2"]))
        half = Z * line.stderr
        found[word] = (line.slope, line.slope - half, line.slope + half)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("designs", nargs="*", default=list(DESIGNS), metavar="DESIGN")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--bootstrap", action="store_true", help="Also percentiles of 100 draws of seeds: slow.")
    given = parser.parse_args()
    for name in given.designs:
        runs = [methods(planted(draw, **DESIGNS[name]), given.bootstrap) for draw in range(given.draws)]
        print(f"\n{name}: {given.draws} draws\n{'method':<28}{'covers':>8}{'half width':>12}{'bias':>12}{'error':>12}")
        for how in runs[0]:
            value, low, high = np.array([run[how] for run in runs]).T
            covers = np.mean((low <= EXPONENT) & (high >= EXPONENT))
            print(
                f"{how:<28}{100 * covers:>7.1f}%{np.mean(high - low) / 2:>12.2g}{np.mean(value - EXPONENT):>12.2g}"
                f"{np.sqrt(np.mean((value - EXPONENT) ** 2)):>12.2g}",
                flush=True,
            )


if __name__ == "__main__":
    main()
