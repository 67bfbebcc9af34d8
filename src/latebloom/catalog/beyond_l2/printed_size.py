"""Completion of 100 x 100 matrices by the oracle, the size that Appendix G.2.3 prints, in a few cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings, Study
from latebloom.catalog.bounds import at_most, holds
from latebloom.catalog.controls import Altered
from latebloom.catalog.measures import completion
from latebloom.core.fields import count
from latebloom.core.progress import tracked
from latebloom.figures import Axis, Figure, Line, Panel

TABLE = "oracle"
RANKS, COHERENCES = (2, 10), (0.0, 0.5, 1.0)


class PrintedSizeSettings(Settings):
    """The oracle on some draws at one number of entries for each comparison."""

    side: int = count(default=100, note="n1 = n2")
    draws: int = count(default=4, note="of the comparison of τ; that of r has the first one")
    observed: int = count(default=1900, note="N, where τ is compared, at r = 2")
    observed_by_rank: int = count(default=2500, note="N, where r is compared, at τ = 0")

    @property
    def cells(self):
        """N, r, τ and draw of every problem."""
        by_rank = [(self.observed_by_rank, rank, 0.0, 0) for rank in RANKS]
        return by_rank + [(self.observed, RANKS[0], tau, draw) for tau in COHERENCES for draw in range(self.draws)]


printed_size = Entry(
    "beyond-l2/app-g2-100",
    "Completion of 100 x 100 matrices by the oracle, over r and τ",
    "At the printed size a higher rank needs more entries, and half of the entries of highest leverage beat all.",
    source="Appendix G.2.3, linear programming",
    seconds=20,
    settings=PrintedSizeSettings(),
    notes=(
        "A draw that is not recovered takes the oracle five seconds at this size, so there are four draws of each.",
        "At τ = 1 all entries are those of highest leverage; rows and columns of low leverage are seen too late.",
    ),
)


@printed_size.studies
def printed_size_studies(s):
    told = {"experiment": "beyond-l2/app-g2-100", "seed": s.seed, "side": s.side, "cells": [list(c) for c in s.cells]}

    def compute():
        rows = []
        for entries, rank, tau, draw in tracked(s.cells, "oracle at the printed size"):
            seed = 1000 * s.seed + draw
            problem = completion(seed, shape=(s.side, s.side), rank=rank, observed=entries, coherence=tau)
            answer = lb.oracles.min_nuclear_norm(problem)
            away = np.linalg.norm(answer.solution - np.asarray(problem.truth))
            rows.append([answer.recovery == "recovered", away])
        recovered, error = np.array(rows, dtype=float).T
        return {"recovered": recovered, "error": error}

    return [Study(TABLE, told, compute)]


def by_rank(e):
    """Whether the first draw is recovered, at each rank."""
    return {f"r={rank}": bool(found) for rank, found in zip(RANKS, e.tables[TABLE]["recovered"], strict=False)}


def by_coherence(e):
    """The share of draws recovered, at each τ."""
    found = e.tables[TABLE]["recovered"][len(RANKS) :].reshape(len(COHERENCES), -1).mean(axis=1)
    return {f"τ={tau:g}": float(share) for tau, share in zip(COHERENCES, found, strict=True)}


def ranks_exchanged(evidence):
    """The two ranks in each other's place."""
    table, order = evidence.tables[TABLE], np.arange(len(evidence.tables[TABLE]["recovered"]))
    order[[0, 1]] = order[[1, 0]]
    return replace(evidence, tables={TABLE: {name: column[order] for name, column in table.items()}})


RANKS_EXCHANGED = Altered("the ranks have changed places", ranks_exchanged)


@printed_size.claim(
    holds("recovered at the higher rank, not at the lower"),
    fails="the other way round",
    control=RANKS_EXCHANGED,
)
def rank_as_printed(e):
    """As r increases, the number of samples needed for perfect recovery decreases."""
    found = by_rank(e)
    lower, higher = found.values()
    return found, higher and not lower


@printed_size.claim(
    holds("recovered at the lower rank, not at the higher"),
    source="corrects the previous claim",
    kind="corrected",
    control=RANKS_EXCHANGED,
)
def grows_with_rank(e):
    """As r increases, the number of samples needed for perfect recovery increases."""
    found = by_rank(e)
    lower, higher = found.values()
    return found, lower and not higher


def places_exchanged(one, other):
    """A change of the evidence: two τ, by their places, stand for each other."""

    def change(evidence):
        table = evidence.tables[TABLE]
        blocks = np.split(np.arange(len(RANKS), len(table["recovered"])), len(COHERENCES))
        blocks[one], blocks[other] = blocks[other], blocks[one]
        order = np.concatenate([np.arange(len(RANKS)), *blocks])
        return replace(evidence, tables={TABLE: {name: column[order] for name, column in table.items()}})

    return change


HALF_AND_NONE = Altered("τ=0 and τ=0.5 have changed places", places_exchanged(0, 1))
HALF_AND_ALL = Altered("τ=0.5 and τ=1 have changed places", places_exchanged(1, 2))


@printed_size.claim(
    holds("no fewer draws recovered at τ=0.5 than at τ=0, and one at least"),
    control=HALF_AND_NONE,
)
def falls_with_leverage(e):
    """As τ increases, the number of samples needed for perfect recovery decreases: from τ=0 to τ=0.5."""
    found = by_coherence(e)
    return found, found["τ=0.5"] >= max(found["τ=0"], 1 / e.settings.draws)


@printed_size.claim(
    holds("as many draws recovered at τ=1 as at τ=0.5"),
    fails="rows and columns of low leverage are seen too late",
    control=HALF_AND_ALL,
)
def falls_further_as_printed(e):
    """As τ increases, the number of samples needed for perfect recovery decreases: from τ=0.5 to τ=1."""
    found = by_coherence(e)
    return found, found["τ=1"] >= found["τ=0.5"]


@printed_size.claim(
    holds("more draws recovered at τ=0.5 than at τ=1"),
    source="corrects the previous claim",
    kind="corrected",
    control=HALF_AND_ALL,
)
def half_beats_all(e):
    """Half of the entries by leverage and half at random need fewer than all by leverage."""
    found = by_coherence(e)
    return found, found["τ=0.5"] > found["τ=1"]


def others(evidence):
    """The draws that are not recovered, in the place of those that are."""
    table = evidence.tables[TABLE]
    return replace(evidence, tables={TABLE: {**table, "recovered": 1 - table["recovered"]}})


@printed_size.claim(
    at_most(1e-5),
    "largest relative error of a recovered draw",
    control=Altered("the draws that are not recovered", others),
)
def error_of_the_oracle(e):
    """Where it is recovered the relative error is of the order of 1e-6 or below."""
    table = e.tables[TABLE]
    return float(table["error"][table["recovered"] > 0].max())


@printed_size.figure
def printed_size_figure(e):
    s, table = e.settings, e.tables[TABLE]
    places = np.repeat(COHERENCES, s.draws)
    errors = np.maximum(table["error"][len(RANKS) :], 1e-17)
    axis = Axis("relative error of the oracle", "log", 1e-17, 3)
    points = [Line(places, errors, "", "test", "points")]
    left = Panel(points, Axis(r"coherence $\tau$"), axis, title=rf"$r = {RANKS[0]}$, $N = {s.observed}$", legend=None)
    ranks = [Line(RANKS, np.maximum(table["error"][: len(RANKS)], 1e-17), "", "norm", "points")]
    title = rf"$\tau = 0$, $N = {s.observed_by_rank}$"
    right = Panel(ranks, Axis("rank $r$", ticks=RANKS), axis, title=title, legend=None)
    return Figure([[left, right]])
