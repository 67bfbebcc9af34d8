"""The losses and the two errors that decide memorised and generalised."""

from __future__ import annotations

from latebloom.errors import CapabilityError
from latebloom.probes.base import AbstractProbe
from latebloom.problems.base import require_log_loss
from latebloom.problems.networks.teacher_student import TeacherStudent
from latebloom.problems.rows import AbstractRows


class TrainLoss(AbstractProbe):
    """The training loss `F`, without the penalty."""

    def measure(self, problem, penalty, params):
        return problem.loss(params)


class TrainLogLoss(AbstractProbe):
    """`log F`, also where F is below every float: column `train_log_loss`."""

    tried_on = "'diagonal_classifier[sparse_signs[dimension=500,samples=40]]'"

    def check(self, problem, penalty):
        require_log_loss(problem, "TrainLogLoss")

    def measure(self, problem, penalty, params):
        return problem.log_loss(params)


class TestLoss(AbstractProbe):
    """The mean of the training loss's terms over the test rows."""

    tried_on = "'embedding_mlp[modulus=7,width=8]'"
    __test__ = False  # the name is the field's, pytest must not collect it

    def check(self, problem, penalty):
        if not (isinstance(problem, AbstractRows) and problem.has_test):
            raise CapabilityError(
                f"TestLoss needs a loss that is a mean over rows, and test rows; {type(problem).__name__} has none: "
                "use test_error, which every run records"
            )

    def measure(self, problem, penalty, params):
        return problem.test_loss(params)


class TrainError(AbstractProbe):
    """The problem's training error."""

    def measure(self, problem, penalty, params):
        return problem.train_error(params)


class TestError(AbstractProbe):
    """The problem's test error."""

    __test__ = False  # the name is the field's, pytest must not collect it

    def measure(self, problem, penalty, params):
        return problem.test_error(params)


class TestR2(AbstractProbe):
    """`R² = 1 - Σ |y - y*|² / Σ |y* - mean of y*|²` over the test set: 0 is the best constant, 1 a perfect fit.

    Column `test_r2`. A test error that has fallen by orders of magnitude can still be near that of a constant.
    """

    tried_on = "'teacher_student[dimension=20,width=100,samples=20]'"
    __test__ = False  # the name is the field's, pytest must not collect it

    @property
    def column(self) -> str:
        return "test_r2"

    def check(self, problem, penalty):
        if not isinstance(problem, TeacherStudent):
            raise CapabilityError(
                f"TestR2 needs test targets with a variance and {type(problem).__name__} has none: use TeacherStudent, "
                "or test_error, which every run records"
            )

    def measure(self, problem, penalty, params):
        return 1 - problem.test_error(params)
