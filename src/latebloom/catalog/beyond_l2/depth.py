"""Depth instead of l1: errors and times over depth and number of measurements (Figures 9, 17 and 18)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.beyond_l2.depth_measures import abruptness, delay, plateaus
from latebloom.catalog.beyond_l2.draws import ROWS_NOTE, VectorSettings
from latebloom.catalog.bounds import at_least, at_most, below, holds, within
from latebloom.catalog.controls import Altered, Instead, Set
from latebloom.catalog.measures import ends_and_times, over
from latebloom.core.fields import count, number, numbers
from latebloom.figures import Axis, Figure, Line, Panel, panels

NAME = "L={depth}, N={measurements}"
LONG = "flow, L={depth}, N={measurements}"
LARGE, LARGE_SHALLOW, LARGE_DEEP = "large start, L=2, l2", "large start, L=1, l2", "large start, L=3, l2"
TINY = "ζ near 0, L=3"


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
    long_counts: tuple[int, ...] = numbers(
        default=(50, 80), whole=True, least=1, note="N of the flows at depth 3 and 4"
    )
    long_steps: tuple[float, ...] = numbers(
        default=(3e8, 3e9), above=0, note="that the flows at depth 3 and 4 stand for"
    )
    tiny_init_scale: float = number(default=1e-6, least=0, note="ζ that is too near zero at depth 3")


NOTES = (
    ROWS_NOTE,
    "Only the runs from a large start have a penalty.",
    "The start is the printed Gaussian: an all-equal positive start would keep a ≥ 0 at even depth.",
    "Depth 4 sits at the saddle for 1e8 steps, as the caption of Figure 18 admits of fewer. The gradient flow from the "
    "same start, which costs seconds, stands for the 3e8 (depth 3) and 3e9 steps (depth 4) that it takes.",
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
    def problem_of(depth, measurements, scale):
        return s.problem(measurements=measurements, depth=depth, init_scale=scale, normalise="rows")

    def job(depth, measurements, scale, steps, penalty=None):
        problem = problem_of(depth, measurements, scale)
        method, probes = lb.GradientDescent(s.learning_rate), (lb.probes.VectorL1(),)
        return lb.TrainJob(problem, method, penalty, steps=steps, probes=probes)

    def small(depth, measurements):
        scale = s.init_scale if depth == 1 else s.deep_init_scale
        return job(depth, measurements, scale, s.steps[min(depth, len(s.steps)) - 1])

    def large(depth):
        return job(depth, s.large_measurements, s.large_init_scale, s.large_steps, lb.L2(s.weight_decay))

    def flow(depth, measurements):
        problem = problem_of(depth, measurements, s.deep_init_scale)
        time = s.learning_rate * s.long_steps[depth - 3]
        return lb.FlowJob(problem, None, time=time, solver="rkc", rtol=1e-3, learning_rate=s.learning_rate)

    grid = lb.Grid(small, {"depth": s.depths, "measurements": s.counts}, name=NAME)
    flows = {LONG.format(depth=d, measurements=n): flow(d, n) for d in (3, 4) for n in s.long_counts}
    tiny = job(3, s.large_measurements, s.tiny_init_scale, s.steps[1])
    return {**grid, LARGE: large(2), LARGE_SHALLOW: large(1), LARGE_DEEP: large(3), TINY: tiny, **flows}


def runs_of(e, depth):
    """The runs of a depth, by number of measurements."""
    return {n: e[NAME.format(depth=depth, measurements=n)] for n in e.settings.counts}


def final_errors(e, depth):
    """The recovery error at the end, by number of measurements."""
    return {n: run.final["test_error"] for n, run in runs_of(e, depth).items()}


def long_errors(e, measurements):
    """The recovery error at the end by depth, at depth 3 and 4 of the flow."""
    flows = {depth: e[LONG.format(depth=depth, measurements=measurements)] for depth in (3, 4)}
    return [final_errors(e, depth)[measurements] for depth in (1, 2)] + [flows[d].final["test_error"] for d in (3, 4)]


DEEPER = Instead({NAME.format(depth=1, measurements=n): NAME.format(depth=2, measurements=n) for n in (20, 30, 50, 80)})
SHALLOW = at_least(0.25), "smallest recovery error at depth 1 over N of at most 80 (a random vector leaves √(1-N/n))"


@fig9.claim(*SHALLOW, source="Section 3.5, Appendix F.1", control=DEEPER)
@fig17.claim(*SHALLOW, source="Section 3.5, Appendix F.1", control=DEEPER)
def shallow_fails(e):
    """Without l1 the shallow model cannot recover: there is no mechanism to enforce sparsity."""
    return min(error for n, error in final_errors(e, 1).items() if n <= 80)


@fig9.claim(at_most(1e-2), "recovery error of depth 2 at N=50 and 80", source="Section 3.5, Figure 9", rate=0.9)
@fig17.claim(at_most(1e-2), "recovery error of depth 2 at N=50 and 80", source="Section 3.5, Figure 9", rate=0.9)
def depth_recovers(e):
    """Depth can replace l1 when the initialisation is small."""
    errors = final_errors(e, 2)
    return max(errors[50], errors[80])


STAIRS = at_least(3), "plateaus of the recovery error at depth 3, N=80"


@fig9.claim(*STAIRS, source="Section 3.5, Appendix F.1", rate=0.8)
@fig17.claim(*STAIRS, source="Section 3.5, Appendix F.1", rate=0.8)
def staircase(e):
    """The loss decreases in a staircase, with plateaus of suboptimal error."""
    return len(plateaus(runs_of(e, 3)[80]))


DEPTH_3 = at_most(0.25), "recovery error of depth 3 at N=50 and 80 within 3e6 steps"


@fig9.claim(*DEPTH_3, source="Section 3.5, Figure 9", rate=0.8)
@fig17.claim(*DEPTH_3, source="Section 3.5, Figure 9", rate=0.8)
def depth_3_approaches(e):
    """So does depth 3; within these steps its small components have not arrived."""
    errors = final_errors(e, 3)
    return max(errors[50], errors[80])


@fig17.claim(
    holds(
        "recovery error at most {error:g}, its fall to {height:g} at least {times:g} times as late as that in training",
        error=1e-2,
        height=0.1,
        times=100,
    ),
    source="Section 3.5, Appendix F.1",
    rate=0.8,
)
def large_start_groks(e, error, height, times):
    """For L ≥ 2 a large-scale start with a small l2 term results in grokking: late, and all the way."""
    late, end = delay(e[LARGE], height), e[LARGE].final["test_error"]
    return {"delay": late, "error": end}, late is not None and late >= times and end <= error


@fig17.claim(
    at_least(0.3),
    "recovery error of depth 1 at the end",
    source="Section 3.5, Appendix F.1",
    control=Instead({LARGE_SHALLOW: LARGE}),
)
def large_start_shallow(e):
    """Unlike the shallow case, where it is grokking without understanding."""
    return e[LARGE_SHALLOW].final["test_error"]


@fig17.claim(
    below(1),
    "steps from memorisation to a recovery error of 0.3, L=3 over L=2,",
    source="Appendix F.1",
    rate=0.8,
    control=Instead({LARGE_DEEP: LARGE, LARGE: LARGE_DEEP}),
)
def acceleration(e):
    """From a large start with l2 the steps from memorisation to generalisation are fewer with more depth."""
    steps = [
        run.first(run["test_error"] <= 0.3) - run.first(run["train_error"] <= 0.3) for run in (e[LARGE_DEEP], e[LARGE])
    ]
    return float(steps[0] / steps[1])


@fig17.claim(
    below(0.5),
    "recovery error at the end, L=3 over L=2,",
    source="Appendix F.1",
    fails="on the product the penalty is like |a|^(2/L): it gives up a small component for good, or biases more",
    control=Instead({LARGE_DEEP: LARGE, LARGE: LARGE_SHALLOW}),
)
def accelerated_error_as_printed(e):
    """… and the error at the end is considerably lower."""
    return e[LARGE_DEEP].final["test_error"] / e[LARGE].final["test_error"]


@fig17.claim(
    holds(
        "clock at which the recovery error falls to {height:g} over that of the training error: at most {two:g} at "
        "L=2, at most {three:g} at L=3, each at N=50 and 80",
        height=0.3,
        two=1.5,
        three=1.1,
    ),
    source="Appendix F.1",
    rate=0.9,
    control=Instead({NAME.format(depth=d, measurements=n): LARGE for d in (2, 3) for n in (50, 80)}),
)
def ungrokking(e, height, two, three):
    """From a small start the delay is extremely small at L=2 and gone for L > 2."""
    found = {f"L={d}, N={n}": delay(runs_of(e, d)[n], height) for d in (2, 3) for n in (50, 80)}
    limits = {2: two, 3: three}
    return found, all(x is not None and x <= limits[int(name[2])] for name, x in found.items())


@fig17.claim(
    below(0.5),
    "share of the passed time that the first fall takes, L=3 over L=2, mean over N,",
    source="Appendix F.1",
    rate=0.9,
)
def more_abrupt(e):
    """As L becomes larger the phase transition to generalisation becomes abrupt."""
    two, three = (np.mean([abruptness(run) for run in runs_of(e, depth).values()]) for depth in (2, 3))
    return float(three / two)


@fig17.claim(
    at_most(1e-6),
    "|a(T) - a(1)| over |a*| at L=3 with ζ=1e-6",
    source="Appendix F.1",
    control=Set(tiny_init_scale=1e-2, counts=(50, 80), depths=(1,), long_counts=(), large_steps=100),
)
def nothing_moves_near_zero(e):
    """A start too close to the origin leads a not to change during training."""
    return abs(float(e[TINY]["test_error"][-1] - e[TINY]["test_error"][0]))


def one_step(e, strength):
    """A step of descent at L=2 by the update of the layers, and by Eqs. 119 and 120: their largest differences."""
    s, problem = e.settings, e.problem(LARGE)
    rate, layers = s.learning_rate, np.asarray(e[LARGE].params)
    gradient = np.asarray(problem.gradient(layers))
    new = layers - rate * (gradient + e.job(LARGE).penalty.strength * layers)
    a, c = layers[0] * layers[1], (layers**2).sum(axis=0)
    force = np.asarray((problem.design @ a - problem.targets) @ problem.design)
    keep = 1 - rate * strength
    eq119 = keep**2 * a - rate * keep * c * force + rate**2 * a * force**2
    eq120 = keep**2 * c - 4 * rate * keep * a * force + rate**2 * c * force**2
    return np.abs(eq119 - new[0] * new[1]).max() / np.abs(a).max(), np.abs(eq120 - (new**2).sum(axis=0)).max() / c.max()


@fig17.claim(
    at_most(1e-12),
    "largest difference of a step of the layers from Eqs. 119 and 120",
    source="Appendix F.1, Eqs. 118 to 120",
    control=Altered("another β in the equations", lambda e: replace(e, settings=e.settings.but(weight_decay=1e-2))),
)
def preconditioned(e):
    """At L=2 the vector moves by its gradient times c = A₁² + A₂²: depth is a preconditioner."""
    return float(max(one_step(e, e.settings.weight_decay)))


@fig17.claim(
    within(0.5, 2),
    "median log of what the components off the support lose a step, over log(1 - 2αβ)",
    source="Appendix F.1",
    rate=0.8,
)
def small_components_decay(e):
    """Where c is small the component is pushed to zero at a geometric rate of order 1 - 2αβ."""
    run, s = e[LARGE], e.settings
    layers, truth = np.asarray(run.params), np.asarray(e.problem(LARGE).truth)
    a = np.abs(layers[0] * layers[1])[truth == 0]
    begin = np.abs(np.prod(np.asarray(e.problem(LARGE).init()), axis=0))[truth == 0]
    slopes = np.log(a / begin) / (s.large_steps * np.log1p(-2 * s.learning_rate * s.weight_decay))
    return float(np.median(slopes))


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


DECIDED = (
    holds(
        "recovery error at N=50 and 80 below that of the depth before, from L=1 to L=4, and below {error:g} at L=4",
        error=1e-3,
    ),
)
GIVEN_TIME = "Section 3.5, Figure 9; caption of Figure 18"


@fig9.claim(*DECIDED, source=GIVEN_TIME, rate=0.8)
@fig18.claim(*DECIDED, source=GIVEN_TIME, rate=0.8)
def error_falls_with_depth(e, error):
    """The generalisation error decreases with depth, up to L=4: it only takes time."""
    found = {f"N={n}": long_errors(e, n) for n in e.settings.long_counts}
    falls = [bool(np.all(np.diff(errors) < 0)) and errors[-1] <= error for errors in found.values()]
    return found, bool(falls) and all(falls)


LEAVES = holds(
    "error at depth 4 above {before:g} after 1e6 steps, at most {height:g} after 1e7 to 1e9 steps' worth of the flow",
    before=0.9,
    height=0.5,
)


@fig9.claim(LEAVES, source="Caption of Figure 18", rate=0.9)
@fig18.claim(LEAVES, source="Caption of Figure 18", rate=0.9)
def depth_4_takes_time(e, before, height):
    """That depth 4 is no better is due to too little training."""
    steps = {}
    for n in e.settings.long_counts:
        flow = e[LONG.format(depth=4, measurements=n)]
        steps[f"N={n}"] = over(flow.first(flow["test_error"] <= height), e.settings.learning_rate)
    early = min(final_errors(e, 4)[n] for n in e.settings.long_counts)
    return steps, early >= before and all(step is not None and 1e7 <= step <= 1e9 for step in steps.values())


@fig9.figure
def fig9_figure(e):
    traces = []
    for place, depth in enumerate(e.settings.depths):
        errors, symbol = final_errors(e, depth), panels.SYMBOLS[place % len(panels.SYMBOLS)]
        look = f"depth L = {depth}", f"cycle {place}", "linked"
        if depth in (3, 4):
            ends = [long_errors(e, n)[depth - 1] for n in e.settings.long_counts]
            name = f"flow of L = {depth}, {e.settings.long_steps[depth - 3]:.0e} steps"
            traces.append(Line(e.settings.long_counts, ends, name, f"cycle {place}", "points", hollow=True, size=6))
        traces.append(Line(list(errors), list(errors.values()), *look, symbol=symbol))
    panel = Panel(traces, Axis("measurements $N$"), Axis("recovery error at the end", "log"))
    return Figure([[None, panel, None]], widths=(1, 3, 1))


@fig17.figure
def fig17_figure(e):
    shown, floor = [], Axis("relative error", "log", low=1e-5)
    for depth in e.settings.depths:
        runs = {f"N = {n}": run for n, run in runs_of(e, depth).items()}
        flows = flows_of(e, depth)
        title = f"L = {depth}, no penalty" if depth < 4 else f"L = {depth}: only the flow moves"
        shown.append(Panel([*panels.family(runs), *flows], panels.STEPS, floor, title=title, legend=None))
    shown.append(panels.errors(e[LARGE_SHALLOW], title=LARGE_SHALLOW))
    shown.append(panels.errors(e[LARGE], title=LARGE, legend=None))
    key = panels.family_key([f"N = {n}" for n in e.settings.counts], "train")
    return Figure(panels.in_rows(shown, 3), key=[*key, Line([], [], "flow, for more steps", "grey", "beside")])


def flows_of(e, depth):
    """The recovery errors of the flows that go on where the steps of a depth end."""
    s, traces = e.settings, []
    for n in s.long_counts if depth in (3, 4) else ():
        flow, shade = e[LONG.format(depth=depth, measurements=n)], panels.shade_of(s.counts.index(n), len(s.counts))
        shown = flow["time"] > 0
        steps, name = flow["time"][shown] / s.learning_rate, f"N = {n}, flow"
        traces.append(Line(steps, flow["test_error"][shown], name=name, marks="beside", shade=shade))
    return traces


@fig18.figure
def fig18_figure(e):
    families = {f"L = {depth}": ends_and_times(list(runs_of(e, depth).values())) for depth in e.settings.depths}
    shown = panels.against_count(e.settings.counts, families, legend=None)
    return Figure(panels.in_rows(shown, 2), key=panels.key_of(shown[0]))
