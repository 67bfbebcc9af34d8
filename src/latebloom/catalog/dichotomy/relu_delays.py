"""What delays the grokking of the two-layer ReLU network: initial scale (Figure 2b) and weight decay (Figure 2c)."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.bounds import at_most, holds, within
from latebloom.catalog.controls import Instead, OtherBound, Set
from latebloom.catalog.dichotomy.margins import at
from latebloom.catalog.dichotomy.relu_net import (
    NOTES,
    PAPERS,
    START_NOTE,
    DecaySettings,
    NetSettings,
    accuracy,
    accuracy_panel,
    half_way,
    half_way_step,
)
from latebloom.catalog.dichotomy.time_law import line_through
from latebloom.catalog.measures import log_slope
from latebloom.core.fields import count, numbers
from latebloom.figures import Axis, Figure, Line, Panel, panels


class Fig2bSettings(DecaySettings):
    init_scales: tuple[float, ...] = numbers(
        default=(1.0, 10.0, 100.0), above=0, note="α, times the first layer of He et al."
    )
    max_gradients: int = count(default=60_000, note="at which a run is given up")


class Fig2cSettings(NetSettings):
    weight_decays: tuple[float, ...] = numbers(
        default=(1e-4, 3e-4, 1e-3, 1e-2), above=0, note="λ, in order; the last is too large to train with"
    )


fig2b = Entry(
    "dichotomy/fig2b",
    "Modular addition with a ReLU network: larger initial scales delay the transition",
    "From α = 1 to 100 the transition moves from λt = 2.3 to 6.3; from 10 to 100 by log 10 within 3 %.",
    source="Section 2, Figure 2b",
    seconds=25,
    settings=Fig2bSettings(),
    full=PAPERS | {"weight_decay": 1e-4},
    notes=(
        *NOTES,
        "α multiplies all weights at the start; with a second layer of zero that is the first.",
        "The loss is the mean cross-entropy. Second layer and bias start at zero, so that the outputs do, too; runs "
        "end at λt = log α plus the slow time that is set.",
        "--full has not been run yet; some 5e4 gradients of 60 ms would be 50 min.",
    ),
)
fig2c = Entry(
    "dichotomy/fig2c",
    "Modular addition with a ReLU network: less weight decay is later, too much collapses",
    "The transition comes later with less weight decay, nearly as 1/λ; with λ = 1e-2 training collapses.",
    source="Section 2, Figure 2c",
    seconds=25,
    settings=Fig2cSettings(),
    full=PAPERS | {"weight_decays": (3.3e-5, 1e-4, 3.3e-4, 3.3e-3)},
    notes=(
        *NOTES,
        "Where training fails at the reduced size, one draw: λ = 5e-3 fits all pairs, 7e-3 half, 1e-2 a twentieth.",
        START_NOTE,
        "The paper's weight decays are not printed. --full has not been run yet: its largest λ is a guess.",
    ),
)


@fig2b.runs
def fig2b_runs(s):
    def job(init_scale):
        problem = s.problem(init_scale=init_scale, second="zero")
        return s.job(problem, s.weight_decay, float(np.log(init_scale)) + s.slow_time)

    return lb.Grid(job, {"init_scale": s.init_scales}, name="α={init_scale:g}")


@fig2c.runs
def fig2c_runs(s):
    problem = s.problem()
    return lb.Grid(
        lambda weight_decay: s.job(problem, weight_decay), {"weight_decay": s.weight_decays}, name="λ={weight_decay:g}"
    )


def transitions(e):
    """λt at which half of the test pairs are right, by α; NaN where that is not reached."""
    return np.array([half_way(run) for run in e.runs.values()], dtype=float)


def law(e):
    """The line through them in log α; None where there is none."""
    return line_through(e.settings.init_scales, transitions(e))


@fig2b.claim(
    holds("λt at which half of the test pairs are right grows by more than {by:g} from each α to the next", by=0.5)
)
def larger_scale_delays(e, by):
    """The sharp transition in test accuracy is delayed when α increases from 1 to 100."""
    times = transitions(e)
    return times.tolist(), bool(np.diff(times).min() > by)


@fig2b.claim(at_most(0.3), "largest λt over α until all training pairs are right", source="Figure 2b")
def fits_at_once(e):
    """Training accuracy reaches 100 % early for every scale."""
    times = [run.t1 for run in e.runs.values()]
    return None if None in times else max(time * e.settings.weight_decay for time in times)


@fig2b.claim(
    within(0.97, 1.03),
    "slope over α = 1, 10, 100",
    source="Theorems 3.4 and 3.5, read from α = 1 on",
    outside="α = 1 is not large and ReLU is not C² (Assumption 3.1): at α = 1 λt is above the line through the others",
    control=Set(init_scales=(10.0, 100.0)),
)
def slope_one_from_one(e):
    """The transition is at (1/λ) log α: slope 1 of λt in log α."""
    found = law(e)
    return None if found is None else found.slope


@fig2b.claim(
    within(0.95, 1.07),
    "slope of λt in log α from α = 10 to 100",
    source="Theorems 3.4 and 3.5, on a net that they exclude",
    kind="ours",
)
def slope_one(e):
    """For large α the slope is 1 with ReLU, too."""
    times, scales = transitions(e), e.settings.init_scales
    return float(times[-1] - times[-2]) / float(np.log(scales[-1] / scales[-2]))


@fig2b.claim(
    within(0.95, 1.05),
    "|θ(t)| / e^{-λt} |θ(0)| at λt = log(α)/2, α = 100,",
    source="Section 3.2.1, the insight of the proof, on a net that it excludes",
    kind="ours",
)
def weights_only_shrink(e):
    """In the kernel phase the norm of the weights is e^{-λt} times that of their start with ReLU, too."""
    run, slow = list(e.runs.values())[-1], float(np.log(e.settings.init_scales[-1])) / 2
    return at(run, run["l2_norm"], slow) / float(run["l2_norm"][0]) * float(np.exp(slow))


@fig2b.claim(
    at_most(0.05), "share of wrong test pairs at the best time, the largest over α,", source="Figure 2b", rate=0.8
)
def all_generalise(e):
    """For every scale the test accuracy ends near 100 %."""
    return max(float(run["test_error"].min()) for run in e.runs.values())


def sound(e):
    """The weight decays with which the network can be trained, and their runs."""
    return e.settings.weight_decays[:-1], list(e.runs.values())[:-1]


def steps(e):
    """Steps to half of the test pairs for each of these; NaN where that is not reached."""
    return np.array([half_way_step(run) for run in sound(e)[1]], dtype=float)


@fig2c.claim(holds("steps to half of the test pairs fall with λ, over a factor 10 of λ"))
def less_weight_decay_is_later(e):
    """Increasing weight decay makes the transition happen earlier."""
    return steps(e).tolist(), bool(np.diff(steps(e)).max() < 0)


SLOPE, SLOWER = "slope of the logarithm of the steps in log λ", within(-0.9, -0.6)


def slope(e):
    """Of the logarithm of the steps in that of λ."""
    return log_slope(sound(e)[0], steps(e)) if np.isfinite(steps(e)).all() else None


@fig2c.claim(
    within(-1.1, -0.9),
    SLOPE,
    source="Theorems 3.4 and 3.5",
    outside="ReLU is not C² (Assumption 3.1), outputs are not zero at the start (3.2), and α = 1: λt grows with λ",
    control=OtherBound(SLOWER),
)
def inverse_law(e):
    """The transition is at a time proportional to 1/λ."""
    return slope(e)


@fig2c.claim(SLOWER, SLOPE, source="ours", kind="ours")
def nearly_inverse(e):
    """The time falls with λ somewhat slower than 1/λ: in slow time λt, more weight decay is later, not sooner."""
    return slope(e)


@fig2c.claim(
    within(10**6.5, 10**7.5),
    "steps to half of the test pairs at the printed λ",
    source="Appendix B.1, on Figure 2",
    control=Instead({"λ=0.0001": "λ=0.001"}),
)
def ten_million_steps(e):
    """Training with weight decay leads to a sharp transition when the number of steps is about 10^7."""
    return half_way_step(e["λ=0.0001"])


@fig2c.claim(
    holds(
        "with the largest λ the training accuracy ends at most at {most:g} and below {share:g} of its best",
        most=0.1, share=0.6,
    )
)  # fmt: skip
def collapses(e, most, share):
    """When weight decay surpasses a threshold, the training accuracy collapses eventually."""
    error = list(e.runs.values())[-1]["train_error"]
    best, last = 1 - float(error.min()), 1 - float(error[-1])
    return [best, last], last <= most and last < share * best


@fig2c.claim(at_most(0), "share of wrong training pairs at the end, the largest of the others,", source="Figure 2c")
def trains_below_the_threshold(e):
    """Below it, all training pairs are right at the end."""
    return max(run.final["train_error"] for run in sound(e)[1])


def family(s, runs, **panel):
    """Test accuracies of several runs, dark to light, the training accuracies behind them."""
    traces = []
    for place, (label, run) in enumerate(runs.items()):
        shade = panels.shade_of(place, len(runs))
        traces.append(accuracy(run, "test_error", label, shade=shade))
        traces.append(accuracy(run, "train_error", name=f"{label}, train", marks="behind", shade=shade))
    return accuracy_panel(s, traces, 1e2, **panel)


@fig2b.figure
def fig2b_figure(e):
    s, found, times = e.settings, law(e), transitions(e)
    named = zip(s.init_scales, e.runs.values(), strict=True)
    runs = {rf"$\alpha={scale:g}$": run for scale, run in named}
    curves = family(s, runs, legend_title="test (thin: train)")
    x = np.geomspace(s.init_scales[0], s.init_scales[-1], 50)
    traces = [Line(s.init_scales, times, "half of the test pairs right", "train", "points")]
    if found is not None:
        fitted = found.slope * np.log(x) + found.offset
        traces.append(Line(x, fitted, f"fit, slope {found.slope:.2f}", "grey", "theory"))
    reasons = panels.withheld(e.runs.values())
    if not reasons:
        line = times[-1] + np.log(x / s.init_scales[-1])
        traces.append(Line(x, line, r"slope 1: $\log\alpha + c$", "theory"))
    y = Axis(r"slow time $\lambda t$ of the transition")
    right = Panel([*traces, *reasons], Axis(r"initial scale $\alpha$", "log"), y, legend="upper left")
    return Figure([[curves, right]])


@fig2c.figure
def fig2c_figure(e):
    s, found = e.settings, steps(e)
    decays, runs = np.array(sound(e)[0]), list(e.runs.values())
    x = Axis(r"weight decay $\lambda$", "log")
    named = {rf"$\lambda$ = {decay:.0e}": run for decay, run in zip(s.weight_decays, runs, strict=True)}
    curves = family(s, named, legend=None)
    fitted = "" if (value := slope(e)) is None else f": slope {value:.2f}"
    traces = [Line(decays, found, f"half of the test pairs right{fitted}", "train", "points")]
    reasons = panels.withheld(sound(e)[1])
    if not reasons and len(decays):
        ends = decays[0] / 2, 2 * decays[-1]  # beyond the points, so that their slope can be told from it
        traces.append(Line(ends, found[0] * decays[0] / np.array(ends), r"$\propto 1/\lambda$: slope $-1$", "theory"))
    times = Panel([*traces, *reasons], x, Axis("steps to the transition", "log"), legend="lower left")
    ends = [
        Line(s.weight_decays, [1 - run.final[f"{name}_error"] for run in runs], name, name, "linked")
        for name in ("train", "test")
    ]
    right = Panel(ends, x, Axis("accuracy at the end", low=-0.03, high=1.04), legend="lower left")
    key = [*panels.family_key(named, "train", dots=""), Line([], [], "chance", "theory", "level")]
    return Figure([[curves, times, right]], key=key)
