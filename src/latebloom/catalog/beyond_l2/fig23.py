"""Figure 23: errors, times and the needed number of entries, as functions of N and the coherence τ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import latebloom as lb
from latebloom.catalog.beyond_l2 import leverage_runs
from latebloom.catalog.old_base import Evidence, Experiment
from latebloom.figures.look import NORM, TEST, THEORY, canvas, shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_errors(axes: list[Axes], evidence: Evidence) -> None:
    """Both errors at the end against N."""
    wanted = leverage_runs.counts(evidence.request)
    for tau, colour, marker in zip(leverage_runs.TAUS, shades(len(leverage_runs.TAUS)), "os^Dv", strict=True):
        for axis, column in zip(axes, ("train_error", "test_error"), strict=True):
            values = [leverage_runs.over_draws(evidence, n, tau, column) for n in wanted]
            axis.plot(wanted, values, color=colour, marker=marker, label=rf"$\tau$ = {tau:g}")
    for axis, name in zip(axes, ("training error at the end", "recovery error at the end"), strict=True):
        axis.set_yscale("log")
        axis.set_ylim(5e-5, 1.5)
        axis.set_xticks(wanted)
        axis.set_xlabel("observed entries $N$")
        axis.set_ylabel(name)
    axes[0].legend(fontsize=6, ncols=2)


def draw_times(axis: Axes, evidence: Evidence) -> None:
    """The generalisation step against τ, a line for each N and draw."""
    wanted = leverage_runs.counts(evidence.request)
    for count, colour, marker in zip(wanted, shades(len(wanted)), "os^DvPX", strict=False):
        for draw, line in zip(range(leverage_runs.DRAWS), ("-", ":"), strict=True):
            found = leverage_runs.times(evidence, count, draw)
            label = f"$N$ = {count}" if found and line == "-" else None
            axis.plot(list(found), list(found.values()), color=colour, marker=marker, linestyle=line, label=label)
    _, steps = leverage_runs.strength_and_steps(evidence.request)
    axis.set_yscale("log")
    axis.set_ylim(steps / 50, 1.5 * steps)
    axis.set_xlim(-0.05, 1.05)
    axis.set_xlabel(r"coherence $\tau$")
    axis.set_ylabel("generalisation step $t_2$")
    axis.legend(fontsize=6, loc="lower left")


def draw_needed(axis: Axes, evidence: Evidence) -> None:
    """The oracle's smallest N against τ, with what coverage and counting allow."""
    tables = [evidence.tables[leverage_runs.table_name(leverage_runs.RANK, tau)] for tau in leverage_runs.TAUS]
    columns = (("count", "needed by the oracle", TEST, "o-"), ("covered", "to cover rows and columns", NORM, "s-"))
    for column, label, colour, mark in columns:
        values = np.array([table[column] for table in tables])
        spread = values.std(axis=1) / np.sqrt(values.shape[1])
        axis.errorbar(leverage_runs.TAUS, values.mean(axis=1), spread, fmt=mark, color=colour, label=label, capsize=2)
    side = leverage_runs.SIDE
    freedom = lb.theory.degrees_of_freedom((side, side), leverage_runs.RANK)
    axis.axhline(freedom, color=THEORY, linestyle="--", linewidth=0.9, label="degrees of freedom")
    axis.set_xlim(-0.05, 1.05)
    axis.set_xlabel(r"coherence $\tau$")
    axis.set_ylabel("smallest $N$")
    axis.set_ylim(30, 100)
    axis.legend(fontsize=6)


def draw(evidence: Evidence) -> Figure:
    figure, axes = canvas(2, 2, height=2.1)
    draw_errors(axes[:2], evidence)
    draw_times(axes[2], evidence)
    draw_needed(axes[3], evidence)
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig23",
    title="Errors against the number of entries, generalisation step and needed entries against the coherence τ",
    claim="The number of entries needed falls with τ, to the floor at which all rows and columns are covered.",
    source="Appendix G.2.3, Figure 23",
    seconds=60,
    settings=leverage_runs.SETTINGS,
    jobs=leverage_runs.jobs,
    studies=leverage_runs.studies,
    claims=(
        leverage_runs.IMPROVES,
        leverage_runs.FEWER,
        leverage_runs.EXPONENTIALLY_FEWER,
        leverage_runs.SATURATES,
        leverage_runs.COVER,
        leverage_runs.BEST,
        leverage_runs.EARLIER,
        leverage_runs.EXPONENTIALLY_EARLIER,
        leverage_runs.SAME_MEMORISATION,
        leverage_runs.AGREES,
    ),
    draw=draw,
    notes=(
        *leverage_runs.NOTES,
        "Over 80 draws the smallest N at τ = 0, 0.25, 0.5, 0.75, 1 is 77, 64, 59, 57, 55 on average: it levels off "
        "where the last row or column gets its r-th entry, which comes later the more the others are favoured.",
        "Each line of t2 is a draw (the second dotted), where it generalises. Bars are standard errors over draws.",
    ),
)
