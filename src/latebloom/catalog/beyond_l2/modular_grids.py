"""Modular addition over grids of learning rates and strengths: the nuclear norm (Figure 2), l1 and l2 (Figure 30)."""

from __future__ import annotations

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.beyond_l2.networks import (
    L1,
    L2,
    NAME,
    NETWORK_NOTES,
    NUCLEAR,
    SYMBOLS,
    VALUES_NOTE,
    ModularSettings,
    accuracies,
    each_earlier,
    later,
)
from latebloom.catalog.bounds import each, holds, within
from latebloom.catalog.controls import OtherBound
from latebloom.catalog.measures import log_slope
from latebloom.core.fields import numbers
from latebloom.figures import Figure, panels

NOTES = (*NETWORK_NOTES, VALUES_NOTE)


class NuclearGrid(ModularSettings):
    penalties = (NUCLEAR,)
    learning_rates: tuple[float, ...] = numbers(default=(3e-3, 1e-2, 3e-2), above=0, note="α")
    strengths: tuple[float, ...] = numbers(default=(1e-4, 1e-3), above=0, note="β, of the nuclear norm")


class VectorGrid(NuclearGrid):
    penalties = (L1, L2)
    strengths: tuple[float, ...] = numbers(default=(1e-5, 1e-4), above=0, note="β, of l1 and of l2")


fig2 = Entry(
    "beyond-l2/fig2",
    "Accuracies under the nuclear norm over a grid of learning rates and strengths",
    "A larger learning rate or strength of the nuclear norm shortens the delay.",
    source="Section 2.1, Figure 2",
    seconds=30,
    settings=NuclearGrid(),
    full={"modulus": 97, "strengths": (3e-6, 1e-5, 1e-4)},
    full_seconds=150,
    notes=NOTES,
)
fig30 = Entry(
    "beyond-l2/fig30",
    "Accuracies under l1 and l2 over a grid of learning rates and strengths",
    "A larger learning rate or strength of l1 or l2 shortens the delay.",
    source="Appendix H.3.1, Figure 30",
    seconds=40,
    settings=VectorGrid(),
    full={"modulus": 97, "strengths": (3e-7, 1e-6, 1e-5)},
    full_seconds=150,
    notes=NOTES,
)


@fig2.runs
@fig30.runs
def grid_runs(s):
    problem = s.network()

    def job(penalty, learning_rate, strength):
        return s.job(problem, penalty, learning_rate, strength, stop_at="generalised")

    axes = {"penalty": s.penalties, "learning_rate": s.learning_rates, "strength": s.strengths}
    return lb.Grid(job, axes, name=NAME)


def times(e, along, fixed, name):
    """t2 by penalty and one of (learning_rate, strength), in the order of the other."""
    rows = e.table(t2=later).sort_values(along).groupby(["penalty", fixed], sort=False).t2
    return {name.format(*key): steps.to_list() for key, steps in rows}


@fig2.claim(
    holds("t2 falls from each learning rate to the next larger one, for every strength"),
    text="When α increases, the generalisation delay decreases.",
    source="Caption of Figure 2",
    rate=0.8,
)
@fig30.claim(
    holds("t2 falls from each learning rate to the next larger one, for every strength of l1 and l2"),
    text="Large αβ lead to faster grokking: a larger α.",
    rate=0.6,
)
def larger_rate_is_earlier(e):
    return each_earlier(times(e, "learning_rate", "strength", "{}, β={:g}"))


FALLS = holds("t2 falls from each strength to the next larger one, for every learning rate")


@fig2.claim(FALLS, text="The smaller αβ is, the longer the delay between memorisation and generalisation.", rate=0.8)
@fig30.claim(FALLS, text="Large αβ lead to faster grokking: a larger β.", rate=0.6)
def larger_strength_is_earlier(e):
    return each_earlier(times(e, "strength", "learning_rate", "{}, α={:g}"))


def delay_exponents(e):
    """The exponent of t2 - t1 in αβ by penalty, over the runs that have both; None with fewer than two."""
    exponents = {}
    for kind, cells in e.table(delay=lambda run: run.milestones.delay or None).groupby("penalty", sort=False):
        seen = cells.dropna()
        products = seen.learning_rate * seen.strength
        exponents[kind] = log_slope(products, seen.delay.astype(float)) if len(seen) >= 2 else None
    return exponents


AS_PRINTED = each(within(-1.2, -0.8)), "exponent of t2 - t1 in αβ, by penalty,"
SLOWER = each(within(-0.8, -0.2)), "exponent of t2 - t1 in αβ, by penalty,"


STEPS_OF_ADAM = "Theorem 2.1 is about (sub)gradient descent, the runs are Adam's; see plain-descent"


@fig2.claim(
    *AS_PRINTED,
    source="Section 2.2, which refers to Figure 2",
    outside=STEPS_OF_ADAM,
    control=OtherBound(SLOWER[0]),
)
@fig30.claim(*AS_PRINTED, source="Section 2.2", outside=STEPS_OF_ADAM, control=OtherBound(SLOWER[0]))
def proportional_as_printed(e):
    """The grokking time is proportional to 1/(αβ)."""
    return delay_exponents(e)


@fig2.claim(*SLOWER, source="Adam's steps, measured", kind="ours", rate=0.8)
@fig30.claim(*SLOWER, source="Adam's steps, measured", kind="ours", rate=0.6)
def grows_slower(e):
    """Under Adam the delay grows as a smaller power of 1/(αβ)."""
    return delay_exponents(e)


@fig2.figure
@fig30.figure
def grid_figure(e):
    """A row per penalty, a panel per learning rate, a curve per strength."""
    s = e.settings

    def panel(kind, rate):
        cell = {"penalty": kind, "learning_rate": rate}
        runs = {rf"$\beta$ = {b:g}": e[NAME.format(**cell, strength=b)] for b in s.strengths}
        return accuracies(runs, rf"{SYMBOLS[kind]}, $\alpha$ = {rate:g}", legend=None)

    key = panels.family_key([rf"$\beta$ = {b:g}" for b in s.strengths], "train")
    return Figure([[panel(kind, rate) for rate in s.learning_rates] for kind in s.penalties], key=key)
