"""What is learned: data, model, training loss, test measure."""

from latebloom.problems.base import (
    AbstractLeastSquares,
    AbstractLinear,
    AbstractProblem,
    Params,
    require_least_squares,
    require_linear,
)
from latebloom.problems.diagonal_classifier import DiagonalClassifier
from latebloom.problems.diagonal_net import DiagonalNet
from latebloom.problems.entries import AbstractEntries, UnobservedWarning
from latebloom.problems.factorisation import Factorisation
from latebloom.problems.labelled import AbstractLabelled, GaussianGap, LabelledPoints, SparseSigns
from latebloom.problems.least_squares import LeastSquares
from latebloom.problems.linear_regression import LinearRegression
from latebloom.problems.matrix import AbstractMatrix, require_matrix
from latebloom.problems.matrix_completion import MatrixCompletion
from latebloom.problems.matrix_regression import MatrixRegression
from latebloom.problems.matrix_sensing import MatrixSensing
from latebloom.problems.observed_entries import ObservedEntries
from latebloom.problems.relu_net import ReluRegression
from latebloom.problems.sparse_recovery import SparseRecovery
from latebloom.problems.toy_models import ToyModel
from latebloom.record import Record

# What the command line can build by name.
TABLE: dict[str, type[Record]] = {cls.name(): cls for cls in (SparseRecovery, MatrixCompletion, MatrixSensing)}

__all__ = [
    "TABLE",
    "AbstractEntries",
    "AbstractLabelled",
    "AbstractLeastSquares",
    "AbstractLinear",
    "AbstractMatrix",
    "AbstractProblem",
    "DiagonalClassifier",
    "DiagonalNet",
    "Factorisation",
    "GaussianGap",
    "LabelledPoints",
    "LeastSquares",
    "LinearRegression",
    "MatrixCompletion",
    "MatrixRegression",
    "MatrixSensing",
    "ObservedEntries",
    "Params",
    "ReluRegression",
    "SparseRecovery",
    "SparseSigns",
    "ToyModel",
    "UnobservedWarning",
    "require_least_squares",
    "require_linear",
    "require_matrix",
]
