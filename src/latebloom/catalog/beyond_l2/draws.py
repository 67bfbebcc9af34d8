"""The problems of the paper as printed, with what can be set of them, and what is to be said of their draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import latebloom as lb
from latebloom.catalog.base import Settings
from latebloom.core.fields import count, number

if TYPE_CHECKING:
    from latebloom.problems import MatrixCompletion, SparseRecovery


class SparseSettings(Settings):
    """A sparse vector measured by Gaussian rows."""

    dimension: int = count(default=100, note="n, entries of the vector")
    sparsity: int = count(default=5, note="s, entries that are not zero")
    measurements: int = count(default=30, note="N")
    init_scale: float = number(default=1e-6, least=0, note="ζ, size of the start")
    signal_to_noise: float = number(default=1e8, above=0, infinite=True, note="of the measurements")

    def problem(self, **changes: Any) -> SparseRecovery:
        """The draw, with some of its parameters changed."""
        chosen = {name: getattr(self, name) for name in ("dimension", "sparsity", "measurements", "init_scale")}
        chosen |= {"signal_to_noise": self.signal_to_noise, "seed": self.seed}
        return lb.problems.SparseRecovery(**chosen | changes)


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
THRESHOLD_NOTE = (
    "Milestones are taken at a relative error of 1e-3: the printed 1e-4 is below the l1 bias at this β plus the noise."
)
RECOVERABLE_SEED = 10
RECOVERABLE_REASON = (
    "the first draw on which the minimum nuclear-norm interpolator is the planted matrix, "
    "with room to spare for the bias of the penalty"
)
