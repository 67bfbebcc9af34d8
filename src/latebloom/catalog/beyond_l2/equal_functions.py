"""Networks (λ A, B/λ^L): drawn ones with what theory says of them, and slices through a trained one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import latebloom as lb
from latebloom.catalog.old_base import Evidence, Request

if TYPE_CHECKING:
    from latebloom.engine.training import TrainJob

ACTIVATIONS: dict[int, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    1: ("max(z, 0)", lambda z: np.maximum(z, 0)),
    2: ("z²", lambda z: z**2),
    3: ("max(z, 0)³", lambda z: np.maximum(z, 0) ** 3),
}
INPUTS, WIDTH, OUTPUTS, POINTS = 20, 30, 5, 200  # of the networks that are drawn
FACTORS = np.logspace(-2, 2, 201)
TRAIN_IMAGES, UNITS, RATE, DECAY, STEPS = 200, 50, 0.1, 1e-2, 3000
DECAYED, FREE = "weight decay", "no weight decay"


@dataclass(frozen=True)
class Family:
    """The rescalings of one drawn network: what they answer and how large they are, measured and by formula."""

    degree: int
    changed: float  # the largest change of an output, over the largest output
    sizes: np.ndarray  # a λ² + b / λ^2L, summed over the entries of the rescaled matrices
    predicted: np.ndarray
    best: float  # λ of the least norm, by search
    predicted_best: float
    least: float
    predicted_least: float


def rescaled(first: np.ndarray, second: np.ndarray, factor: float, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """`(λ A, B / λ^L)`."""
    return factor * first, second / factor**degree


def squares(*matrices: np.ndarray) -> float:
    return float(sum(np.sum(matrix**2) for matrix in matrices))


def balanced_factor(first: float, second: float, degree: int) -> float:
    """`λ0 = (L b / a)^(1 / (2L + 2))`, which makes `a λ² + b / λ^2L` least."""
    return (degree * second / first) ** (1 / (2 * degree + 2))


@lru_cache(maxsize=16)
def family(seed: int, degree: int) -> Family:
    """A network drawn at random, rescaled by every factor."""
    from scipy.optimize import minimize_scalar

    random = np.random.default_rng([seed, degree])
    first, second = random.normal(size=(WIDTH, INPUTS)), 0.3 * random.normal(size=(OUTPUTS, WIDTH))
    points, act = random.normal(size=(INPUTS, POINTS)), ACTIVATIONS[degree][1]
    a, b = squares(first), squares(second)
    networks = [rescaled(first, second, factor, degree) for factor in FACTORS]
    outputs = np.array([outer @ act(inner @ points) for inner, outer in networks])
    original = second @ act(first @ points)
    search: Any = minimize_scalar(
        lambda log: squares(*rescaled(first, second, np.exp(log), degree)),
        bracket=(-1.0, 1.0),
        options={"xtol": 1e-9},
    )
    power = 1 / (degree + 1)
    return Family(
        degree,
        float(np.max(np.abs(outputs - original)) / np.max(np.abs(original))),
        np.array([squares(*network) for network in networks]),
        a * FACTORS**2 + b / FACTORS ** (2 * degree),
        float(np.exp(search.x)),
        balanced_factor(a, b, degree),
        float(search.fun),
        (degree**power + degree ** (-degree * power)) * (a**degree * b) ** power,
    )


def families(evidence: Evidence) -> list[Family]:
    return [family(evidence.request.seed, degree) for degree in ACTIVATIONS]


def jobs(request: Request) -> dict[str, TrainJob]:
    from latebloom import probes

    problem = lb.problems.ImageClassifier(
        width=UNITS, train=TRAIN_IMAGES, test=600, precision="float64", seed=request.seed
    )
    measured = [
        *(probes.WeightNorm("l2", part) for part in (None, *problem.weights)),
        probes.TestLoss(),
        probes.TestAccuracy(),
    ]
    return {
        name: lb.TrainJob(
            problem, lb.GradientDescent(RATE), lb.L2(decay), steps=STEPS, probes=measured, memorised_at=1e-9
        )
        for name, decay in ((DECAYED, DECAY), (FREE, 0.0))
    }


def imbalance(evidence: Evidence, name: str) -> tuple[np.ndarray, np.ndarray]:
    """`a - b` along a run, and `(a - b)(0) (1 - αλ)^{2t}`."""
    run = evidence.runs[name]
    gap = run["l2_norm_of_hidden"] ** 2 - run["l2_norm_of_output"] ** 2
    decay = DECAY if name == DECAYED else 0.0
    return gap, gap[0] * (1 - RATE * decay) ** (2 * run["step"])


def trained(evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """A and B at the end of the run without weight decay, with all training images right."""
    params = evidence.runs[FREE].params
    assert params is not None
    return np.asarray(params["hidden"]), np.asarray(params["output"])


@dataclass(frozen=True)
class Slice:
    """A family of networks through the trained one: norms, losses, and how many test images are right."""

    norms: np.ndarray
    train: np.ndarray
    test: np.ndarray
    right: np.ndarray


def slice_through(evidence: Evidence, members: list[tuple[np.ndarray, np.ndarray]]) -> Slice:
    """Losses by plain NumPy: the loss of scores that are eight digits large has to come out, too."""
    problem = evidence.jobs[DECAYED].problem
    assert isinstance(problem, lb.problems.ImageClassifier)
    parts = [(np.asarray(problem.train_images), np.asarray(problem.train_labels))]
    parts.append((np.asarray(problem.test_images), np.asarray(problem.test_labels)))
    rows = []
    for first, second in members:
        scores = [np.maximum(images @ first.T, 0) @ second.T for images, _ in parts]
        losses = [cross_entropy(z, labels) for z, (_, labels) in zip(scores, parts, strict=True)]
        right = int(np.sum(np.argmax(scores[1], axis=1) == parts[1][1]))
        rows.append((np.sqrt(squares(first, second)), *losses, right))
    return Slice(*(np.array(column) for column in zip(*rows, strict=True)))


def cross_entropy(scores: np.ndarray, labels: np.ndarray) -> float:
    shifted = scores - scores.max(axis=1, keepdims=True)
    return float(np.mean(np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(labels)), labels]))


def rescalings(evidence: Evidence) -> Slice:
    """The trained network with (λ A, B/λ)."""
    first, second = trained(evidence)
    return slice_through(evidence, [rescaled(first, second, factor, 1) for factor in FACTORS[::5]])


def scalings(evidence: Evidence) -> Slice:
    """The trained network with (c A, c B): another function at every norm."""
    first, second = trained(evidence)
    return slice_through(evidence, [(c * first, c * second) for c in np.logspace(-1, 1, 41)])
