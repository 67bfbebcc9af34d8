"""What is learned: data, model, training loss, test measure."""

from latebloom.core.arrays import Params
from latebloom.core.record import concrete
from latebloom.problems.base import (
    AbstractLeastSquares,
    AbstractLinear,
    AbstractProblem,
    require_least_squares,
    require_linear,
    require_outputs,
)
from latebloom.problems.classifier import AbstractLabelled, AbstractRowClassifier, require_labelled
from latebloom.problems.data.labelled_points import AbstractPoints, GaussianGap, LabelledPoints, SparseSigns
from latebloom.problems.data.modular import ModularTable
from latebloom.problems.last_layer import AbstractLinearInSecond, require_linear_in_second
from latebloom.problems.matrix.base import AbstractMatrix, require_matrix
from latebloom.problems.matrix.completion import MatrixCompletion
from latebloom.problems.matrix.entries import AbstractEntries, UnobservedWarning
from latebloom.problems.matrix.factorisation import Factorisation
from latebloom.problems.matrix.multiplication_table import MultiplicationTable
from latebloom.problems.matrix.observed_entries import ObservedEntries
from latebloom.problems.matrix.regression import MatrixRegression
from latebloom.problems.matrix.sensing import MatrixSensing
from latebloom.problems.networks.diagonal_classifier import DiagonalClassifier
from latebloom.problems.networks.embedding_mlp import EmbeddingMLP
from latebloom.problems.networks.image_classifier import ImageClassifier
from latebloom.problems.networks.modular_classifier import ModularClassifier
from latebloom.problems.networks.modular_net import ModularNet
from latebloom.problems.networks.relu_net import ReluRegression
from latebloom.problems.networks.teacher_student import TeacherStudent
from latebloom.problems.own import LeastSquares
from latebloom.problems.rows import AbstractRows, OnRows, require_rows
from latebloom.problems.vector.diagonal_net import DiagonalNet
from latebloom.problems.vector.diagonal_regression import DiagonalRegression
from latebloom.problems.vector.linear_regression import LinearRegression
from latebloom.problems.vector.sparse_recovery import SparseRecovery
from latebloom.problems.vector.toy_models import ToyModel
from latebloom.problems.wrap.fast_part import FastPart
from latebloom.problems.wrap.isolated import Isolated

TABLE = concrete(AbstractProblem)  # what the command line can build by name

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
    "FastPart",
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
