"""The problems of the paper as printed, with what can be set of them, and what is to be said of their draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import latebloom as lb
from latebloom.catalog.base import Settings
from latebloom.core.fields import count, number, numbers

if TYPE_CHECKING:
    from latebloom.engine.training import TrainJob
    from latebloom.problems import MatrixCompletion, SparseRecovery


class VectorSettings(Settings):
    """A sparse vector measured by Gaussian rows; sparsity and number of rows are declared by what varies them."""

    dimension: int = count(default=100, note="n, entries of the vector")
    init_scale: float = number(default=1e-6, least=0, note="ζ, size of the start")
    signal_to_noise: float = number(default=1e8, above=0, infinite=True, note="of the measurements")

    def problem(self, **changes: Any) -> SparseRecovery:
        """The draw, with some of its parameters changed."""
        known = ("dimension", "sparsity", "measurements", "init_scale", "signal_to_noise", "seed")
        chosen = {name: getattr(self, name) for name in known if hasattr(self, name)}
        return lb.problems.SparseRecovery(**chosen | changes)


class SparseSettings(VectorSettings):
    """A sparse vector measured by so many Gaussian rows."""

    sparsity: int = count(default=5, note="s, entries that are not zero")
    measurements: int = count(default=30, note="N")


class LooseSettings(VectorSettings):
    """l1 descent over numbers of measurements of variance 1/n, with milestones that the bias allows at every size."""

    counts: tuple[int, ...] = numbers(default=range(10, 101, 10), whole=True, least=1, note="N, measurements")
    learning_rate: float = number(default=0.1, above=0, note="α")
    strength: float = number(default=1e-5, least=0, note="β, of the l1 norm")
    steps: int = count(default=1_000_000)
    threshold: float = number(default=1e-2, above=0, note="relative error of t1 and t2")

    def job(self, **problem: Any) -> TrainJob:
        """A run on the draw, with some of its parameters changed."""
        return lb.TrainJob(
            self.problem(normalise="rows", **problem),
            lb.GradientDescent(self.learning_rate),
            lb.L1(self.strength),
            steps=self.steps,
            memorised_at=self.threshold,
            generalised_at=self.threshold,
        )


class CompletionSettings(Settings):
    """A planted matrix of which some entries are observed, without noise."""

    side: int = count(default=10, note="n1 = n2")
    rank: int = count(default=2, note="r")
    observed: int = count(default=70, note="N, entries that are observed")
    init_scale: float = number(default=1e-6, least=0, note="ζ, size of the start")

    def problem(self, **changes: Any) -> MatrixCompletion:
        """The draw, with some of its parameters changed."""
        chosen: dict[str, Any] = {"shape": (self.side, self.side), "rank": self.rank, "observed": self.observed}
        chosen |= {"init_scale": self.init_scale, "seed": self.seed}
        return lb.problems.MatrixCompletion(**chosen | changes)


COLUMNS_NOTE = (
    "The measurements have columns of unit norm on average (variance 1/N). As printed (variance 1/n) the l1 term "
    "holds the training error near 1e-3 of |y| and memorisation is n/N times slower; the slow phase is the same."
)
ROWS_NOTE = "Measurements of variance 1/n, as printed."
THRESHOLD_NOTE = (
    "Milestones are taken at a relative error of 1e-3: the printed 1e-4 is below the l1 bias at this β plus the noise."
)
RECOVERABLE_SEED = 10
RECOVERABLE_REASON = (
    "the first draw on which the minimum nuclear-norm interpolator is the planted matrix, "
    "with room to spare for the bias of the penalty"
)
