"""Phase diagrams of matrix completion over N, r and τ, for the oracle and for descent (Appendix G.2.3)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.beyond_l2 import leverage
from latebloom.catalog.beyond_l2.leverage import NAME, TABLE, LeverageSettings, mean_needed
from latebloom.catalog.bounds import at_least, at_most, each, holds, within
from latebloom.catalog.controls import Altered
from latebloom.core.fields import count, numbers
from latebloom.figures import Axis, Figure, Heat, Line, Panel, panels


class DiagramSettings(LeverageSettings):
    ranks: tuple[int, ...] = numbers(default=(1, 2, 3, 4), whole=True, least=1, note="r, of the oracle's diagrams")
    coherences: tuple[float, ...] = numbers(
        default=(0, 0.5, 1), least=0, most=1, note="τ, share of entries of highest leverage, of the oracle's diagrams"
    )
    oracle_side: int = count(default=10, note="n1 = n2 of the oracle's diagrams; N is all that there are")
    trained_ranks: tuple[int, ...] = numbers(default=(1, 2, 3), whole=True, least=1, note="r, of descent")
    trained_observed: tuple[int, ...] = numbers(default=(40, 60, 80), whole=True, least=1, note="N, of descent")
    trained_coherences: tuple[float, ...] = numbers(default=(0, 1), least=0, most=1, note="τ, of descent")


app_g2 = Entry(
    "beyond-l2/app-g2",
    "Phase diagrams of matrix completion over N, r and τ: oracle and descent",
    "Recovery needs fewer entries when those of highest leverage come first, and more entries at a higher rank.",
    source="Appendix G.2.3",
    seconds=60,
    settings=DiagramSettings(),
    controls=(leverage.OTHER_TABLES,),
    full=leverage.FULL | {"oracle_side": 20},
    notes=(
        *leverage.NOTES,
        "The appendix describes these diagrams without showing them, at a side of 100 by cvxpy; ours is 10.",
        "Over 80 draws the smallest N at τ = 0, 0.5, 1 is 63, 36, 27 (r=1), 77, 59, 55 (r=2), 87, 73, 72 (r=3) and "
        "92, 82, 82 (r=4) on average.",
        "White dashes are the degrees of freedom r(n1 + n2 - r), below which no draw is recovered.",
        "Descent misses draws that the oracle recovers where it is still on its way at the last step; a circle has the "
        "colour of the oracle's share on the draws of its cell.",
    ),
)


@app_g2.runs
def app_g2_runs(s):
    axes = {"rank": s.trained_ranks, "count": s.trained_observed, "tau": s.trained_coherences, "draw": range(s.draws)}
    return lb.Grid(s.job, axes, name=NAME)


@app_g2.studies
def app_g2_studies(s):
    return [s.study(rank, tau, s.oracle_side) for rank in s.ranks for tau in s.coherences]


def needed(e):
    """The oracle's smallest N, mean over draws: a row for each rank and a column for each τ."""
    return np.array([[mean_needed(e, tau, rank) for tau in e.settings.coherences] for rank in e.settings.ranks])


@app_g2.claim(
    holds("smallest N (mean over draws) falling in r at every τ"),
    source="Appendix G.2.3, linear programming",
    fails="more degrees of freedom need more entries",
)
def rank_as_printed(e):
    """As r increases, the number of samples needed for perfect recovery decreases."""
    means = needed(e)
    return means.round(1).tolist(), bool(np.all(np.diff(means, axis=0) < 0))


@app_g2.claim(
    holds("smallest N (mean over draws) strictly increasing in r at every τ"),
    source="corrects the previous claim",
    rate=0.9,
    kind="corrected",
)
def grows_with_rank(e):
    """As r increases, the number of samples needed for perfect recovery increases."""
    means = needed(e)
    return means.round(1).tolist(), bool(np.all(np.diff(means, axis=0) > 0))


def kept(e):
    """The smallest N at τ=1 over that at τ=0, for each rank."""
    return np.array([mean_needed(e, 1, rank) / mean_needed(e, 0, rank) for rank in e.settings.ranks])


@app_g2.claim(
    each(at_most(0.95)),
    "smallest N at τ=1 over that at τ=0, by r,",
    source="Appendix G.2.3, linear programming",
    rate=0.8,
)
def falls_with_leverage(e):
    """As τ increases, the number of samples needed for perfect recovery decreases."""
    return kept(e).round(3).tolist()


@app_g2.claim(
    holds("the share of entries that τ=1 saves falls strictly in r"), source="our measurement", rate=0.8, kind="ours"
)
def gains_most_at_low_rank(e):
    """Leverage saves the more entries the lower the rank."""
    saved = 1 - kept(e)
    return saved.round(3).tolist(), bool(np.all(np.diff(saved) < 0))


@app_g2.claim(
    each(within(0.95, 1.05)),
    "smallest N at τ=1 over that at τ=0.5, for r=3 and r=4,",
    source="qualifies the sentence on τ",
    rate=0.9,
    kind="ours",
)
def half_is_enough(e):
    """At rank 3 and 4 the entries of highest leverage help up to τ=0.5 and no further."""
    return [round(mean_needed(e, 1, rank) / mean_needed(e, 0.5, rank), 3) for rank in (3, 4)]


app_g2.claim(leverage.COVERED, source=leverage.OF_THE_FLOOR, rate=0.9, kind="ours")(leverage.floor_is_coverage)


def nothing_taken(evidence):
    """The errors at the smallest N itself, of the first draw of every table."""
    s, tables = evidence.settings, {}
    for (rank, tau), (name, table) in zip(product(s.ranks, s.coherences), evidence.tables.items(), strict=True):
        draw = s.problem(rank, int(table["count"][0]), tau, 0, s.oracle_side)
        away = lb.oracles.min_nuclear_norm(draw).solution - np.asarray(draw.truth)
        tables[name] = {**table, "error_before": np.full(len(table["count"]), np.linalg.norm(away))}
    return replace(evidence, tables=tables)


@app_g2.claim(
    at_least(1e-5),
    "least relative error one entry before recovery, over all draws,",
    source="Appendix G.2.3: errors of order 1e-6",
    rate=0.9,
    kind="ours",
    control=Altered("no entry is taken away", nothing_taken),
)
def all_or_nothing(e):
    """Where the oracle recovers its error is rounding, and one entry less brings a visible error."""
    return min(float(table["error_before"].min()) for table in e.tables.values())


app_g2.claim(leverage.AGREES, source=leverage.OF_THE_ORACLE, rate=0.9, kind="ours")(
    leverage.recovers_if_the_oracle_does
)


KEY = (
    Line([], [], "rings: the oracle on the same draws", "grey", "points", symbol="o", hollow=True, size=6.7),
    Line([], [], "degrees of freedom", "grey", "theory"),
)


@app_g2.figure
def app_g2_figure(e):
    s = e.settings
    oracle = [oracle_panel(e, tau, bar=tau == s.coherences[-1]) for tau in s.coherences]
    descent = [descent_panel(e, tau) for tau in s.trained_coherences]
    return Figure([*panels.in_rows(oracle, 3), *panels.in_rows([*descent, needed_panel(e)], 3)], key=KEY)


def freedom(side, ranks):
    """The degrees of freedom at each rank, as a staircase."""
    counts = [lb.theory.degrees_of_freedom((side, side), rank) for rank in ranks]
    heights = [height for rank in ranks for height in (rank - 0.5, rank + 0.5)]
    return Line(np.repeat(counts, 2), heights, "", "light", "theory", name="degrees of freedom", fits=False)


def diagram(traces, title, ranks, **axis):
    """A panel of N and r."""
    entries = Axis("observed entries $N$", **axis)
    return Panel(traces, entries, Axis("rank $r$", ticks=ranks), title=title, legend=None, grid=False)


def oracle_panel(e, tau, *, bar):
    """The share of draws that the oracle recovers."""
    s, most = e.settings, e.settings.oracle_side**2
    counts = np.arange(min(10, most), most + 1)
    found = [e.tables[TABLE.format(rank=rank, tau=tau)]["count"] for rank in s.ranks]
    shares = np.array([(values[:, None] <= counts).mean(axis=0) for values in found])
    heat = Heat(counts, s.ranks, shares, "share recovered", low=0, high=1, bar=bar)
    return diagram([heat, freedom(s.oracle_side, s.ranks)], rf"oracle, $\tau$ = {tau:g}", s.ranks)


def descent_panel(e, tau):
    """The share of draws that descent recovers, with the oracle's on the same draws in circles."""
    s = e.settings
    cells = [(rank, n) for rank in s.trained_ranks for n in s.trained_observed]

    def shares(judge):
        names = [[NAME.format(rank=r, count=n, tau=tau, draw=draw) for draw in range(s.draws)] for r, n in cells]
        return np.array([np.mean([judge(e, name) for name in group]) for group in names])

    found = shares(leverage.recovered).reshape(len(s.trained_ranks), -1)
    heat = Heat(s.trained_observed, s.trained_ranks, found, "share recovered", low=0, high=1)
    rows, columns = np.array(cells).T
    look = {"by": shares(leverage.oracle_recovers), "low": 0, "high": 1, "hollow": True, "size": 6.7}
    circles = Line(columns, rows, "oracle", marks="points", above=1, **look)
    title = rf"descent, $\tau$ = {tau:g}"
    traces = [heat, circles, freedom(s.side, s.trained_ranks)]
    return diagram(traces, title, s.trained_ranks, ticks=s.trained_observed)


def needed_panel(e):
    """The smallest N against the rank, above the degrees of freedom."""
    s, traces = e.settings, []
    for place, (tau, means) in enumerate(zip(s.coherences, needed(e).T, strict=True)):
        look = {"shade": panels.shade_of(place, len(s.coherences)), "symbol": panels.SYMBOLS[place % 8]}
        traces.append(Line(s.ranks, means, rf"oracle, $\tau$ = {tau:g}", marks="linked", **look))
    counts = [lb.theory.degrees_of_freedom((s.oracle_side, s.oracle_side), rank) for rank in s.ranks]
    traces.append(Line(s.ranks, counts, "$r(n_1 + n_2 - r)$", "theory"))
    vertical = Axis("smallest $N$ (mean)", low=0, high=s.oracle_side**2)
    return Panel(traces, Axis("rank $r$", ticks=s.ranks), vertical, legend="lower right")
