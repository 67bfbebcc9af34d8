"""The share of right answers, as a count over a count."""

from __future__ import annotations

from latebloom.probes.base import AbstractProbe
from latebloom.problems.labelled import require_labelled


class TrainAccuracy(AbstractProbe):
    """The share of training rows whose largest score is at the right class."""

    def check(self, problem, penalty):
        require_labelled(problem, "TrainAccuracy")

    def measure(self, problem, penalty, params):
        return problem.accuracy(params, "train")


class TestAccuracy(AbstractProbe):
    """The share of test rows whose largest score is at the right class."""

    __test__ = False  # the name is the field's, pytest must not collect it

    def check(self, problem, penalty):
        require_labelled(problem, "TestAccuracy")

    def measure(self, problem, penalty, params):
        return problem.accuracy(params, "test")
