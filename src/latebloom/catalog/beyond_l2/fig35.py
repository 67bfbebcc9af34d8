"""Figure 35: a two-layer ReLU network on images, with l1, from a large start and from the usual one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import latebloom as lb
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_least, at_most
from latebloom.errors import InputError
from latebloom.figures.look import CYCLE, GREY, TEST, THEORY, TRAIN, canvas
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.engine.run import Run
    from latebloom.engine.training import TrainJob
    from latebloom.problems import ImageClassifier

DIGITS = "digits"
SCALE, WIDTH, RATE = 8.0, 100, 1e-2
LARGE, USUAL, WITHOUT = "large start", "usual start", "without a penalty"
STRONGER, FASTER = "3β", "3α"


@dataclass(frozen=True)
class Size:
    """How many images to train on, β, steps, and the test accuracy that says generalised."""

    train: int
    strength: float
    steps: int
    reached: float


EVERYDAY, FILE = Size(200, 1e-3, 5000, 0.88), Size(1000, 1e-4, 7500, 0.85)


def source(request: Request) -> str:
    return request.choice("data", DIGITS)


def size(request: Request) -> Size:
    return EVERYDAY if source(request) == DIGITS else FILE


def classifier(request: Request, scale: float) -> ImageClassifier:
    """The network at its start; a file of too few images is refused in the figure's words."""
    from latebloom.problems.networks.image_classifier import ImageClassifier, TooFewImagesError

    path, train = source(request), size(request).train
    try:
        return ImageClassifier(path, WIDTH, train=train, init_scale=scale, seed=request.seed)
    except TooFewImagesError:
        raise InputError(
            f"{path!r} has too few images: the figure trains on {train:,} and tests on the others; name a file of at "
            f"least {train + 1:,}"
        ) from None


def jobs(request: Request) -> dict[str, TrainJob]:
    from latebloom import probes

    chosen = size(request)
    starts = {scale: classifier(request, scale) for scale in (SCALE, 1.0)}

    def job(
        scale: float, rate: float, strength: float, stop_at: str | None = None, steps: int = chosen.steps
    ) -> TrainJob:
        measured = [probes.TrainAccuracy(), probes.TestAccuracy(), probes.TestLoss(), probes.WeightNorm("l2")]
        return lb.TrainJob(
            starts[scale],
            lb.Optax("adam", learning_rate=rate),
            lb.L1(strength),
            steps=steps,
            probes=measured,
            memorised_at=1e-9,
            generalised_at=1 - chosen.reached,
            stop_at=stop_at,
        )

    return {
        LARGE: job(SCALE, RATE, chosen.strength),
        USUAL: job(1.0, RATE, chosen.strength, steps=min(chosen.steps, 2000)),
        WITHOUT: job(SCALE, RATE, 0.0),
        STRONGER: job(SCALE, RATE, 3 * chosen.strength, "generalised"),
        FASTER: job(SCALE, 3 * RATE, chosen.strength, "generalised"),
    }


def later(run: Run) -> float:
    """t2, or infinity if the run ended before it."""
    return np.inf if run.t2 is None else float(run.t2 or 0)


def at_t1(run: Run) -> float | None:
    """The test accuracy where the last training image is right for the first time."""
    first = run.t1
    return None if first is None else float(run.record(step=first)["test_accuracy"])


def rise(run: Run) -> float | None:
    """How much the test accuracy gains from t1 to the end."""
    first = at_t1(run)
    return None if first is None else float(run.final["test_accuracy"]) - first


def published(evidence: Evidence) -> Measured:
    """t1, the test accuracy there, and t2 of the large start."""
    run = evidence.runs[LARGE]
    first, accuracy, second = run.t1, at_t1(run), later(run)
    chosen = size(evidence.request)
    early, low, high = ((40, 200), 1000, 5000) if chosen is EVERYDAY else ((80, 250), 4500, 7500)
    holds = first is not None and accuracy is not None and early[0] <= first <= early[1] and 0.7 <= accuracy <= 0.86
    return Measured([first, accuracy, second], bool(holds and low <= second <= high))


def delay(run: Run, times: float) -> Measured:
    """t2 over t1, and whether it is at least `times`."""
    first = run.t1
    return at_least(None if not first else later(run) / first, times)


def no_delay(run: Run) -> Measured:
    """What the test accuracy has still to gain at t1."""
    first = at_t1(run)
    return at_most(None if first is None else float(np.max(run["test_accuracy"])) - first, 0.03)


def lost_without(evidence: Evidence) -> Measured:
    """How much better the test accuracy ends with the penalty than without."""
    ends = [float(evidence.runs[name].final["test_accuracy"]) for name in (LARGE, WITHOUT)]
    return at_least(ends[0] - ends[1], 0.04)


def earlier(evidence: Evidence, name: str) -> Measured:
    """t2 of the large start and of another run, which must be earlier; a run without t2 is later than any with one."""
    times = [later(evidence.runs[LARGE]), later(evidence.runs[name])]
    return Measured(times, times[1] < times[0])


def slow_rise(evidence: Evidence) -> Measured:
    gained = rise(evidence.runs[LARGE])
    return Measured(gained, gained is not None and 0.04 <= gained <= 0.2)


CLAIMS = (
    Claim(
        "delayed-as-printed",
        "A similar phenomenon (generalisation delayed by a small β) on a two-layer ReLU MLP trained on MNIST.",
        "Section 2.2 and Appendix H.3.4, Figure 35",
        "from the usual start t2 at least twice t1; fails: the test accuracy is there before the last training image",
        lambda e: delay(e.runs[USUAL], 2.0),
        documented=False,
    ),
    Claim(
        "no-delay-from-the-usual-start",
        "Corrected: from N(0, 1/rows) there is nothing left to wait for at t1.",
        "Measured",
        "test accuracy at t1 at most 0.03 below its best",
        lambda e: no_delay(e.runs[USUAL]),
        rate=0.8,
    ),
    Claim(
        "delayed-from-a-large-start",
        "Corrected: from a start eight times as large it is delayed.",
        "Appendix H.3.4, Figure 35",
        "t2 at least 10 times t1",
        lambda e: delay(e.runs[LARGE], 10.0),
    ),
    Claim(
        "times",
        "The test accuracy stays near its level at t1, and passes 0.85 in thousands of steps.",
        "Appendix H.3.4, Figure 35",
        "t1 in 80…250, accuracy there 0.70…0.86, t2 in 4,500…7,500 (digits: 40…200, 1,000…5,000)",
        published,
        rate=0.6,
    ),
    Claim(
        "grokking-as-printed",
        "The rise is grokking: from severe overfitting to generalisation.",
        "Section 2.2",
        "gain of test accuracy after t1 at least 0.3; fails: 0.07 to 0.14 on top of 0.8",
        lambda e: at_least(rise(e.runs[LARGE]), 0.3),
        documented=False,
    ),
    Claim(
        "slow-rise",
        "Corrected: it is a rise of about ten points.",
        "Measured",
        "gain of test accuracy after t1 from 0.04 to 0.2",
        slow_rise,
    ),
    Claim(
        "penalty-drives",
        "Generalisation is due to the regularisation.",
        "Section 2.2",
        "test accuracy at the end at least 0.04 better than without a penalty",
        lost_without,
    ),
    Claim(
        "larger-strength-is-earlier",
        "A smaller β delays generalisation.",
        "Section 2.2, Figure 35",
        "t2 with 3β before t2 with β",
        lambda e: earlier(e, STRONGER),
        rate=0.8,
    ),
    Claim(
        "larger-rate-is-earlier",
        "A smaller α delays generalisation.",
        "Section 2.2, Figure 35",
        "t2 with 3α before t2 with α",
        lambda e: earlier(e, FASTER),
        rate=0.8,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (large, usual, grid, shell) = canvas(2, 2, height=2.2)
    runs, reached = evidence.runs, size(evidence.request).reached
    for axis, name, title in ((large, LARGE, "start x 8"), (usual, USUAL, "usual start, N(0, 1/rows)")):
        axis.plot(runs[name]["step"], 100 * runs[name]["train_accuracy"], color=TRAIN, label="train")
        axis.plot(runs[name]["step"], 100 * runs[name]["test_accuracy"], color=TEST, label="test")
        axis.set_title(title, pad=10)
    large.plot(runs[WITHOUT]["step"], 100 * runs[WITHOUT]["test_accuracy"], color=GREY, label=r"test, $\beta = 0$")
    names = {LARGE: r"$\alpha, \beta$", STRONGER: r"$\alpha, 3\beta$", FASTER: r"$3\alpha, \beta$"}
    for (name, label), colour in zip(names.items(), (TEST, CYCLE[3], CYCLE[4]), strict=True):
        grid.plot(runs[name]["step"], 100 * runs[name]["test_accuracy"], color=colour, label=label)
    grid.set_ylim(bottom=60)
    grid.set_title("test, start x 8, until it is there")
    for axis in (large, usual, grid):
        axis.axhline(100 * reached, color=THEORY, linestyle="--", linewidth=0.8)
        panels.log_steps(axis)
        axis.set_ylabel("accuracy (%)")
    for axis, name in ((large, LARGE), (usual, USUAL)):
        panels.mark_milestones(axis, runs[name])
    for axis in (large, usual, grid):
        axis.legend(loc="lower right", fontsize=6)
    for column, colour, label in (("train_loss", TRAIN, "train"), ("test_loss", TEST, "test")):
        shell.plot(runs[LARGE]["l2_norm_of_weights"], runs[LARGE][column], color=colour, label=f"{label}, start x 8")
        shell.plot(runs[USUAL]["l2_norm_of_weights"], runs[USUAL][column], ":", color=colour, label="usual start")
    shell.set_yscale("log")
    shell.set_xlabel(r"norm of the weights $\|\theta\|_2$")
    shell.set_ylabel("cross-entropy")
    shell.legend(fontsize=6)
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig35",
    title="A two-layer ReLU network on images under l1",
    claim="From a large start l1 raises the test accuracy late, by ten points; from the usual one nothing is late.",
    source="Appendix H.3.4, Figure 35",
    seconds=15,
    settings={
        "data": "scikit-learn's digits (8x8); the paper's are MNIST (28x28): --set data=FILE",
        "model": "y(x) = B max(A x, 0), 100 hidden units, no biases; float32",
        "loss": "cross-entropy, the mean over the training images",
        "training images N": {DIGITS: EVERYDAY.train, "a file": FILE.train},
        "initial weights": "N(0, 1/rows), times 8 where the start is large",
        "method": f"Adam on all training images, α = {RATE:g}, and 3α",
        "penalty": {"digits": "β |θ|_1, β = 1e-3 and 3e-3", "a file": "β = 1e-4 and 3e-4"},
        "steps": {DIGITS: EVERYDAY.steps, "a file": FILE.steps},
        "t1, t2": f"no training image wrong; test accuracy {EVERYDAY.reached:g} (digits) or {FILE.reached:g}",
    },
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=(
        "The text gives N = 1000 and the model, and neither the start, the loss, nor the values of α and β.",
        "From the large start the test accuracy first falls by a few points, before the penalty raises it.",
        "On MNIST, draws 0 to 2: t1 = 113, 79, 85, so that `times` holds in two of three; t2 = 6,227, 5,532, 5,355 "
        "with α and 3,758, 2,779, 4,192 with 3α, where Adam has spikes.",
        "With a file of MNIST's format it takes minutes. The dashed level is the test accuracy of t2.",
    ),
    choices={"data": "an npz, IDX or CSV file of at least 1,001 images with labels, of which 1,000 are trained on"},
)
