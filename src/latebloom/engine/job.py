"""What every kind of job has: two milestones to watch for, and probes that go with its problem."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from latebloom.core.precision import precision
from latebloom.engine.milestones import Watch
from latebloom.penalties import AbstractPenalty
from latebloom.probes import ALWAYS, AbstractProbe
from latebloom.problems import AbstractProblem


class Watched:
    """A job with a threshold on the train error and one on the test error."""

    memorised: float
    generalised: float

    @property
    def watches(self) -> tuple[Watch, Watch]:
        """The two milestones with the job's thresholds."""
        return Watch("memorised", "train_error", self.memorised), Watch("generalised", "test_error", self.generalised)


class Probed(Watched):
    """A job whose records are made by probes."""

    problem: AbstractProblem
    penalty: AbstractPenalty | None
    probes: Sequence[AbstractProbe]

    @property
    def all_probes(self) -> tuple[AbstractProbe, ...]:
        """The probes of every run and those asked for, a column once."""
        return tuple({probe.column: probe for probe in (*ALWAYS, *self.probes)}.values())

    @cached_property
    def precision(self) -> str:
        """That of the problem, found once: it takes a trace."""
        return precision(self.problem)

    def check_parts(self) -> None:
        """Refuses probes and penalties that do not go with the problem."""
        for probe in self.all_probes:
            probe.check(self.problem, self.penalty)
        if self.penalty is not None:
            self.penalty.check(self.problem.init())
