"""Beyond the paper: which limit of joint training the isolated dynamics is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import latebloom as lb
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_least, at_most, within
from latebloom.figures.look import CYCLE, THEORY, canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.engine.run import Run
    from latebloom.flows import FlowJob

SMALL, LARGE = (17, 128), (23, 256)  # modulus and width
WEIGHT_DECAY = 0.05
LESS = WEIGHT_DECAY / 4
UNTIL = 10.0  # of slow time λt
FAST_UNTIL = 5.0  # where a fast second layer has long generalised
ISOLATED = "isolated"
ISOLATED_LESS, JOINT_LESS = "isolated, λ/4", "joint, κ=1, λ/4"
SPEEDS = (1.0, 100.0)


def name_of(speed: float) -> str:
    return f"joint, κ={speed:g}"


def jobs(request: Request) -> dict[str, FlowJob]:
    from latebloom.probes import TestAccuracy
    from latebloom.problems import FastPart, Isolated, ModularNet

    problem = ModularNet(*(LARGE if request.full else SMALL), seed=request.seed)
    # ReLU's kinks are met all the time: at rtol = 1e-3 a flow takes six times the gradients.
    loose: Any = {
        "probes": [TestAccuracy()],
        "memorised_at": 0.05,
        "rtol": 1e-2,
        "atol": 1e-3,
        "records_per_decade": 30,
    }

    def isolated(weight_decay: float) -> FlowJob:
        return lb.FlowJob(Isolated(problem, weight_decay), None, time=FAST_UNTIL, solver="rkc", **loose)

    def joint(speed: float, weight_decay: float) -> FlowJob:
        faster, until = FastPart(problem, "second", speed), UNTIL if speed == 1 else FAST_UNTIL
        return lb.FlowJob(faster, faster.decay(weight_decay), time=until / weight_decay, solver="rkc", **loose)

    flows = {ISOLATED: isolated(WEIGHT_DECAY)} | {name_of(speed): joint(speed, WEIGHT_DECAY) for speed in SPEEDS}
    return flows | {ISOLATED_LESS: isolated(LESS), JOINT_LESS: joint(1.0, LESS)}


def decay_of(name: str) -> float:
    return LESS if name in (ISOLATED_LESS, JOINT_LESS) else WEIGHT_DECAY


def slow_time(run: Run, name: str) -> np.ndarray:
    """`λt`, which is the time of the isolated dynamics."""
    return run["time"] if name in (ISOLATED, ISOLATED_LESS) else decay_of(name) * run["time"]


def objective(run: Run, name: str) -> np.ndarray:
    """`(F + (λ/2)|θ|²) / λ`, which is the loss of the isolated dynamics."""
    if name in (ISOLATED, ISOLATED_LESS):
        return run["train_loss"]
    return (run["train_loss"] + run["penalty_value"]) / decay_of(name)


def half(evidence: Evidence, name: str) -> float:
    """The slow time from which half of the test pairs are right for good, infinite if never."""
    run = evidence.runs[name]
    below = np.flatnonzero(run["test_accuracy"] <= 0.5)
    times = slow_time(run, name)
    return float(times[below[-1] + 1]) if below[-1] + 1 < len(times) else np.inf


def lateness(evidence: Evidence, speed: float) -> float:
    return half(evidence, name_of(speed)) / half(evidence, ISOLATED)


def still_late(evidence: Evidence) -> Measured:
    """How many times too early the isolated dynamics is with a quarter of the weight decay, over the same with all."""
    less = half(evidence, JOINT_LESS) / half(evidence, ISOLATED_LESS)
    return at_least(less / lateness(evidence, 1.0), 0.75)


def all_perfect(evidence: Evidence) -> Measured:
    names = [ISOLATED, *(name_of(speed) for speed in SPEEDS)]
    return at_least(min(float(evidence.runs[name]["test_accuracy"].max()) for name in names), 0.95)


def objective_gap(evidence: Evidence) -> Measured:
    """The joint objective at its end over the isolated cost at its end, less 1."""
    joint, alone = (objective(evidence.runs[name], name)[-1] for name in (name_of(1.0), ISOLATED))
    return at_most(abs(float(joint / alone) - 1), 0.1)


# Rates are those of seeds 0 to 4 at the everyday size: 5 of 5 where none is given, 4 of 5 for 0.8.
CLAIMS = (
    Claim(
        "same-end",
        "The isolated dynamics reproduces the delayed generalisation of joint training.",
        "Section 7",
        "test accuracy reaches 95 % or more in every run with the larger λ",
        all_perfect,
        rate=0.8,
    ),
    Claim(
        "same-objective",
        "Joint training and the isolated dynamics descend to the same objective.",
        "Equation 11",
        "joint objective at slow time 10 within 10 % of the isolated cost at slow time 5",
        objective_gap,
    ),
    Claim(
        "same-time-as-printed",
        "The isolated dynamics approximates the learning dynamics of the first layer.",
        "Equation 18",
        "slow time to half of the test pairs right, of joint training over isolated, at most 1.2; fails: about 3",
        lambda e: at_most(lateness(e, 1.0), 1.2),
        documented=False,
    ),
    Claim(
        "three-times-too-early",
        "Corrected: at equal speeds of the layers it is about three times too early.",
        "Equation 18, against joint gradient flow with the same λ",
        "that ratio between 2 and 4.5",
        lambda e: within(lateness(e, 1.0), 2.0, 4.5),
    ),
    Claim(
        "limit-of-a-fast-second-layer",
        "It is the limit of an infinitely fast second layer: a speed of 100 closes the gap.",
        "Section 5.3: the second part is the fast learning component",
        "that ratio between 0.8 and 1.25 for κ = 100",
        lambda e: within(lateness(e, 100.0), 0.8, 1.25),
        rate=0.8,
    ),
    Claim(
        "not-the-limit-of-small-weight-decay",
        "It is not the limit λ → 0: with a quarter of the weight decay it is as many times too early.",
        "Equations 10 and 18, against joint gradient flow, each with the same λ",
        "that ratio at λ/4, over that at λ, at least 0.75 (a gap of first order in λ would make it 0.5)",
        still_late,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (left, right) = canvas(1, 2, height=2.5)
    for name, colour in zip([name_of(speed) for speed in SPEEDS], CYCLE, strict=False):
        run = evidence.runs[name]
        left.plot(slow_time(run, name), 100 * run["test_accuracy"], color=colour, label=name)
        right.plot(slow_time(run, name), objective(run, name), color=colour, label=name)
    less = evidence.runs[JOINT_LESS]
    dotted: Any = {"color": CYCLE[0], "linestyle": ":", "label": JOINT_LESS}
    left.plot(slow_time(less, JOINT_LESS), 100 * less["test_accuracy"], **dotted)
    right.plot(slow_time(less, JOINT_LESS), objective(less, JOINT_LESS), **dotted)
    run = evidence.runs[ISOLATED]
    dashed: Any = {"color": THEORY, "linestyle": "--", "linewidth": 1.0, "label": "isolated dynamics"}
    left.plot(run["time"], 100 * run["test_accuracy"], **dashed)
    right.plot(run["time"], objective(run, ISOLATED), **dashed)
    for axis in (left, right):
        axis.set_xscale("log")
        axis.set_xlabel(r"slow time $\lambda t$")
    left.set_xlim(0.05, UNTIL)
    right.set_xlim(1e-3, UNTIL)
    left.set_ylabel("test accuracy (%)")
    right.set_yscale("log")
    right.set_ylabel(r"objective $(F + \frac{\lambda}{2}|\theta|^2)\,/\,\lambda$")
    left.legend(loc="upper left")
    return figure


EXPERIMENT = Experiment(
    id="geometry/joint-vs-isolated",
    title="Isolated dynamics against joint training: the limit of a fast second layer, not of small weight decay",
    claim="Isolated dynamics predicts the end of joint training three times too early; a fast second layer closes it.",
    source="Sections 5.3 and 6.2, Equations 10, 11 and 18",
    seconds=30,
    settings={
        "problem": "modular addition on unordered pairs, 70 % to train on",
        "modulus p and width d_h": {"everyday": SMALL, "full": LARGE},
        "weight decay": {"all": WEIGHT_DECAY, "also, for κ = 1": LESS},
        "speeds κ of the second layer": SPEEDS,
        "slow time λt": {"κ = 1": UNTIL, "others": FAST_UNTIL},
    },
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=(
        "Joint training starts from the isolated start: the same embedding, and a second layer that interpolates.",
        "The isolated cost is exact for this λ, so that what is compared is the speed of the second layer alone.",
    ),
)
