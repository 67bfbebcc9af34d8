"""What the toy figures share: settings, the closed form of a linear model, and where a path changes phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Settings
from latebloom.core.fields import count, number
from latebloom.errors import InputError

if TYPE_CHECKING:
    from latebloom.engine.run import Run
    from latebloom.engine.training import TrainJob

SETTLED = 0.05  # slow time after memorisation
SCALE_NOTE = (
    "The paper's loss is the square without a half and its λ multiplies |w|²: the residual is entered times √2 and "
    "weight_decay = 2λ, so that losses, steps and times are the paper's."
)
FREE_NOTE = "The paper prints neither λ, learning rate nor initial weights for this figure: those are ours."


class ToySettings(Settings):
    """Gradient descent on a toy model by small steps, the whole path recorded."""

    decay: float = number(default=0.01, above=0, note="λ, which multiplies |w|²: the smallest of Figure 1")
    learning_rate: float = number(default=0.01, above=0, note="η")
    steps: int = count(default=40_000, note="slow time 2λt = 8: what is left of the slow phase is e^-8")
    memorised_at: float = number(
        default=0.03, above=0, note="error of t1: above λ over the target, at most 0.01, which weight decay leaves"
    )

    def job(self, kind: str, start: Sequence[float]) -> TrainJob:
        """Training of one model from one start."""
        return lb.TrainJob(
            lb.problems.ToyModel(kind, init=start),
            lb.GradientDescent(self.learning_rate),
            lb.L2(2 * self.decay),
            steps=self.steps,
            probes=[lb.probes.Trajectory()],
            memorised_at=self.memorised_at,
            generalised_at=self.memorised_at,
        )


def starts_of(weights: Sequence[float], size: int) -> list[tuple[float, ...]]:
    """Weights in a row as starts of `size` each."""
    if not weights or len(weights) % size:
        raise InputError(f"{len(weights)} initial weights are not whole starts of {size}: give {size} per start")
    return [tuple(weights[place : place + size]) for place in range(0, len(weights), size)]


def junction(run: Run) -> int:
    """The record at which a run has memorised; the last one if it never does."""
    below = np.flatnonzero(run["train_error"] <= _threshold(run))
    return int(below[0]) if len(below) else len(run["train_error"]) - 1


def _threshold(run: Run) -> float:
    assert run.milestones.memorised is not None
    return run.milestones.memorised.threshold


def settled(run: Run) -> int:
    """The first record at slow time 0.05 or more after memorisation.

    That is time 2.5: at a curvature of 2 or more, what the threshold left of memorising is down by e^-5.
    """
    return int(np.searchsorted(run["slow_time"], run["slow_time"][junction(run)] + SETTLED))


def memorised_at(runs: Mapping[str, Run]) -> float:
    """The latest memorisation among runs, in slow time 2λt; infinite if one never does."""
    times = [run["slow_time"][junction(run)] for run in runs.values()]
    return float(max(times)) if all(run["train_error"].min() <= _threshold(run) for run in runs.values()) else np.inf


def bend(points: np.ndarray) -> float:
    """How far a path strays from the chord between its ends, over the length of the chord.

    >>> bend(np.array([[0.0, 0.0], [1.0, 0.5], [2.0, 0.0]]))
    0.25
    """
    chord = points[-1] - points[0]
    length = np.linalg.norm(chord)
    gaps = points - points[0]
    along = gaps @ chord / length**2
    return float(np.linalg.norm(gaps - along[:, None] * chord, axis=1).max() / length)


def linear_flow(start: Any, total: float, decay: float, times: np.ndarray) -> np.ndarray:
    """The exact flow of `(Σw - total)² + λ|w|²`: a row for each time.

    Along (1, …, 1) it contracts at rate `2(n + λ)` towards the mean `total/(n + λ)`, across it at rate `2λ`.

    >>> linear_flow([-1.0, 1.0], 2.0, 0.1, np.array([0.0, 1e3])).round(4).tolist()
    [[-1.0, 1.0], [0.9524, 0.9524]]
    """
    start, times = np.asarray(start, dtype=float), np.asarray(times)[:, None]
    size, mean = len(start), float(np.mean(start))
    limit = total / (size + decay)
    return limit + (mean - limit) * np.exp(-2 * (size + decay) * times) + (start - mean) * np.exp(-2 * decay * times)
