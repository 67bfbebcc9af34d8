"""Networks (λ A, B/λ^L): drawn ones with what theory says of them, and slices through a trained one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from latebloom.catalog.base import Settings
from latebloom.core.fields import count, number, numbers

ACTIVATIONS: dict[int, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    1: ("max(z, 0)", lambda z: np.maximum(z, 0)),
    2: ("z²", lambda z: z**2),
    3: ("max(z, 0)³", lambda z: np.maximum(z, 0) ** 3),
}


class RescalingSettings(Settings):
    """Networks drawn at random, and one trained on scikit-learn's digits."""

    inputs: int = count(default=20, note="of the networks B φ(A x) that are drawn")
    width: int = count(default=30, note="hidden units of these")
    outputs: int = count(default=5, note="of these")
    points: int = count(default=200, note="x at which their answers are compared")
    factors: int = count(default=201, least=2, note="values of λ")
    largest_factor: float = number(default=100.0, above=1, note="λ from its inverse to it")
    images: int = count(default=200, note="digits that a network is trained on")
    test_images: int = count(default=600, note="others that it is tested on")
    units: int = count(default=50, note="ReLU units of this network")
    learning_rate: float = number(default=0.1, above=0, note="α, gradient descent")
    weight_decay: float = number(default=1e-2, above=0, note="λ; another run has none")
    steps: int = count(default=3_000)
    start_scale: float = number(default=8.0, above=0, note="size of a large start, over N(0, 1/rows)")
    power: float = number(default=1.0, above=0, note="of λ^L under B; any but 1 makes another function")
    many_images: int = count(default=1_400, note="digits that a solution near a large start is sought with")
    near_rate: float = number(default=0.05, above=0, note="α of that search")
    near_steps: int = count(default=1_000, note="of it")
    norms: tuple[float, ...] = numbers(
        default=(2.0, 4.0, 8.0, 12.0, 24.0, 60.0), above=0, note="|θ| of the spheres on which the loss is minimised"
    )
    sphere_steps: int = count(default=400, note="of descent on each")

    @property
    def lambdas(self) -> np.ndarray:
        """λ, from the smallest to the largest."""
        reach = np.log10(self.largest_factor)
        return np.logspace(-reach, reach, self.factors)


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


def rescaled(first: np.ndarray, second: np.ndarray, factor: float, degree: float) -> tuple[np.ndarray, np.ndarray]:
    """`(λ A, B / λ^L)`."""
    return factor * first, second / factor**degree


def squares(*matrices: np.ndarray) -> float:
    return float(sum(np.sum(matrix**2) for matrix in matrices))


def balanced_factor(first: float, second: float, degree: int) -> float:
    """`λ0 = (L b / a)^(1 / (2L + 2))`, which makes `a λ² + b / λ^2L` least."""
    return (degree * second / first) ** (1 / (2 * degree + 2))


def family(s: RescalingSettings, degree: int) -> Family:
    """A network drawn at random, rescaled by every factor."""
    from scipy.optimize import minimize_scalar

    random = np.random.default_rng([s.seed, degree])
    first, second = random.normal(size=(s.width, s.inputs)), 0.3 * random.normal(size=(s.outputs, s.width))
    points, act, factors = random.normal(size=(s.inputs, s.points)), ACTIVATIONS[degree][1], s.lambdas
    a, b = squares(first), squares(second)
    used = s.power * degree
    networks = [rescaled(first, second, factor, used) for factor in factors]
    outputs = np.array([outer @ act(inner @ points) for inner, outer in networks])
    original = second @ act(first @ points)
    search = minimize_scalar(
        lambda log: squares(*rescaled(first, second, np.exp(log), used)),
        bracket=(-1.0, 1.0),
        options={"xtol": 1e-9},
    )
    power = 1 / (degree + 1)
    return Family(
        degree,
        float(np.max(np.abs(outputs - original)) / np.max(np.abs(original))),
        np.array([squares(*network) for network in networks]),
        a * factors**2 + b / factors ** (2 * degree),
        float(np.exp(search.x)),
        balanced_factor(a, b, degree),
        float(search.fun),
        (degree**power + degree ** (-degree * power)) * (a**degree * b) ** power,
    )


@dataclass(frozen=True)
class Slice:
    """A family of networks: norms, losses, and how many test and training images are right."""

    norms: np.ndarray
    train: np.ndarray
    test: np.ndarray
    right: np.ndarray
    fitted: np.ndarray


def slice_through(problem, members) -> Slice:
    """Losses by plain NumPy: the loss of scores that are eight digits large has to come out, too."""
    parts = [(np.asarray(problem.train_images), np.asarray(problem.train_labels))]
    parts.append((np.asarray(problem.test_images), np.asarray(problem.test_labels)))
    rows = []
    for first, second in members:
        scores = [np.maximum(images @ first.T, 0) @ second.T for images, _ in parts]
        losses = [cross_entropy(z, labels) for z, (_, labels) in zip(scores, parts, strict=True)]
        fitted, right = (
            int(np.sum(np.argmax(z, axis=1) == labels)) for z, (_, labels) in zip(scores, parts, strict=True)
        )
        rows.append((np.sqrt(squares(first, second)), *losses, right, fitted))
    return Slice(*(np.array(column) for column in zip(*rows, strict=True)))


def cross_entropy(scores: np.ndarray, labels: np.ndarray) -> float:
    shifted = scores - scores.max(axis=1, keepdims=True)
    return float(np.mean(np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(labels)), labels]))


def on_sphere(problem, norm: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The start scaled to a norm, and then descent on the training loss along the sphere of that norm."""
    images, labels = np.asarray(problem.train_images), np.asarray(problem.train_labels)
    parts = [np.asarray(problem.init()[name]) for name in ("hidden", "output")]
    parts = [part * norm / np.sqrt(squares(*parts)) for part in parts]
    for _ in range(steps):
        slopes = loss_slopes(parts[0], parts[1], images, labels)
        outward = sum(np.sum(slope * part) for slope, part in zip(slopes, parts, strict=True)) / norm**2
        along = [slope - outward * part for slope, part in zip(slopes, parts, strict=True)]
        step = min(0.5, 0.02 * norm / max(np.sqrt(squares(*along)), 1e-300))  # at most a fiftieth of the norm
        parts = [part - step * slope for part, slope in zip(parts, along, strict=True)]
        parts = [part * norm / np.sqrt(squares(*parts)) for part in parts]
    return parts[0], parts[1]


def loss_slopes(first: np.ndarray, second: np.ndarray, images: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
    """The gradient of the mean cross-entropy in A and B."""
    hidden = np.maximum(images @ first.T, 0)
    scores = hidden @ second.T
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    shares[np.arange(len(labels)), labels] -= 1
    shares /= len(labels)
    return [((shares @ second) * (hidden > 0)).T @ images, shares.T @ hidden]


def spheres(problem, s: RescalingSettings) -> dict[str, np.ndarray]:
    """Losses where the training loss is as small as descent makes it at a fixed norm."""
    found = slice_through(problem, [on_sphere(problem, norm, s.sphere_steps) for norm in sorted(s.norms)])
    return {name: getattr(found, name) for name in ("norms", "train", "test", "right", "fitted")}
