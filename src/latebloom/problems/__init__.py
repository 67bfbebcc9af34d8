"""What is learned: data, model, training loss, test measure."""

from latebloom.problems.base import (
    AbstractLeastSquares,
    AbstractLinear,
    AbstractProblem,
    Params,
    require_least_squares,
    require_linear,
)
from latebloom.problems.least_squares import LeastSquares
from latebloom.problems.linear_regression import LinearRegression
from latebloom.problems.sparse_recovery import SparseRecovery
from latebloom.record import Record

# What the command line can build by name.
TABLE: dict[str, type[Record]] = {cls.name(): cls for cls in (SparseRecovery,)}

__all__ = [
    "TABLE",
    "AbstractLeastSquares",
    "AbstractLinear",
    "AbstractProblem",
    "LeastSquares",
    "LinearRegression",
    "Params",
    "SparseRecovery",
    "require_least_squares",
    "require_linear",
]
