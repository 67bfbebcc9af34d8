"""Runs whose law is known: a grid of learning rates and strengths by seeds, with a share of them censored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

RATES, STRENGTHS = np.geomspace(0.015, 0.15, 6), np.geomspace(2e-6, 2e-5, 6)
EXPONENT, PREFACTOR = -1.0, 0.2


def planted(
    draw: int,
    *,
    exponents: tuple[float, float] = (EXPONENT, EXPONENT),
    seeds: int = 5,
    censored: float = 0.4,
    spread: float = 0.2,
    between: float = 0.3,
    slopes: float = 0.0,
    bracket: float = 0.0,
    cells: int = 36,
    tails: bool = False,
    budget: str = "common",
) -> pd.DataFrame:
    """t2 = 0.2 rate^p strength^q, times exp(effect of the seed + error), rounded up to a step or to a record.

    `slopes` lets the exponent differ between seeds, `bracket` is the records' distance in log t2 (0: steps), `tails`
    gives the errors those of Student's t with 3 degrees of freedom. The `budget` of steps is "common" to all, or in
    "proportion" to the law, as a sweep has it; either way so many are `censored`.
    """
    random = np.random.default_rng([draw, 4711])
    rates, strengths = (grid.ravel()[:: 36 // cells] for grid in np.meshgrid(RATES, STRENGTHS))
    parts: list[dict[str, Any]] = []
    for seed in range(seeds):
        effect, tilt = between * random.normal(), slopes * random.normal()
        errors = random.standard_t(3, cells) / np.sqrt(3) if tails else random.normal(size=cells)
        law = np.log(PREFACTOR) + exponents[0] * np.log(rates) + exponents[1] * np.log(strengths)
        away = np.log(rates * strengths) - np.log(RATES * STRENGTHS).mean()
        log_t2 = law + effect + tilt * away + spread * errors
        parts += [
            {"learning_rate": rate, "strength": strength, "seed": seed, "log_t2": when, "law": value}
            for rate, strength, when, value in zip(rates, strengths, log_t2, law, strict=True)
        ]
    frame = pd.DataFrame(parts)
    against = frame["law"] if budget == "proportion" else 0.0
    end = np.floor(np.exp(against + np.quantile(frame["log_t2"] - against, 1 - censored)))
    return _with_brackets(frame, end, bracket)


def _with_brackets(frame: pd.DataFrame, end: Any, bracket: float) -> pd.DataFrame:
    """t2 at the first step, or the first record of a grid in log t2, at which it had happened by the end."""
    when = np.exp(frame.pop("log_t2"))
    frame.pop("law")
    if bracket:
        place = np.ceil(np.log(when) / bracket)
        low, high = np.exp((place - 1) * bracket), np.exp(place * bracket)
    else:
        low, high = np.ceil(when) - 1, np.ceil(when)
    happened = when <= end
    frame["end"] = end
    frame["t2"] = np.where(happened, high, np.nan)
    frame["t2_low"] = np.where(happened, low, frame["end"])
    frame["t2_high"] = np.where(happened, high, np.inf)
    frame["outcome"] = np.where(happened, "stopped", "budget spent")
    return frame
