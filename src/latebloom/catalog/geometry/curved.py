"""Zero-loss sets that are curved, singular, or met by kinks (Figure 3)."""

from __future__ import annotations

import numpy as np

from latebloom.catalog.base import Entry
from latebloom.catalog.bounds import at_least, at_most, within
from latebloom.catalog.controls import Set
from latebloom.catalog.geometry.common import (
    FREE_NOTE,
    SCALE_NOTE,
    ToySettings,
    junction,
    memorised_at,
    settled,
    starts_of,
)
from latebloom.catalog.geometry.phases import SLOPE, fast_path, kink_time
from latebloom.core.fields import numbers
from latebloom.figures import Figure, landscape

TITLES = {
    "curved": "curved:  $w_1 w_2 = 1$",
    "singular": "singular:  $w_1 w_2 = 0$",
    "leaky_sum": r"leaky ReLU:  $\varphi(w_1 + w_2) = 2$",
    "leaky_units": r"leaky ReLU units:  $\varphi(w_1) + \varphi(w_2) = 2$",
}
RUN = "{kind} from {start}"


class CurvedSettings(ToySettings):
    """Four models in two weights, five starts each."""

    curved_starts: tuple[float, ...] = numbers(
        default=(0.2, 2.5, 2.7, 1.2, 2.5, -1.4, -2.6, 0.9, -0.9, -2.3), note="w1, w2 of each start of w1 w2 -> 1"
    )
    singular_starts: tuple[float, ...] = numbers(
        default=(1.1, 2.7, 2.6, 1.3, -2.4, 1.7, -1.2, -2.4, 1.9, -2.6), note="the same of w1 w2 -> 0"
    )
    leaky_sum_starts: tuple[float, ...] = numbers(
        default=(-1.0, 1.0, 0.3, -2.3, -2.5, 0.9, 2.7, 1.9, 2.3, -1.3), note="the same of φ(w1 + w2) -> 2"
    )
    leaky_units_starts: tuple[float, ...] = numbers(
        default=(-2.2, 0.7, -1.6, -0.9, 0.5, -1.9, 2.8, 1.7, 0.1, 0.6), note="the same of φ(w1) + φ(w2) -> 2"
    )

    def starts(self, kind):
        """The starts of one model."""
        return starts_of(getattr(self, f"{kind}_starts"), 2)


fig3 = Entry(
    "geometry/fig3",
    "Curved, singular and leaky-ReLU zero-loss sets: paths reach the set and slide to its least norm",
    "Paths reach the zero-loss set and slide to its least norm, through kinks and into singular points.",
    source="Section 3.3, Figure 3",
    seconds=13,
    settings=CurvedSettings(),
    notes=(
        SCALE_NOTE,
        FREE_NOTE,
        "The models are not printed either: w1 w2 of one sample is the least two-layer linear network, with target 1 "
        "(curved) or 0 (singular at the origin, as the caption says).",
        "A single layer of leaky ReLU is read in two ways: one unit, φ(w1 + w2), whose kink is off the zero-loss set, "
        "and a unit per weight, φ(w1) + φ(w2), whose kinks are on it.",
    ),
)


@fig3.runs
def fig3_runs(s):
    return {RUN.format(kind=kind, start=start): s.job(kind, start) for kind in TITLES for start in s.starts(kind)}


def runs_of(e, kind):
    """The runs of one model by their start."""
    return {start: e[RUN.format(kind=kind, start=start)] for start in e.settings.starts(kind)}


@fig3.claim(at_most(0.2), "latest slow time 2λt at which one of all starts has memorised (error 0.03)")
def first_to_the_set(e):
    """Training first reaches the zero-loss set, also where it is curved, singular or not smooth."""
    return memorised_at(e.runs)


@fig3.claim(
    at_most(0.2),
    "distance of every path to the predicted point (weights of up to 2.6 decay for up to 2λt = 0.08 meanwhile)",
    source="Section 3.3, by the closed forms of that flow",
    kind="ours",
)
def lands_where_the_flow_does(e):
    """It lands where the flow without weight decay would, up to O(λ)."""
    gaps = [
        np.linalg.norm(run["parameters"] - fast_path(kind, start)[-1], axis=1).min()
        for kind in TITLES
        for start, run in runs_of(e, kind).items()
    ]
    return float(max(gaps))


@fig3.claim(
    at_most(0.031), "training error from memorisation (0.03) to the end, on every path,", source="Section 4.3, Figure 3"
)
def stays_on_the_set(e):
    """From there on it stays on the set."""
    return max(float(run["train_error"][junction(run) :].max()) for run in e.runs.values())


@fig3.claim(at_most(1e-9), "rise of the norm between two records, from slow time 0.05 after memorisation on,")
def norm_falls(e):
    """It follows norm minimisation."""
    return float(max(np.diff(run["l2_norm"][settled(run) :]).max() for run in e.runs.values()))


@fig3.claim(at_most(0.01), "test error at slow time 8 (weight decay leaves λ/2 of it), on every path,")
def ends_at_least_norm(e):
    """All paths end at the point of least norm on the set."""
    return max(run.final["test_error"] for run in e.runs.values())


@fig3.claim(
    at_most(0.15),
    "relative gap up to 2λt = 4 (steps of 0.01: exact in the limit of small ones)",
    source="Equation 4 for w1 w2 = y: the loss conserves it",
    kind="ours",
)
def difference_of_squares(e):
    """On the curved and the singular set w1² - w2² decays as e^{-4λt}, through both phases."""
    gaps = []
    for run in (*runs_of(e, "curved").values(), *runs_of(e, "singular").values()):
        gap = run["parameters"][:, 0] ** 2 - run["parameters"][:, 1] ** 2
        ratio = gap / (gap[0] * np.exp(-2 * run["slow_time"])) - 1
        gaps.append(np.abs(ratio[run["slow_time"] <= 4]).max())
    return float(max(gaps))


@fig3.claim(
    at_most(0.0),
    "share of starts that end within 0.01 of the singular point",
    source="Section 3.3 and Assumption 4.7, on Figure 3 (center)",
    fails="all do, it is the point of least norm",
)
def null_set_as_printed(e):
    """The singularities form a null set: the probability of encountering one during training is exactly zero."""
    ends = [run["parameters"][-1] for run in runs_of(e, "singular").values()]
    return float(np.mean([np.linalg.norm(end) <= 0.01 for end in ends]))


@fig3.claim(
    at_least(1.0),
    "distance to the singular point at memorisation, from every start,",
    source="Figure 3 (center): only |w1| = |w2| leads to the origin without weight decay",
    kind="corrected",
    control=Set(singular_starts=(1.5, 1.5)),
)
def null_set_while_memorising(e):
    """Corrected, first half: memorisation lands away from the singularity, except from a null set of starts."""
    return min(float(np.linalg.norm(run["parameters"][junction(run)])) for run in runs_of(e, "singular").values())


@fig3.claim(
    within(0.99, 1.01),
    "rate of log|w| in slow time over its last half, the one furthest from 1,",
    source="Figure 3 (center): the least norm on w1 w2 = 0 is at the crossing",
    kind="corrected",
)
def slides_into_the_singularity(e):
    """Corrected, second half: the slide then ends at the singularity from every start, as e^{-2λt}."""
    rates = []
    for run in runs_of(e, "singular").values():
        late = run["slow_time"] >= 4
        rates.append(-np.polyfit(run["slow_time"][late], np.log(run["l2_norm"][late]), 1)[0])
    return float(max(rates, key=lambda rate: abs(rate - 1)))


def outer(e):
    """The runs that land on an outer branch of the leaky units, with the point that is predicted."""
    landings = {start: fast_path("leaky_units", start)[-1] for start in e.settings.starts("leaky_units")}
    runs = runs_of(e, "leaky_units")
    return [(runs[start], landing) for start, landing in landings.items() if min(landing) < 0]


def passage(run):
    """The slow time at which a path that has memorised passes into w1, w2 > 0, and its distance to the kink there."""
    first = junction(run)
    slide, times = run["parameters"][first:], run["slow_time"][first:]
    low = slide.min(axis=1)
    row = int(np.argmax(low > 0))
    if low[0] >= 0 or low[row] <= 0:
        return np.nan, np.inf
    share = -low[row - 1] / (low[row] - low[row - 1])
    point = slide[row - 1] + share * (slide[row] - slide[row - 1])
    kink = np.where(point == point.max(), 2.0, 0.0)
    return float(times[row - 1] + share * (times[row] - times[row - 1])), float(np.linalg.norm(point - kink))


@fig3.claim(
    at_most(0.0),
    "share of all recorded points of the leaky models after the start that lie on a kink of the loss (within 1e-12)",
    source="Section 3.3, on Figure 3 (right)",
)
def kinks_are_a_null_set(e):
    """The points at which the loss is not smooth form a null set: no point of a path is one, also from a start on a
    kink, (-1, 1)."""
    sums = [np.abs(run["parameters"][1:].sum(axis=1)) for run in runs_of(e, "leaky_sum").values()]
    units = [np.abs(run["parameters"][1:]).min(axis=1) for run in runs_of(e, "leaky_units").values()]
    return float(np.mean(np.concatenate(sums + units) <= 1e-12))


@fig3.claim(
    at_least(1.0),
    "share of the paths landing on an outer branch that slide through the kink, within 0.05,",
    source="Section 3.3, on Figure 3 (right)",
    kind="ours",
)
def kinks_are_passed(e):
    """Null set or not, every path that lands on an outer branch slides through the kink at its end."""
    through = [passage(run)[1] <= 0.05 for run, _ in outer(e)]
    return float(np.mean(through)) if through else None


@fig3.claim(
    within(0.9, 1.1),
    "measured over predicted slow time, the one furthest from 1,",
    source="Slow flow on w1/10 + w2 = 2, solved",
    kind="ours",
)
def kink_after_finite_time(e):
    """A slide along an outer branch passes the kink after slow time log(1 + |w1|/0.198)."""
    ratios = [passage(run)[0] / kink_time(landing) for run, landing in outer(e)]
    return float(max(ratios, key=lambda ratio: abs(ratio - 1)))


def leaky(x):
    """The leaky ReLU φ."""
    return np.where(x > 0, x, SLOPE * x)


LOSSES = {
    "curved": lambda first, second: (first * second - 1) ** 2,
    "singular": lambda first, second: (first * second) ** 2,
    "leaky_sum": lambda first, second: (leaky(first + second) - 2) ** 2,
    "leaky_units": lambda first, second: (leaky(first) + leaky(second) - 2) ** 2,
}


@fig3.figure
def fig3_figure(e):
    panels = []
    for kind, title in TITLES.items():
        runs = runs_of(e, kind)
        problem = e.problem(RUN.format(kind=kind, start=next(iter(runs))))
        reach = max(3.0, float(np.abs(list(runs)).max()) + 0.2)
        traces = landscape.zero_set(problem.zero_loss_lines(reach))
        for place, (start, run) in enumerate(runs.items()):
            traces += landscape.path(run["parameters"], junction(run), f"cycle {place}", f"from {start}")
            traces.append(landscape.predicted(fast_path(kind, start), f"from {start}, flow without decay"))
        traces.append(landscape.least_norm(problem.least_norm))
        panels.append(landscape.flat_panel(traces, LOSSES[kind], low=-reach, high=reach, title=title))
    return Figure([panels[:2], panels[2:]], height=3.45, key=landscape.key("flow without decay"))
