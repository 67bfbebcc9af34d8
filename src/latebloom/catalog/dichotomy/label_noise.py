"""Label noise makes a diagonal network generalise at step 1/η² (Appendix B.2, Theorem B.1)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings
from latebloom.catalog.bounds import at_least, at_most, each, holds, within
from latebloom.catalog.controls import Altered
from latebloom.catalog.dichotomy.regression import slope
from latebloom.core.fields import count, number, numbers
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

EXPONENTS = (1.3, 1.4, 1.5, 1.6, 1.7)  # a of T/η^a; nearer to 1 and 2 the limit needs a smaller η
DECAYED = "weight decay, α = {:g}"
NOISY, AS_DECAY, WITHOUT = "η = {:g}, noise {}", "η = {:g}, as weight decay", "gradient flow"


class NoiseSettings(Settings):
    """A diagonal network `f(x) = ⟨u ⊙ u - v ⊙ v, x⟩` on samples N(0, I) with labels of a sparse truth, entries ±1."""

    dimension: int = count(default=40, note="d")
    samples: int = count(default=20, note="n")
    sparsity: int = count(default=2, note="entries of the truth that are not zero")
    init_scale: float = number(default=0.5, above=0, note="α, every entry of u and v at the start")
    learning_rates: tuple[float, ...] = numbers(default=(4e-3, 2.8e-3, 2e-3), above=0, note="η")
    repeats: int = count(default=4, note="sequences of noise for each learning rate, averaged")
    slow_time: float = number(default=8.0, above=5, note="8η²t at the end: e-foldings of the equivalent weight decay")
    flow_time: float = number(default=1e3, above=0, note="of the gradient flow without noise")
    memorised_at: float = number(default=0.5, above=0, note="relative error of t1")
    generalised_at: float = number(default=0.3, above=0, note="relative error of t2")
    rtol: float = number(default=1e-3, above=0, note="relative tolerance of the flows")
    weight_decay: float = number(default=1e-2, above=0, note="λ of the flows with weight decay beside")
    large_scales: tuple[float, ...] = numbers(default=(0.5, 5.0, 50.0), above=0, note="α of these, in order")

    def problem(self, init_scale=None):
        """The draw."""
        chosen = {"init_scale": self.init_scale if init_scale is None else init_scale, "seed": self.seed}
        return lb.problems.DiagonalRegression(self.dimension, self.samples, self.sparsity, **chosen)

    def steps(self, rate):
        """How many there are at a learning rate."""
        return round(self.slow_time / (8 * rate**2))


EARLY = 0.05  # a slow time λt at which the training set is fitted and no more, with weight decay


def noise_of_one_rate(e):
    """The evidence with the noise of the largest η at every η."""
    s = e.settings
    same = {
        NOISY.format(rate, repeat): e[NOISY.format(s.learning_rates[0], repeat)]
        for rate in s.learning_rates
        for repeat in range(s.repeats)
    }
    return replace(e, runs={**e.runs, **same})


def on_a_fast_clock(e):
    """The evidence with ηt for t: all happens at 1/η then."""
    runs = {}
    for name, job in e.jobs.items():
        if job.kind == "train":
            steps = e[name]["step"] * float(job.method.learning_rate)
            runs[name] = replace(e[name], columns={**e[name].columns, "step": steps})
    return replace(e, runs={**e.runs, **runs})


label_noise = Entry(
    "dichotomy/label-noise",
    "Label-noise SGD on a diagonal network: zero loss early, generalisation at step 1/η²",
    "Label noise alone makes the network grok, at a step that grows like η^-2, as weight decay 8η would.",
    source="Appendix B.2, Theorem B.1",
    seconds=22,
    settings=NoiseSettings(),
    full={"learning_rates": (4e-3, 2.8e-3, 2e-3, 1.4e-3, 1e-3)},
    notes=(
        "The theorem is a limit η → 0; at these η the loss floors that the noise leaves are visible.",
        "A step takes one sample, with label noise N(0, 1), as in Eq. 6.",
    ),
)


def sharpness_penalty(problem, rate):
    """The weight decay that label noise of variance 1 amounts to.

    Around a minimiser the noise makes the parameters spread by `η` in the normal directions, and the curvature of the
    loss turns that into a drift `-(η/2) ∇ tr ∇²L`; here `tr ∇²L = 8 Σ_j m_j (u_j² + v_j²)` with m_j the mean of x_j²,
    so that the drift is that of weight decay `8 η m_j` on `u_j` and `v_j`.
    """
    moments = (np.asarray(problem.design) ** 2).sum(axis=0) / 2  # the design is √(2/n) times the data
    return lb.WeightedL2(8 * rate, moments)


@label_noise.runs
def noise_runs(s):
    problem, jobs = s.problem(), {}

    def flow(rate, **options):
        return lb.FlowJob(problem, sharpness_penalty(problem, rate), solver="rkc", rtol=s.rtol, **options)

    for rate in s.learning_rates:
        steps, levels = s.steps(rate), {"memorised_at": s.memorised_at, "generalised_at": s.generalised_at}
        for repeat in range(s.repeats):
            method = lb.LabelNoise(rate, noise=1.0, seed=repeat)
            jobs[NOISY.format(rate, repeat)] = lb.TrainJob(problem, method, None, steps=steps, **levels)
        jobs[AS_DECAY.format(rate)] = flow(rate, time=steps * rate, learning_rate=rate)
    for scale in s.large_scales:
        time = (max(0.0, float(np.log(scale))) + 6) / s.weight_decay
        decayed = lb.FlowJob(s.problem(scale), lb.L2(s.weight_decay), time=time, solver="rkc", rtol=s.rtol)
        jobs[DECAYED.format(scale)] = decayed
    return jobs | {WITHOUT: flow(0.0, time=s.flow_time)}


def average(e, rate, column):
    """Steps, and the mean over the noise of a squared relative error: a loss over that of the zero function."""
    runs = [e[NOISY.format(rate, repeat)] for repeat in range(e.settings.repeats)]
    step = runs[0]["step"]  # runs record more densely where they cross a threshold, each at its own
    return step, np.mean([np.interp(step, run["step"], run[column] ** 2) for run in runs], axis=0)


def plateau(e):
    """The population loss of the minimiser that gradient flow finds, over that of the zero function."""
    return e[WITHOUT].final["test_error"] ** 2


def half_step(e, rate):
    """The step at which the mean population loss crosses half of that, on a line through the logarithms nearby."""
    step, loss = average(e, rate, "test_error")
    near = (step >= 10) & (loss < 0.8 * plateau(e)) & (loss > 0.25 * plateau(e))
    if near.sum() < 3:
        return float("nan")
    line = np.polyfit(np.log(loss[near] / plateau(e)), np.log(step[near]), 1)
    return float(np.exp(np.polyval(line, np.log(0.5))))


def predicted(e, rate):
    """The same of the flow with weight decay."""
    run = e[AS_DECAY.format(rate)]
    below = np.flatnonzero((run["test_error"] ** 2 <= 0.5 * plateau(e)) & (run["step"] > 1))
    return float(run["step"][below[0]]) if len(below) else float("nan")


def window(e, rate, column, low, high):
    """A mean squared error over the records with `8 η² t` in a window."""
    step, loss = average(e, rate, column)
    slow = 8 * rate**2 * step
    return float(loss[(slow >= low) & (slow <= high)].mean())


def exponent(e, measure):
    """The exponent in η of a number that there is for every learning rate."""
    rates = e.settings.learning_rates
    return slope(np.array(rates), np.array([measure(rate) for rate in rates]))


@label_noise.claim(at_most(1e-3), "training error of the gradient flow at time 1000", source="Theorem B.1, 1")
def flow_interpolates(e):
    """Gradient flow has a limit with zero training loss."""
    return e[WITHOUT].final["train_error"]


@label_noise.claim(at_least(0.2), "population loss over |w*|²", source="Theorem B.1, 1", rate=0.9)
def flow_does_not_generalise(e):
    """The population loss of that limit is at least of order |w*|²."""
    return plateau(e)


@label_noise.claim(
    each(within(0.8, 1.3)),
    "mean population loss at step 0.3/η^a over the limit's, at the smallest η, by a,",
    source="Theorem B.1, 2",
    rate=0.9,
)
def stays_before(e):
    """At step T/η^a, a between 1 and 2, label-noise SGD is still at that limit as η → 0."""
    rate = min(e.settings.learning_rates)
    step, loss = average(e, rate, "test_error")
    return {f"a = {a:g}": float(np.interp(0.3 * rate**-a, step, loss) / plateau(e)) for a in EXPONENTS}


@label_noise.claim(
    within(0.5, 1.5),
    "exponent in η of the mean training loss on the plateau, 8η²t from 0.02 to 0.3,",
    source="Theorem B.1, 2 and 3",
    rate=0.9,
)
def training_loss_vanishes(e):
    """The training loss before and after is zero in the limit η → 0: at η > 0 there is a floor of order η."""
    return exponent(e, lambda rate: window(e, rate, "train_error", 0.02, 0.3))


@label_noise.claim(
    within(-2.3, -1.7),
    "exponent in η of the step at which the mean population loss is halved",
    id="generalises-at-1/η²",
    source="Theorem B.1, 3",
    rate=0.9,
    control=Altered("the noise is that of the largest η at every η", noise_of_one_rate),
)
def generalises_late(e):
    """At step T/η² the population loss falls: the time scale is η^-2."""
    return exponent(e, lambda rate: half_step(e, rate))


@label_noise.claim(
    at_most(0.05),
    "mean population loss over |w*|² from 8η²t = 5 to the end, 8, at the smallest η,",
    source="Theorem B.1, 3",
    rate=0.8,
)
def population_loss_vanishes(e):
    """The population loss tends to 0 as T → ∞."""
    return window(e, min(e.settings.learning_rates), "test_error", 5, e.settings.slow_time)


@label_noise.claim(
    each(within(0.7, 1.3)),
    "measured over predicted step of the halved loss at every η,",
    source="Appendix B.2, with the constant worked out",
    kind="ours",
    rate=0.9,
)
def acts_as_weight_decay(e):
    """Label noise acts as a penalty on sharpness, here weight decay 8η m_j, which predicts the step."""
    return [half_step(e, rate) / predicted(e, rate) for rate in e.settings.learning_rates]


def last_above(clock, loss, level):
    """The last time at which a loss is above a level; NaN if it never is, or still is."""
    above = np.flatnonzero(loss > level)
    return float(clock[above[-1]]) if len(above) and above[-1] + 1 < len(loss) else float("nan")


def width(clock, loss, level):
    """The times at which four fifths and one fifth of a level are passed."""
    return [last_above(clock, loss, share * level) for share in (0.8, 0.2)]


def factor(clock, loss, level):
    """The second of these times over the first."""
    before, after = width(clock, loss, level)
    return after / before


@label_noise.claim(
    each(at_most(1.2)),
    "logarithm of the step at which a fifth of the limit's population loss is left over that of four fifths, by η,",
    rate=0.9,
    control=Altered("it happens at step 1/η, not 1/η²", on_a_fast_clock),
)
def sharp_in_log_time(e):
    """The transition is sharp in log time: a slightly larger log t changes the bias."""
    found = {}
    for rate in e.settings.learning_rates:
        before, after = width(*average(e, rate, "test_error"), plateau(e))
        found[f"η = {rate:g}"] = float(np.log(after) / np.log(before))
    return found


@label_noise.claim(
    holds(
        "the step of a fifth of the loss is at least {slow:g} times that of four fifths at every η; with weight decay "
        "the factor falls with α, to at most {sharp:g}",
        slow=2,
        sharp=1.4,
    ),
    rate=0.9,
)
def less_sharp_than_weight_decay(e, slow, sharp):
    """That is less sharp than with weight decay, where a slightly larger t itself does."""
    noisy = [factor(*average(e, rate, "test_error"), plateau(e)) for rate in e.settings.learning_rates]
    decayed = []
    for scale in e.settings.large_scales:
        run = e[DECAYED.format(scale)]
        late = run["slow_time"] >= EARLY
        loss = run["test_error"][late] ** 2
        decayed.append(factor(run["time"][late], loss, float(loss[0])))
    found = {"label noise": noisy, "weight decay": decayed}
    return found, min(noisy) >= slow and max(np.diff(decayed)) < 0 and decayed[-1] <= sharp


@label_noise.figure
def noise_figure(e):
    rates, smallest = e.settings.learning_rates, min(e.settings.learning_rates)
    level, decay = Rule(plateau(e), "plateau without noise", "grey", across="y"), r"weight decay $8\eta m_j$"
    curves, collapse = [], []
    for place, rate in enumerate(rates):
        (step, test), (_, train) = average(e, rate, "test_error"), average(e, rate, "train_error")
        shade = panels.shade_of(place, len(rates))
        curves.append(Line(step, test, rf"$\eta$ = {rate:g}", shade=shade))
        curves.append(Line(step, train, name=f"eta = {rate:g}, train", marks="behind", shade=shade))
        collapse.append(Line(8 * rate**2 * step, test, name=f"eta = {rate:g}", shade=shade))
    flow = e[AS_DECAY.format(smallest)]
    collapse.append(Line(8 * smallest**2 * flow["step"], flow["test_error"] ** 2, decay, "theory"))
    halves, guesses = ([measure(e, rate) for rate in rates] for measure in (half_step, predicted))
    law = [
        Line(rates, halves, "population loss halved", marks="points"),
        Line(rates, guesses, decay, "theory"),
    ]
    left = Axis(r"loss over $|w^*|^2$ (thin: train)", "log", 3e-3, 1.5)
    middle = Axis(r"population loss over $|w^*|^2$", "log", 3e-3, 1.5)
    eta = Axis(r"learning rate $\eta$", "log", ticks={rate: f"{rate:g}" for rate in rates})
    shown = [
        Panel([*curves, level], Axis("step $t$", "log", low=1), left, legend="lower left"),
        Panel([*collapse, level], Axis(r"slow time $8\eta^2 t$", "log", low=1e-3), middle, legend="lower left"),
        Panel(law, eta, Axis("step", "log"), legend="lower left"),
    ]
    return Figure([shown])
