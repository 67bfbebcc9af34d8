"""What is learned: data, model, training loss, test measure."""

from latebloom.problems.base import (
    AbstractLeastSquares,
    AbstractLinear,
    AbstractProblem,
    Params,
    require_least_squares,
    require_linear,
    require_outputs,
)
from latebloom.problems.diagonal_classifier import DiagonalClassifier
from latebloom.problems.diagonal_net import DiagonalNet
from latebloom.problems.diagonal_regression import DiagonalRegression
from latebloom.problems.embedding_mlp import EmbeddingMLP
from latebloom.problems.entries import AbstractEntries, UnobservedWarning
from latebloom.problems.factorisation import Factorisation
from latebloom.problems.faster import Faster
from latebloom.problems.image_classifier import ImageClassifier
from latebloom.problems.isolated import Isolated
from latebloom.problems.labelled import AbstractLabelled, require_labelled
from latebloom.problems.labelled_points import AbstractPoints, GaussianGap, LabelledPoints, SparseSigns
from latebloom.problems.least_squares import LeastSquares
from latebloom.problems.linear_regression import LinearRegression
from latebloom.problems.matrix import AbstractMatrix, require_matrix
from latebloom.problems.matrix_completion import MatrixCompletion
from latebloom.problems.matrix_regression import MatrixRegression
from latebloom.problems.matrix_sensing import MatrixSensing
from latebloom.problems.modular import ModularTable
from latebloom.problems.modular_classifier import ModularClassifier
from latebloom.problems.modular_net import ModularNet
from latebloom.problems.multiplication_table import MultiplicationTable
from latebloom.problems.observed_entries import ObservedEntries
from latebloom.problems.relu_net import ReluRegression
from latebloom.problems.row_classifier import AbstractRowClassifier
from latebloom.problems.rows import AbstractRows, OnRows, require_rows
from latebloom.problems.sparse_recovery import SparseRecovery
from latebloom.problems.teacher_student import TeacherStudent
from latebloom.problems.toy_models import ToyModel
from latebloom.problems.two_parts import AbstractLinearInSecond, require_linear_in_second
from latebloom.record import Record

# What the command line can build by name.
TABLE: dict[str, type[Record]] = {
    cls.name(): cls
    for cls in (
        *(SparseRecovery, MatrixCompletion, MatrixSensing, MultiplicationTable, DiagonalRegression, EmbeddingMLP),
        *(ImageClassifier, ModularClassifier, ModularNet, TeacherStudent),
    )
}

__all__ = [
    "TABLE",
    "AbstractEntries",
    "AbstractLabelled",
    "AbstractLeastSquares",
    "AbstractLinear",
    "AbstractLinearInSecond",
    "AbstractMatrix",
    "AbstractPoints",
    "AbstractProblem",
    "AbstractRowClassifier",
    "AbstractRows",
    "DiagonalClassifier",
    "DiagonalNet",
    "DiagonalRegression",
    "EmbeddingMLP",
    "Factorisation",
    "Faster",
    "GaussianGap",
    "ImageClassifier",
    "Isolated",
    "LabelledPoints",
    "LeastSquares",
    "LinearRegression",
    "MatrixCompletion",
    "MatrixRegression",
    "MatrixSensing",
    "ModularClassifier",
    "ModularNet",
    "ModularTable",
    "MultiplicationTable",
    "ObservedEntries",
    "OnRows",
    "Params",
    "ReluRegression",
    "SparseRecovery",
    "SparseSigns",
    "TeacherStudent",
    "ToyModel",
    "UnobservedWarning",
    "require_labelled",
    "require_least_squares",
    "require_linear",
    "require_linear_in_second",
    "require_matrix",
    "require_outputs",
    "require_rows",
]
