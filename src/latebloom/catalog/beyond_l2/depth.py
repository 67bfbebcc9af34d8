"""Depth instead of l1: errors and times over depth and number of measurements (Figures 9, 17 and 18)."""

from __future__ import annotations

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.beyond_l2.draws import ROWS_NOTE, VectorSettings
from latebloom.catalog.bounds import at_least, at_most, holds
from latebloom.catalog.measures import ends_and_times
from latebloom.core.fields import count, number, numbers
from latebloom.figures import Axis, Figure, Line, Panel, panels

NAME = "L={depth}, N={measurements}"
LARGE, LARGE_SHALLOW = "large start, L=2, l2", "large start, L=1, l2"


class DepthSettings(VectorSettings):
    init_scale: float = number(default=1e-6, least=0, note="ζ at depth 1")
    deep_init_scale: float = number(default=1e-2, least=0, note="ζ from depth 2 on")
    sparsity: int = count(default=5, note="s, entries that are not zero")
    counts: tuple[int, ...] = numbers(default=(20, 30, 50, 80), whole=True, least=1, note="N, measurements")
    depths: tuple[int, ...] = numbers(default=(1, 2, 3, 4), whole=True, least=1, note="L")
    learning_rate: float = number(default=0.1, above=0, note="α")
    steps: tuple[int, ...] = numbers(
        default=(20_000, 300_000, 3_000_000, 1_000_000),
        whole=True,
        least=1,
        note="of depth 1, 2, …, the last of deeper",
    )
    large_init_scale: float = number(default=10.0, least=0, note="ζ of the runs from a large start")
    large_measurements: int = count(default=50, note="N of the runs from a large start")
    weight_decay: float = number(default=1e-4, least=0, note="β, of the l2 norm in the runs from a large start")
    large_steps: int = count(default=2_000_000, note="of the runs from a large start")


NOTES = (
    ROWS_NOTE,
    "Only the runs from a large start have a penalty.",
    "The start is the printed Gaussian: an all-equal positive start would keep a ≥ 0 at even depth.",
    "Depth 4 sits at the saddle for more than 1e6 steps, as the caption of Figure 18 admits.",
)
FULL = {"counts": tuple(range(10, 101, 10))}
fig9 = Entry(
    "beyond-l2/fig9",
    "Recovery error against depth and number of measurements, without regularisation",
    "Depth recovers the sparse truth without l1, from a small start.",
    source="Section 3.5, Figure 9",
    seconds=40,
    settings=DepthSettings(),
    full=FULL,
    notes=NOTES,
)
fig17 = Entry(
    "beyond-l2/fig17",
    "Training and recovery error against the step, for each depth and number of measurements",
    "Depth 2 and 3 recover, in a staircase; a large start with small weight decay groks from depth 2 on.",
    source="Appendix F.1, Figure 17",
    seconds=30,
    settings=DepthSettings(),
    full=FULL,
    notes=NOTES,
)
fig18 = Entry(
    "beyond-l2/fig18",
    "Errors, memorisation and generalisation steps against the number of measurements, for each depth",
    "Depth needs fewer measurements and more steps.",
    source="Appendix F.1, Figure 18",
    seconds=30,
    settings=DepthSettings(),
    full=FULL,
    notes=(*NOTES, "A missing point was not reached within the steps of its run."),
)


@fig9.runs
@fig17.runs
@fig18.runs
def depth_runs(s):
    def job(depth, measurements, scale, steps, penalty=None):
        problem = s.problem(measurements=measurements, depth=depth, init_scale=scale, normalise="rows")
        method, probes = lb.GradientDescent(s.learning_rate), (lb.probes.VectorL1(),)
        return lb.TrainJob(problem, method, penalty, steps=steps, probes=probes)

    def small(depth, measurements):
        scale = s.init_scale if depth == 1 else s.deep_init_scale
        return job(depth, measurements, scale, s.steps[min(depth, len(s.steps)) - 1])

    def large(depth):
        return job(depth, s.large_measurements, s.large_init_scale, s.large_steps, lb.L2(s.weight_decay))

    grid = lb.Grid(small, {"depth": s.depths, "measurements": s.counts}, name=NAME)
    return {**grid, LARGE: large(2), LARGE_SHALLOW: large(1)}


def runs_of(e, depth):
    """The runs of a depth, by number of measurements."""
    return {n: e[NAME.format(depth=depth, measurements=n)] for n in e.settings.counts}


def final_errors(e, depth):
    """The recovery error at the end, by number of measurements."""
    return {n: run.final["test_error"] for n, run in runs_of(e, depth).items()}


SHALLOW = at_least(0.25), "smallest recovery error at depth 1 over N of at most 80 (a random vector leaves √(1-N/n))"


@fig9.claim(*SHALLOW, source="Section 3.5, Appendix F.1")
@fig17.claim(*SHALLOW, source="Section 3.5, Appendix F.1")
def shallow_fails(e):
    """Without l1 the shallow model cannot recover: there is no mechanism to enforce sparsity."""
    return min(error for n, error in final_errors(e, 1).items() if n <= 80)


@fig9.claim(at_most(1e-2), "recovery error of depth 2 at N=50 and 80", source="Section 3.5, Figure 9", rate=0.9)
@fig17.claim(at_most(1e-2), "recovery error of depth 2 at N=50 and 80", source="Section 3.5, Figure 9", rate=0.9)
def depth_recovers(e):
    """Depth can replace l1 when the initialisation is small."""
    errors = final_errors(e, 2)
    return max(errors[50], errors[80])


DEPTH_3 = at_most(0.25), "recovery error of depth 3 at N=50 and 80 within 3e6 steps"
STAIRCASE = "Appendix F.1: the loss decreases in a staircase"


@fig9.claim(*DEPTH_3, source=STAIRCASE, rate=0.8)
@fig17.claim(*DEPTH_3, source=STAIRCASE, rate=0.8)
def depth_3_approaches(e):
    """So does depth 3, one component after the other; the small ones take longest."""
    errors = final_errors(e, 3)
    return max(errors[50], errors[80])


@fig17.claim(at_most(1e-2), "recovery error of depth 2 at the end", source="Section 3.5, Appendix F.1", rate=0.8)
def large_start_groks(e):
    """For L ≥ 2 a large-scale start with a small l2 term results in grokking."""
    return e[LARGE].final["test_error"]


@fig17.claim(at_least(0.3), "recovery error of depth 1 at the end", source="Section 3.5, Appendix F.1")
def large_start_shallow(e):
    """Unlike the shallow case, where it is grokking without understanding."""
    return e[LARGE_SHALLOW].final["test_error"]


@fig18.claim(
    holds("depth 2 recovers to {error:g} at some N of at most {most:g} at which depth 1 does not", error=1e-2, most=50),
    source="Appendix F.1",
    rate=0.8,
)
def fewer_measurements(e, error, most):
    """Depth aids in finding the signal with a smaller number of measures."""
    shallow, deep = ({n for n, end in final_errors(e, depth).items() if end <= error} for depth in (1, 2))
    gained = sorted(deep - shallow)
    return gained, bool(gained) and gained[0] <= most


@fig18.claim(at_least(10), "steps to halve the recovery error at L=3 over L=2", source="Appendix F.1", rate=0.9)
def longer_training(e):
    """Depth helps at the expense of a longer training time."""
    ratios = []
    for n in (50, 80):
        shallow, deep = (run.first(run["test_error"] <= 0.5) for run in (runs_of(e, 2)[n], runs_of(e, 3)[n]))
        ratios += [deep / shallow] if deep and shallow else []
    return min(ratios, default=None)


DEPTH_4 = at_most(0.5), "smallest recovery error of depth 4 over N within 1e6 steps"
SADDLE = "the start is a saddle of order 4"


@fig9.claim(*DEPTH_4, source="Section 3.5, Figure 9", fails=SADDLE)
@fig18.claim(*DEPTH_4, source="Section 3.5, Figure 9", fails=SADDLE)
def depth_4_as_printed(e):
    """The generalisation error decreases with increasing depth L, up to L=4."""
    return min(final_errors(e, 4).values())


@fig9.figure
def fig9_figure(e):
    traces = []
    for place, depth in enumerate(e.settings.depths):
        errors, symbol = final_errors(e, depth), panels.SYMBOLS[place % len(panels.SYMBOLS)]
        look = f"depth L = {depth}", f"cycle {place}", "linked"
        traces.append(Line(list(errors), list(errors.values()), *look, symbol=symbol))
    panel = Panel(traces, Axis("measurements $N$"), Axis("recovery error at the end", "log"))
    return Figure([[None, panel, None]], height=2.5, widths=(1, 4, 1))


@fig17.figure
def fig17_figure(e):
    shown, floor = [], Axis("relative error", "log", low=1e-5)
    for depth in e.settings.depths:
        runs = {f"N = {n}": run for n, run in runs_of(e, depth).items()}
        shown.append(Panel(panels.family(runs), panels.STEPS, floor, title=f"L = {depth}, no penalty", legend=None))
    shown.append(panels.errors(e[LARGE_SHALLOW], title=LARGE_SHALLOW))
    shown.append(panels.errors(e[LARGE], title=LARGE, legend=None))
    key = panels.family_key([f"N = {n}" for n in e.settings.counts], "train")
    return Figure(panels.in_rows(shown, 3), height=2.0, key=key)


@fig18.figure
def fig18_figure(e):
    families = {f"L = {depth}": ends_and_times(list(runs_of(e, depth).values())) for depth in e.settings.depths}
    shown = panels.against_count(e.settings.counts, families, legend=None)
    return Figure(panels.in_rows(shown, 2), height=2.0, key=panels.key_of(shown[0]))
