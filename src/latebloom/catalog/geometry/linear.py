"""Linear models of one sample: two weights grok addition (Figure 1), three weights slide along a plane (Figure 2)."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings
from latebloom.catalog.bounds import at_least, at_most, each, holds, within
from latebloom.catalog.controls import Set
from latebloom.catalog.geometry.common import (
    FREE_NOTE,
    SCALE_NOTE,
    ToySettings,
    bend,
    junction,
    linear_flow,
    memorised_at,
    settled,
    starts_of,
)
from latebloom.catalog.geometry.controls import UNEVEN
from latebloom.catalog.measures import over
from latebloom.core.fields import count, number, numbers
from latebloom.figures import Axis, Figure, Line, Note, Panel, landscape

RUN, FLOW = "λ={:g}", "flow, λ={:g}"
SUM, PLANE = 2.0, 3.0  # what the two and the three weights have to add up to
MARGIN = 0.4  # of the landscape around start and zero-loss line


class AdditionSettings(Settings):
    """Two weights, `w1 x1 + w2 x2`, on the sample 1 + 1 = 2."""

    start: tuple[float, ...] = numbers(default=(-1.0, 1.0), note="w1, w2 of w1 x1 + w2 x2, whose sample is (1, 1) -> 2")
    decays: tuple[float, ...] = numbers(default=(0.01, 0.1, 0.2), above=0, note="λ, which multiplies |w|²")
    learning_rate: float = number(default=0.1, above=0, note="η")
    steps: int = count(default=10_000)
    memorised_at: float = number(default=0.3, above=0, note="relative error of t1")
    generalised_at: float = number(
        default=0.3, above=0, note="relative error of t2: test loss 0.18, a tenth of its plateau, above every floor"
    )
    flow_tolerance: float = number(default=1e-6, above=0, note="relative, per step of the flow")


class PlaneSettings(ToySettings):
    """Three weights, `w1 x1 + w2 x2 + w3 x3`, on the sample (1, 1, 1) -> 3."""

    starts: tuple[float, ...] = numbers(
        default=(-2.0, 2.2, 0.4, 2.6, -1.2, -1.4, -0.6, -1.8, 2.2, 3.0, 2.2, 0.4),
        note="w1, w2, w3 of each start of w1 x1 + w2 x2 + w3 x3, whose sample is (1, 1, 1) -> 3",
    )


fig1 = Entry(
    "geometry/fig1",
    "Two weights grok addition from 1 + 1 = 2: the path, the train and the test loss",
    "Memorisation in ten steps, then a slide along the zero-loss line to (1, 1) at rate 2λ.",
    source="Section 3.1, Figure 1",
    seconds=11,
    settings=AdditionSettings(),
    notes=(
        SCALE_NOTE,
        "The learning rate is not printed; 0.1 fits the ten steps of the text.",
        "The test loss is the expectation over the Gaussian inputs, not the mean of 100 draws: |w - (1, 1)|².",
    ),
)
fig2 = Entry(
    "geometry/fig2",
    "Three weights, one sample: four paths to the zero-loss plane and straight along it to (1, 1, 1)",
    "From every start: first to the plane, then straight to its point of least norm.",
    source="Section 3.2, Figure 2",
    seconds=6,
    settings=PlaneSettings(),
    notes=(SCALE_NOTE, FREE_NOTE),
)


@fig1.runs
def fig1_runs(s):
    root = np.sqrt(2)
    problem = lb.problems.LinearRegression([[root, root]], [root * SUM], truth=[1.0, 1.0], init=s.start)
    shared = {"probes": [lb.probes.Trajectory()], "memorised_at": s.memorised_at, "generalised_at": s.generalised_at}
    steps = {
        RUN.format(decay): lb.TrainJob(
            problem, lb.GradientDescent(s.learning_rate), lb.L2(2 * decay), steps=s.steps, **shared
        )
        for decay in s.decays
    }
    until, least = s.learning_rate * s.steps, min(s.decays)
    tight = {"rtol": s.flow_tolerance, "atol": 1e-9, "records_per_decade": 20}
    flow = lb.FlowJob(problem, lb.L2(2 * least), time=until, solver="rkc", **shared, **tight)
    return steps | {FLOW.format(least): flow}


def by_decay(e):
    """The runs by λ, in its order."""
    return {decay: e[RUN.format(decay)] for decay in sorted(e.settings.decays)}


def slowest(e):
    """The run with the smallest λ."""
    return e[RUN.format(min(e.settings.decays))]


def flow_of(e):
    """The flow, with the smallest λ."""
    return e[FLOW.format(min(e.settings.decays))]


def test_loss(test_error):
    """The mean square over Gaussian inputs, `|w - (1, 1)|²`."""
    return 2 * test_error**2


def floor_of(decay):
    """The training loss at the end: the minimiser of `(w1 + w2 - 2)² + λ|w|²` is `2/(2 + λ) · (1, 1)`."""
    return (2 * decay / (2 + decay)) ** 2


def iteration(e, decay):
    """The closed form of a run."""
    return lb.theory.L2Iteration(e.problem(RUN.format(decay)), e.settings.learning_rate, 2 * decay)


@fig1.claim(at_most(1e-2), "training loss after 10 steps, from 4, for the smallest λ,")
def memorises_in_ten_steps(e):
    """Training loss becomes very low after just 10 steps."""
    run = slowest(e)
    return float(run["train_loss"][run["step"] == 10][0])


@fig1.claim(
    at_most(0.05), "smallest distance of the path to (0, 2), for the smallest λ,", source="Section 3.1, Interpretation"
)
def first_to_the_memorising_point(e):
    """In the first phase the model learns (w1, w2) ≈ (0, 2)."""
    return float(np.linalg.norm(slowest(e)["parameters"] - [0.0, 2.0], axis=1).min())


@fig1.claim(within(100, 1000), "steps to a tenth of the plateau, for the smallest λ,")
def test_takes_hundreds(e):
    """Test loss takes a few hundred steps."""
    return slowest(e).t2


@fig1.claim(holds("steps to a tenth of the plateau fall with λ"))
def smaller_decay_later(e):
    """A smaller λ takes longer to generalise."""
    steps = [run.t2 for run in by_decay(e).values()]
    return steps, None not in steps and steps == sorted(steps, reverse=True)


@fig1.claim(holds("training loss at the end rises with λ, by a factor above {factor:g}", factor=100))
def smaller_decay_lower(e, factor):
    """A smaller λ achieves a lower loss."""
    losses = [run.final["train_loss"] for run in by_decay(e).values()]
    return losses, losses == sorted(losses) and losses[0] < losses[-1] / factor


@fig1.claim(
    each(at_most(1e-3)),
    "smallest training loss of a step, from 4, for each of the three λ,",
    source="Caption of Figure 1",
    fails="0.009 and 0.033 for the larger two: weight decay holds them off the set by λ",
    control=Set(decays=(0.005, 0.01, 0.02)),
)
def zero_loss_as_printed(e):
    """All three runs quickly achieve zero loss."""
    return {f"λ={decay:g}": float(run["train_loss"].min()) for decay, run in by_decay(e).items()}


@fig1.claim(
    each(within(0.95, 1.05)),
    "rate of log|w1 - w2| after memorisation over 2λ (steps of 0.1: 1.02 for the largest λ),",
    source="Caption of Figure 1; Section 3.1, Interpretation",
)
def driven_by_weight_decay(e):
    """The second phase is entirely driven by weight decay: along the line the motion is that of the norm alone."""
    rates = {}
    for decay, run in by_decay(e).items():
        gap = np.abs(run["parameters"][:, 0] - run["parameters"][:, 1])
        slide = (np.arange(len(gap)) >= junction(run)) & (gap > 1e-6)
        rates[f"λ={decay:g}"] = -float(np.polyfit(run["slow_time"][slide], np.log(gap[slide]), 1)[0])
    return rates


@fig1.claim(
    at_most(0.1),
    "largest gap of a weight to 1 at the end, over all λ (weight decay leaves λ/(2 + λ)),",
    source="Section 3.1, Interpretation",
)
def ends_at_ones(e):
    """The second phase eventually reaches (w1, w2) ≈ (1, 1)."""
    return max(float(np.abs(run["parameters"][-1] - 1).max()) for run in by_decay(e).values())


@fig1.claim(at_most(1e-6), "largest relative gap over all λ", source="Equation 2, minimised", kind="corrected")
def floor(e):
    """Corrected: the training loss ends at (2λ/(2 + λ))², which is 0.033 for λ = 0.2."""
    return max(abs(run.final["train_loss"] / floor_of(decay) - 1) for decay, run in by_decay(e).items())


@fig1.claim(
    at_most(1e-10), "largest gap of a weight", source="Linear recurrence, by the SVD of the sample", kind="ours"
)
def steps_equal_closed_form(e):
    """The iteration is its closed form at every recorded step."""
    gaps = [np.abs(run["parameters"] - iteration(e, decay).at(run["step"])).max() for decay, run in by_decay(e).items()]
    return float(max(gaps))


@fig1.claim(
    at_most(1e-4), "largest gap of a weight (tolerance 1e-6 per step)", source="Equation 4, solved", kind="ours"
)
def flow_equals_closed_form(e):
    """The gradient flow is its closed form at every recorded time."""
    run = flow_of(e)
    return float(
        np.abs(run["parameters"] - linear_flow(e.settings.start, SUM, min(e.settings.decays), run["time"])).max()
    )


@fig1.claim(
    within(0.99, 1.01),
    "time of generalisation over learning rate times steps, for the smallest λ,",
    source="Assumption 4.5",
    kind="premise",
)
def flow_is_the_limit(e):
    """The flow is a good model of gradient descent."""
    steps = slowest(e).t2
    return over(flow_of(e).t2, steps and e.settings.learning_rate * steps)


def height_axis(traces, label, low, high):
    """A logarithmic axis from `low` to `high`, or to where the traces reach beyond."""
    return Axis(label, "log", low=low, high=max(high, 1.5 * max(float(trace.y.max()) for trace in traces)))


@fig1.figure
def fig1_figure(e):
    s, points = e.settings, np.concatenate([run["parameters"] for run in by_decay(e).values()])
    beyond = max(0.0, float(points.max()) - SUM) + MARGIN
    low, high = min(0.0, float(points.min())) - MARGIN, SUM + beyond
    unit = (high - low) / 3.8  # what 1 is in the landscape of the default start
    paths, train, test = [], [], []
    for place, (decay, run) in enumerate(by_decay(e).items()):
        role, name, steps, exact = f"cycle {place}", rf"$\lambda$ = {decay:g}", run["step"], iteration(e, decay)
        near = int(np.argmax(run["train_loss"] <= max(1e-2, 1.2 * floor_of(decay))))
        paths += [
            *landscape.path(run["parameters"], near, role, name),
            landscape.predicted(exact.at(steps), f"{name}, closed form"),
        ]
        for panel, measured, predicted in (
            (train, run["train_loss"], (SUM * exact.train_error(steps)) ** 2),
            (test, test_loss(run["test_error"]), test_loss(exact.test_error(steps))),
        ):
            panel += [Line(steps, measured, name, role, width=1.8)]
            panel += [landscape.predicted(np.column_stack([steps, predicted]), "", name=f"{name}, closed form")]
    traces = [
        *landscape.zero_set([np.array([[-beyond, high], [high, -beyond]])]),
        *paths,
        landscape.least_norm((1.0, 1.0)),
        Note("1. memorise", s.start[0] - 0.25 * unit, s.start[1] + 0.9 * unit),
        Note("2. slide along zero loss", 0.5 - 0.08 * unit, 1.5 + 0.25 * unit),
    ]
    path = landscape.flat_panel(traces, lambda first, second: (first + second - SUM) ** 2, low=low, high=high)
    clock = Axis("step $t$", "log", low=1)
    losses = [
        Panel(panel, clock, height_axis(panel, label, 2e-5, 8.0), legend=legend)
        for panel, label, legend in ((train, "train loss", None), (test, "test loss", "lower left"))
    ]
    key = landscape.key("closed form")
    return Figure([[path, losses[0]], [path, losses[1]]], widths=(1.25, 1), key=key)


@fig2.runs
def fig2_runs(s):
    return {f"from {start}": s.job("plane", start) for start in starts_of(s.starts, 3)}


def in_plane(points):
    """The part of each row along the plane, `w - mean(w)`."""
    return points - points.mean(axis=1, keepdims=True)


@fig2.claim(at_most(0.05), "latest slow time 2λt at which a start has memorised (relative error 0.03)")
def first_to_the_plane(e):
    """For all initialisations the model first converges to the zero-loss plane."""
    return memorised_at(e.runs)


@fig2.claim(
    at_most(5e-3),
    "distance from the chord over its length, from slow time 0.05 after memorisation, on every path,",
    control=UNEVEN,
)
def straight_on_the_plane(e):
    """Then it moves directly towards the solution of minimum norm."""
    return max(bend(run["parameters"][settled(run) :]) for run in e.runs.values())


@fig2.claim(
    at_least(0.1),
    "distance from the chord over its length, of every whole path,",
    kind="ours",
)
def two_phases(e):
    """It is the path on the plane that is straight, not the whole path: memorising is another direction."""
    return min(bend(run["parameters"]) for run in e.runs.values())


@fig2.claim(
    at_most(0.01),
    "relative distance at slow time 8 (weight decay leaves λ/(3 + λ) = 0.0033)",
    source="Section 3.2",
)
def reaches_ones(e):
    """The model slowly reaches the generalising solution (1, 1, 1)."""
    return max(run.final["test_error"] for run in e.runs.values())


@fig2.claim(
    at_most(1e-3),
    "relative gap up to slow time 4",
    source="Equation 4, solved",
    kind="ours",
)
def slow_rate(e):
    """The part along the plane shrinks as e^{-2λt} from the first step on."""
    gaps = []
    for run in e.runs.values():
        size = np.linalg.norm(in_plane(run["parameters"]), axis=1)
        ratio = size / (size[0] * np.exp(-run["slow_time"])) - 1
        gaps.append(np.abs(ratio[run["slow_time"] <= 4]).max())
    return float(max(gaps))


def exact_flow(e, run):
    """The flow from a run's start at its recorded times."""
    return linear_flow(run["parameters"][0], PLANE, e.settings.decay, run["time"])


@fig2.claim(
    at_most(0.1),
    "distance of a weight from the exact flow (steps of 0.01 at curvature 6, while memorising)",
    source="Equation 4, solved",
    kind="ours",
)
def closed_form(e):
    """The path is that of the flow."""
    return float(max(np.abs(run["parameters"] - exact_flow(e, run)).max() for run in e.runs.values()))


@fig2.figure
def fig2_figure(e):
    s = e.settings
    reach = 3.6
    paths, train, test = [], [], []
    for place, (name, run) in enumerate(e.runs.items()):
        points, times, exact = run["parameters"], run["time"], exact_flow(e, run)
        gap, distance = np.abs((exact.sum(axis=1) - PLANE) / PLANE), np.linalg.norm(exact - 1, axis=1) / np.sqrt(3)
        reach = max(reach, float(np.linalg.norm(in_plane(points[:1]))))
        paths += landscape.path(points, junction(run), f"cycle {place}", name)
        paths.append(landscape.predicted(exact, f"{name}, exact flow"))
        for panel, measured, predicted in ((train, run["train_error"], gap), (test, run["test_error"], distance)):
            panel.append(Line(times, measured, name, f"cycle {place}", width=1.8))
            panel.append(landscape.predicted(np.column_stack([times, predicted]), f"{name}, exact flow"))
    traces = [landscape.plane(PLANE, reach), *paths, landscape.least_norm((1.0, 1.0, 1.0))]
    space = landscape.space_panel(traces, view=(22, 22))
    errors = [
        Panel(panel, Axis("time", "log", low=s.learning_rate), height_axis(panel, label, 2e-3, 4.0), legend=None)
        for panel, label in ((train, "train error"), (test, "test error"))
    ]
    key = landscape.key("exact flow", in_space=True)
    return Figure([[space, errors[0]], [space, errors[1]]], widths=(1.75, 1), key=key)
