"""Appendix B.2, Theorem B.1: label noise makes a diagonal network generalise at step 1/η²."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import latebloom as lb
from latebloom.catalog.dichotomy.regression import slope
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_least, at_most, within
from latebloom.figures.look import GREY, THEORY, canvas, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.engine.training import TrainJob
    from latebloom.flows import FlowJob
    from latebloom.penalties import AbstractPenalty
    from latebloom.problems import DiagonalRegression

DIMENSION, SAMPLES, SPARSITY, SCALE = 40, 20, 2, 0.5
RATES = (4e-3, 2.8e-3, 2e-3)
SMALLER = (1.4e-3, 1e-3)  # with --full
REPEATS = 4  # runs of a learning rate, which differ in the noise only
SLOW_TIME = 8.0  # 8 η² t at the end: eight e-foldings of the weight decay that the noise amounts to
EARLY_POWER, EARLY_FACTOR = 1.5, 0.3  # t = 0.3 / η^1.5, between 1/η and 1/η²
WITHOUT = "gradient flow"


def problem(seed: int) -> DiagonalRegression:
    return lb.problems.DiagonalRegression(DIMENSION, SAMPLES, SPARSITY, init_scale=SCALE, seed=seed)


def rates(evidence: Evidence) -> tuple[float, ...]:
    return RATES + (SMALLER if evidence.request.full else ())


def sharpness_penalty(given: DiagonalRegression, rate: float) -> AbstractPenalty:
    """The weight decay that label noise of variance 1 amounts to.

    Around a minimiser the noise makes the parameters spread by `η` in the normal directions, and the curvature of the
    loss turns that into a drift `-(η/2) ∇ tr ∇²L`; here `tr ∇²L = 8 Σ_j m_j (u_j² + v_j²)` with m_j the mean of x_j²,
    so that the drift is that of weight decay `8 η m_j` on `u_j` and `v_j`.
    """
    moments = (np.asarray(given.design) ** 2).sum(axis=0) / 2  # the design is √(2/n) times the data
    return lb.WeightedL2(8 * rate, moments)


def jobs(request: Request) -> dict[str, TrainJob | FlowJob]:
    given, found = problem(request.seed), {}
    for rate in RATES + (SMALLER if request.full else ()):
        steps = round(SLOW_TIME / (8 * rate**2))
        for repeat in range(REPEATS):
            method = lb.LabelNoise(rate, 1.0, seed=repeat)
            found[noisy(rate, repeat)] = lb.TrainJob(
                given, method, None, steps=steps, memorised_at=0.5, generalised_at=0.3
            )
        found[theory(rate)] = lb.FlowJob(
            given, sharpness_penalty(given, rate), time=steps * rate, solver="rkc", rtol=1e-3, learning_rate=rate
        )
    return found | {WITHOUT: lb.FlowJob(given, sharpness_penalty(given, 0.0), time=1e3, solver="rkc", rtol=1e-3)}


def noisy(rate: float, repeat: int) -> str:
    return f"η = {rate:g}, noise {repeat}"


def theory(rate: float) -> str:
    return f"η = {rate:g}, as weight decay"


def average(evidence: Evidence, rate: float, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps, and the mean over the noise of a squared relative error: a loss over that of the zero function."""
    runs = [evidence.runs[noisy(rate, repeat)] for repeat in range(REPEATS)]
    step = runs[0]["step"]  # runs record more densely where they cross a threshold, each at its own
    return step, np.mean([np.interp(step, run["step"], run[column] ** 2) for run in runs], axis=0)


def plateau(evidence: Evidence) -> float:
    """The population loss of the minimiser that gradient flow finds, over that of the zero function."""
    return evidence.runs[WITHOUT].final["test_error"] ** 2


def half_step(evidence: Evidence, rate: float) -> float:
    """The step at which the mean population loss crosses half of that, on a line through the logarithms nearby."""
    step, loss = average(evidence, rate, "test_error")
    near = (step >= 10) & (loss < 0.8 * plateau(evidence)) & (loss > 0.25 * plateau(evidence))
    if near.sum() < 3:
        return float("nan")
    line = np.polyfit(np.log(loss[near] / plateau(evidence)), np.log(step[near]), 1)
    return float(np.exp(np.polyval(line, np.log(0.5))))


def half_steps(evidence: Evidence) -> np.ndarray:
    return np.array([half_step(evidence, rate) for rate in rates(evidence)])


def predicted(evidence: Evidence, rate: float) -> float:
    """The same of the flow with weight decay."""
    run = evidence.runs[theory(rate)]
    below = np.flatnonzero((run["test_error"] ** 2 <= 0.5 * plateau(evidence)) & (run["step"] > 1))
    return float(run["step"][below[0]]) if len(below) else float("nan")


def window(evidence: Evidence, rate: float, column: str, low: float, high: float) -> float:
    """A mean squared error over the records with `8 η² t` in a window."""
    step, loss = average(evidence, rate, column)
    slow = 8 * rate**2 * step
    return float(loss[(slow >= low) & (slow <= high)].mean())


def early_loss(evidence: Evidence) -> Measured:
    """The population loss at step 0.3 / η^1.5 over that of the gradient flow's minimiser, at the smallest η."""
    rate = rates(evidence)[-1]
    step, loss = average(evidence, rate, "test_error")
    when = EARLY_FACTOR * rate**-EARLY_POWER
    return within(float(np.interp(when, step, loss) / plateau(evidence)), 0.8, 1.3)


def train_floor(evidence: Evidence) -> Measured:
    """The exponent in η of the training loss on the plateau."""
    floors = [window(evidence, rate, "train_error", 0.02, 0.3) for rate in rates(evidence)]
    return within(slope(np.array(rates(evidence)), np.array(floors)), 0.5, 1.5)


def late_loss(evidence: Evidence) -> Measured:
    """The population loss at the end over that of the zero function, at the smallest η."""
    return at_most(window(evidence, rates(evidence)[-1], "test_error", 5, SLOW_TIME), 0.05)


def as_weight_decay(evidence: Evidence) -> Measured:
    """Measured half step over that of the flow with the equivalent weight decay, for every η."""
    ratios = [half_step(evidence, rate) / predicted(evidence, rate) for rate in rates(evidence)]
    return Measured(ratios, bool(all(0.7 <= ratio <= 1.3 for ratio in ratios)))


CLAIMS = (
    Claim(
        "flow-interpolates",
        "Gradient flow has a limit with zero training loss.",
        "Theorem B.1, 1",
        "training error of the gradient flow at time 1000 at most 1e-3",
        lambda e: at_most(e.runs[WITHOUT].final["train_error"], 1e-3),
    ),
    Claim(
        "flow-does-not-generalise",
        "The population loss of that limit is at least of order |w*|².",
        "Theorem B.1, 1",
        "population loss at least 0.2 |w*|²",
        lambda e: at_least(plateau(e), 0.2),
        rate=0.9,
    ),
    Claim(
        "stays-before",
        "At step T/η^a, a between 1 and 2, label-noise SGD is still at that limit as η → 0.",
        "Theorem B.1, 2",
        "mean population loss at step 0.3/η^1.5 between 0.8 and 1.3 of the limit's, at the smallest η",
        early_loss,
        rate=0.9,
    ),
    Claim(
        "training-loss-vanishes",
        "The training loss before and after is zero in the limit η → 0: at η > 0 there is a floor of order η.",
        "Theorem B.1, 2 and 3",
        "exponent in η of the mean training loss on the plateau between 0.5 and 1.5",
        train_floor,
        rate=0.9,
    ),
    Claim(
        "generalises-at-1/η²",
        "At step T/η² the population loss falls: the time scale is η^-2.",
        "Theorem B.1, 3",
        "exponent in η of the step at which the mean population loss is halved between -2.3 and -1.7",
        lambda e: within(slope(np.array(rates(e)), half_steps(e)), -2.3, -1.7),
        rate=0.9,
    ),
    Claim(
        "population-loss-vanishes",
        "The population loss tends to 0 as T → ∞.",
        "Theorem B.1, 3",
        "mean population loss for 8η²t between 5 and 8 at most 0.05 |w*|² at the smallest η",
        late_loss,
        rate=0.8,
    ),
    Claim(
        "acts-as-weight-decay",
        "Label noise acts as a penalty on sharpness, here weight decay 8η m_j, which predicts the step.",
        "Appendix B.2, with the constant worked out",
        "measured over predicted step of the halved loss between 0.7 and 1.3 at every η",
        as_weight_decay,
        rate=0.9,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (curves, collapse, law) = canvas(1, 3)
    for rate, colour in zip(rates(evidence), shades(len(rates(evidence))), strict=True):
        step, test = average(evidence, rate, "test_error")
        _, train = average(evidence, rate, "train_error")
        curves.plot(step, test, color=colour, label=f"$\\eta$ = {rate:g}")
        curves.plot(step, train, color=colour, linestyle=":", linewidth=0.8)
        collapse.plot(8 * rate**2 * step, test, color=colour)
    flow = evidence.runs[theory(rates(evidence)[-1])]
    rate = rates(evidence)[-1]
    flow_loss = flow["test_error"] ** 2
    collapse.plot(
        8 * rate**2 * flow["step"],
        flow_loss,
        color=THEORY,
        linestyle="--",
        linewidth=0.9,
        label=r"weight decay $8\eta m_j$",
    )
    for axis in (curves, collapse):
        axis.axhline(plateau(evidence), color=GREY, linestyle="--", linewidth=0.8)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_ylim(3e-3, 1.5)
    curves.set_xlim(left=1)
    collapse.set_xlim(left=1e-3)
    curves.set_xlabel("step $t$")
    curves.set_ylabel(r"loss over $|w^*|^2$ (train dotted)")
    collapse.set_xlabel(r"slow time $8\eta^2 t$")
    collapse.set_ylabel(r"population loss over $|w^*|^2$")
    curves.legend(loc="lower left", fontsize=6)
    collapse.legend(loc="lower left", fontsize=6)
    eta, halves = np.array(rates(evidence)), half_steps(evidence)
    law.loglog(eta, halves, "o", label="population loss halved")
    guesses = [predicted(evidence, rate) for rate in rates(evidence)]
    law.loglog(eta, guesses, color=THEORY, linestyle="--", linewidth=0.9, label=r"weight decay $8\eta m_j$")
    law.set_xticks(eta, [f"{rate:g}" for rate in eta])
    law.minorticks_off()
    law.set_xlabel(r"learning rate $\eta$")
    law.set_ylabel("step")
    law.legend(loc="lower left", fontsize=6)
    return figure


EXPERIMENT = Experiment(
    id="dichotomy/label-noise",
    title="Label-noise SGD on a diagonal network: zero loss early, generalisation at step 1/η²",
    claim="Label noise alone makes the network grok, at a step that grows like η^-2, as weight decay 8η would.",
    source="Appendix B.2, Theorem B.1",
    seconds=20,
    settings={
        "model": "f(x) = ⟨u ⊙ u - v ⊙ v, x⟩, starting at α everywhere",
        "data": f"{SAMPLES} samples N(0, I) in {DIMENSION} dimensions, labels of a {SPARSITY}-sparse truth, entries ±1",
        "initial scale α": SCALE,
        "step": "one sample, label noise N(0, 1), as in Eq. 6",
        "learning rate η": ", ".join(f"{rate:g}" for rate in RATES) + "; --full adds 0.0014, 0.001",
        "steps": "1/η²",
        "noise": f"{REPEATS} independent sequences a learning rate, averaged",
    },
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=("The theorem is a limit η → 0; at these η the loss floors that the noise leaves are visible.",),
)
