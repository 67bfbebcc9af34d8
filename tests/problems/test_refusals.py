"""What cannot be learned is refused where it is given, in one sentence."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from cases import Mute, completion, diagonal_net, embedded, net, sparse
from refusals import Refusal, refusals

from latebloom.errors import CapabilityError, InputError
from latebloom.problems import (
    DiagonalClassifier,
    DiagonalRegression,
    FastPart,
    GaussianGap,
    ImageClassifier,
    Isolated,
    LabelledPoints,
    LeastSquares,
    LinearRegression,
    MatrixCompletion,
    MatrixRegression,
    MatrixSensing,
    ModularClassifier,
    ModularTable,
    MultiplicationTable,
    ObservedEntries,
    ReluRegression,
    SparseRecovery,
    SparseSigns,
    TeacherStudent,
    ToyModel,
    require_matrix,
    require_outputs,
)
from latebloom.problems.data.modular import OPERATIONS
from latebloom.problems.losses import loss_of_margin
from latebloom.problems.starts import symmetrised, zero_layer

NAN, INF = float("nan"), float("inf")


def _sparse(**changes: Any) -> Any:
    return SparseRecovery(**({"dimension": 10, "sparsity": 2, "measurements": 5} | changes))


def _completion(**changes: Any) -> Any:
    return MatrixCompletion(**({"shape": (4, 5), "rank": 2, "observed": 12} | changes))


def _sensing(**changes: Any) -> Any:
    return MatrixSensing(**({"shape": (4, 5), "rank": 2, "measurements": 12} | changes))


def _regression(design: Any, targets: Any, options: dict[str, Any]) -> Any:
    return LinearRegression(design, targets, **options)


def _entries(entries: Any, observed: Any, options: dict[str, Any]) -> Any:
    return ObservedEntries((2, 2), entries, observed, **options)


def _measured(measurements: Any, targets: Any, options: dict[str, Any]) -> Any:
    return MatrixRegression(measurements, targets, **options)


def _own(residuals: Any, init: Any, test: Any = None) -> Any:
    return LeastSquares(residuals, init, test=test)


def _student(**changes: Any) -> Any:
    return TeacherStudent(5, 9, **changes)


def _classes(**changes: Any) -> Any:
    return ModularClassifier(7, 16, train_share=0.6).but(**changes)


def _toy(kind: str, init: Any) -> Any:
    return ToyModel(kind, init=init)


SIGNS = SparseSigns(dimension=60, samples=12, test_samples=300, seed=3)
LAYERS = {"hidden": jnp.ones((3, 7)), "out": jnp.ones(7)}
PAIRS = [(0, 0), (0, 1), (1, 0), (1, 1)]
VECTORS = [
    (_sparse, {"sparsity": 11}, "sparsity=11 is more than dimension=10: use a sparsity between 1 and 10"),
    (_sparse, {"sparsity": 0}, "sparsity=0 is not allowed: sparsity must be finite and at least 1"),
    (_sparse, {"dimension": 0}, "dimension=0 is not allowed"),
    (_sparse, {"dimension": 10.5}, "dimension=10.5 is not allowed: dimension must be a whole number, e.g. 10"),
    (_sparse, {"measurements": -3}, "measurements=-3 is not allowed"),
    (_sparse, {"measurements": "many"}, "measurements must be a number, not 'many'"),
    (_sparse, {"depth": 0}, "depth=0 is not allowed"),
    (_sparse, {"depth": 1.5}, "depth must be a whole number"),
    (_sparse, {"seed": -1}, "seed=-1 is not allowed: seed must be finite and at least 0"),
    (_sparse, {"seed": 0.5}, "seed must be a whole number"),
    (_sparse, {"seed": float("nan")}, "seed=nan is not allowed"),
    (
        _sparse,
        {"coherence": 1.1},
        "coherence=1.1 is not allowed: coherence must be finite and at least 0 and at most 1",
    ),
    (_sparse, {"coherence": -0.1}, "coherence=-0.1 is not allowed"),
    (_sparse, {"signal_to_noise": 0}, "signal_to_noise=0 is not allowed: signal_to_noise must be finite and above 0"),
    (_sparse, {"signal_to_noise": float("nan")}, "signal_to_noise=nan is not allowed"),
    (_sparse, {"init_scale": -1}, "init_scale=-1 is not allowed"),
    (_sparse, {"init_scale": float("inf")}, "init_scale=inf is not allowed"),
    (_sparse, {"basis": "cosin"}, "unknown basis 'cosin': did you mean 'cosine'"),
    (_sparse, {"normalise": "column"}, "unknown normalise 'column': did you mean 'columns'"),
    (_sparse, {"init_kind": "gausian"}, "unknown init_kind 'gausian': did you mean 'gaussian'"),
    (_sparse, {"basis": "wavelet"}, "Known: cosine, identity, random"),
    (_regression, ([], [], {}), "design has shape (0,): design must have 2 dimensions"),
    (_regression, (np.zeros((0, 3)), [], {}), "design is empty (shape (0, 3))"),
    (_regression, (np.zeros((3, 0)), [1, 2, 3], {}), "design is empty (shape (3, 0))"),
    (_regression, ([[1.0, NAN]], [1.0], {}), "design has 1 entries that are NaN or infinite: clean the data first"),
    (_regression, ([[1.0, 2.0]], [np.inf], {}), "targets has 1 entries that are NaN or infinite"),
    (_regression, ([1.0, 2.0], [1.0], {}), "design has shape (2,): design must have 2 dimensions"),
    (_regression, ([[1.0, 2.0]], [[1.0]], {}), "targets has shape (1, 1): targets must have 1 dimension"),
    (_regression, ([[1.0, 2.0]], [1.0, 2.0], {}), "targets has 2 entries and design 1 rows: give one target a row"),
    (_regression, ([[1.0, 2.0]], [1.0], {"truth": [1.0]}), "truth has 1 entries and design 2 columns"),
    (_regression, ([[1.0, 2.0]], [1.0], {"init": [1.0] * 3}), "init has 3 entries and design 2 columns"),
    (_regression, ([[1.0, 2.0]], [1.0], {"init": [1.0, NAN]}), "init has 1 entries that are NaN"),
    (_regression, ([["a", "b"]], [1.0], {}), "design must be an array of numbers, not list"),
    (_regression, ([[1.0], [1.0, 2.0]], [1.0], {}), "design must be an array of numbers, not list"),
    (_regression, (None, [1.0], {}), "design has"),
    (LinearRegression.random, {"features": 0}, "features=0 is not allowed"),
    (LinearRegression.random, {"samples": 2.5}, "samples must be a whole number"),
    (LinearRegression.random, {"noise": -1}, "noise=-1 is not allowed"),
    (LinearRegression.random, {"init_scale": NAN}, "init_scale=nan is not allowed"),
    (LinearRegression.random, {"seed": -1}, "seed=-1 is not allowed"),
    (_own, (3, jnp.ones(2), None), "residuals must be a function of the parameters, not int"),
    (_own, (lambda w: w, jnp.ones(2), "accuracy"), "test must be a function of the parameters, not str"),
    (_own, (lambda w: w, {}, None), "init has no arrays"),
    (_own, (lambda w: w["a"], {"a": jnp.array([1.0, NAN])}, None), "init has NaN or infinite entries at ['a']"),
    (_own, (jnp.sum, jnp.ones(2), None), "residuals(init) has shape (): return a non-empty vector"),
    (_own, (lambda w: jnp.outer(w, w), jnp.ones(2), None), "residuals(init) has shape (2, 2)"),
    (_own, (lambda w: w[:0], jnp.ones(2), None), "residuals(init) has shape (0,)"),
    (_own, (lambda w: jnp.log(w - 1.0), jnp.ones(2), None), "residuals(init) has NaN or infinite entries"),
    (_own, (lambda w: w, jnp.ones(2), lambda w: w), "test(init) must be one number"),
    (
        LeastSquares,
        {"residuals": lambda w: w, "init": np.ones(2), "precision": "float23"},
        "unknown precision 'float23': did you mean 'float32'",
    ),
    (LinearRegression, {"design": [[1.0]], "targets": [1.0], "init": [NAN]}, "init has 1 entries that are NaN"),
    (DiagonalRegression, {"sparsity": 100}, "sparsity=100 is more than dimension=60"),
    (DiagonalRegression, {"depth": 1}, "depth=1 is not allowed"),
    (DiagonalRegression, {"init_scale": 0.0}, "init_scale=0.0 is not allowed"),
    (DiagonalRegression, {"samples": 0}, "samples=0 is not allowed"),
]
PLANTED = [
    ({"rank": 5}, "rank=5 is more than a matrix of shape (4, 5) can have: use at most 4"),
    ({"rank": 0}, "rank=0 is not allowed: rank must be finite and at least 1"),
    ({"rank": 1.5}, "rank=1.5 is not allowed: rank must be a whole number, e.g. 2"),
    ({"shape": "10x"}, "shape='10x' is not a shape: give rows and columns, e.g. (10, 20) or 10x20"),
    ({"shape": (3,)}, "shape=(3,) is not a shape: give rows and columns"),
    ({"shape": (3, 4, 5)}, "shape=(3, 4, 5) is not a shape"),
    ({"shape": -1}, "shape=-1 is not a shape"),
    ({"shape": 2.5}, "shape=2.5 is not a shape"),
    ({"shape": (3, 0)}, "shape=(3, 0) is not a shape"),
    ({"shape": (3, NAN)}, "shape=(3, nan) is not a shape"),
    ({"shape": None}, "shape=None is not a shape"),
    ({"shape": "axb"}, "shape='axb' is not a shape"),
    ({"form": "symetric"}, "unknown form 'symetric': did you mean 'symmetric'? Known: difference, product, symm"),
    ({"form": "symmetric"}, "form='symmetric' is a symmetric matrix and shape=(4, 5) is not square: use form='p"),
    ({"form": "difference"}, "shape=(4, 5) is not square: use form='product' or shape=(4, 4)"),
    ({"form": "symmetric", "shape": 4, "depth": 3}, "depth=3 does not go with form='symmetric', which has depth 2"),
    ({"width": 3, "depth": 1}, "width=3 does not go with depth=1, the matrix itself: use depth=2 or more"),
    ({"width": 0}, "width=0 is not allowed: width must be finite and at least 1"),
    ({"width": 2.5}, "width=2.5 is not allowed: width must be a whole number, e.g. 2"),
    ({"depth": 0}, "depth=0 is not allowed: depth must be finite and at least 1"),
    ({"depth": 1.5}, "depth=1.5 is not allowed: depth must be a whole number"),
    ({"depth": "two"}, "depth must be a number, not 'two': write it in digits"),
    ({"coherence": 1.1}, "coherence=1.1 is not allowed: coherence must be finite and at least 0 and at most 1"),
    ({"coherence": -0.1}, "coherence=-0.1 is not allowed"),
    ({"coherence": NAN}, "coherence=nan is not allowed"),
    ({"truth_norm": -1}, "truth_norm=-1 is not allowed: truth_norm must be finite and above 0"),
    ({"truth_norm": 0}, "truth_norm=0 is not allowed"),
    ({"truth_kind": "ortho"}, "unknown truth_kind 'ortho': did you mean 'orthogonal'? Known: gaussian, orthogonal"),
    ({"init_scale": -1}, "init_scale=-1 is not allowed: init_scale must be finite and at least 0"),
    ({"init_kind": "gausian"}, "unknown init_kind 'gausian': did you mean 'gaussian'? Known: gaussian, identity"),
    ({"signal_to_noise": 0}, "signal_to_noise=0 is not allowed: signal_to_noise must be finite and above 0"),
    ({"seed": -1}, "seed=-1 is not allowed"),
]
MATRICES = [
    *((make, bad, words) for bad, words in PLANTED for make in (_completion, _sensing)),
    (_completion, {"observed": 21}, "observed=21 is more than the 20 entries of a matrix of shape (4, 5)"),
    (_completion, {"observed": 0}, "observed=0 is not allowed: observed must be finite and at least 1"),
    (_completion, {"observed": 3.5}, "observed=3.5 is not allowed: observed must be a whole number"),
    (_completion, {"basis": "rand"}, "unknown basis 'rand': did you mean 'random'? Known: identity, random"),
    (_sensing, {"measurements": 0}, "measurements=0 is not allowed"),
    (_sensing, {"sensing": "rankone"}, "unknown sensing 'rankone': did you mean 'rank_one'? Known: gaussian"),
    (_sensing, {"normalise": "row"}, "unknown normalise 'row': did you mean 'rows'? Known: columns, printed"),
    (_sensing, {"sensing": "gaussian", "coherence": 0.5}, "coherence=0.5 needs measurements x zᵀ: use sensing"),
    (_entries, ([], [], {}), "entries is empty, nothing is observed: give at least one (row, column)"),
    (_entries, (np.zeros((2, 2), dtype=bool), [], {}), "entries is empty, nothing is observed"),
    (
        _entries,
        (np.ones((3, 2), dtype=bool), [1.0] * 6, {}),
        "entries is a mask of shape (3, 2): give one of the matrix's shape, (2, 2)",
    ),
    (
        _entries,
        (np.ones(4, dtype=bool), [1.0] * 4, {}),
        "entries is a mask of shape (4,): give one of the matrix's shape",
    ),
    (
        _entries,
        ([(1, 1), (0, 0), (1, 1)], [1, 2, 3], {}),
        "entry (1, 1) is given 2 times: observe each entry once, e.g. their",
    ),
    (_entries, ([(0, 2)], [1], {}), "entry (0, 2) is outside a matrix of shape (2, 2): rows and columns count from 0"),
    (_entries, ([(-1, 0)], [1], {}), "entry (-1, 0) is outside a matrix of shape (2, 2)"),
    (_entries, ([(0, 0.5)], [1], {}), "entries must be pairs (row, column) of whole numbers, or a Boolean mask"),
    (_entries, ([(0, 0), (1,)], [1, 2], {}), "entries must be pairs (row, column) of whole numbers"),
    (_entries, ([("a", "b")], [1], {}), "entries must be pairs (row, column) of whole numbers"),
    (_entries, ([(0, 1e30)], [1], {}), "is outside a matrix of shape (2, 2)"),
    (_entries, ([(0, 0)] * 2 + [(1, 1)] * 3, [1] * 5, {}), "entry (0, 0) is given 2 times"),
    (_entries, ([(0, 0, 0)], [1], {}), "entries must be pairs (row, column) of whole numbers"),
    (_entries, ([0, 1], [1], {}), "entries must be pairs (row, column) of whole numbers"),
    (_entries, ([(0, NAN)], [1], {}), "entries must be pairs (row, column) of whole numbers"),
    (_entries, (PAIRS, [1, 2, 3, NAN], {}), "observed has 1 entries that are NaN or infinite: clean the data first"),
    (_entries, (PAIRS, [1, 2, np.inf, NAN], {}), "observed has 2 entries that are NaN or infinite"),
    (_entries, (PAIRS, [1, 2, 3], {}), "observed has 3 values and entries 4 positions: give one each"),
    (_entries, (PAIRS, np.ones((2, 2)), {}), "observed has shape (2, 2): observed must have 1 dimension"),
    (_entries, (PAIRS, ["a", "b", "c", "d"], {}), "observed must be an array of numbers"),
    (
        _entries,
        (PAIRS, [1] * 4, {"truth": np.ones((3, 2))}),
        "truth has shape (3, 2): truth must have shape (2, 2), like the",
    ),
    (_entries, (PAIRS, [1] * 4, {"truth": np.ones(4)}), "truth has shape (4,): truth must have 2 dimensions"),
    (_entries, (PAIRS, [1] * 4, {"truth": [[1, 2], [3, NAN]]}), "truth has 1 entries that are NaN or infinite"),
    (_entries, (PAIRS, [1] * 4, {"form": "symmetrical"}), "unknown form 'symmetrical': did you mean 'symmetric'"),
    (_entries, (PAIRS, [1] * 4, {"init_scale": -1}), "init_scale=-1 is not allowed"),
    (_measured, (np.ones((2, 2)), [1, 2], {}), "measurements has shape (2, 2): measurements must have 3 dimensions"),
    (_measured, (np.ones((0, 2, 2)), [], {}), "measurements is empty (shape (0, 2, 2)): give at least one entry"),
    (_measured, (np.ones((2, 2, 2)), [1], {}), "targets has 1 entries and measurements 2 matrices: give one each"),
    (_measured, (np.full((1, 2, 2), np.inf), [1], {}), "measurements has 4 entries that are NaN or infinite"),
    (_measured, (np.ones((1, 2, 2)), [NAN], {}), "targets has 1 entries that are NaN or infinite"),
    (_measured, (np.ones((1, 2, 2)), [[1]], {}), "targets has shape (1, 1): targets must have 1 dimension"),
    (_measured, (np.ones((1, 2, 3)), [1], {"form": "symmetric"}), "shape=(2, 3) is not square: use form='product'"),
    (
        _measured,
        (np.ones((1, 2, 3)), [1], {"truth": np.ones((3, 2))}),
        "truth has shape (3, 2): truth must have shape (2, 3)",
    ),
    (
        _measured,
        (np.ones((1, 2, 3)), [1], {"truth": np.full((2, 3), NAN)}),
        "truth has 6 entries that are NaN or infinite",
    ),
    (MultiplicationTable, {"size": 1}, "size=1 is not allowed"),
    (MultiplicationTable, {"fraction": 0.0}, "fraction=0.0 is not allowed"),
    (MultiplicationTable, {"fraction": 1.5}, "fraction=1.5 is not allowed"),
    (MultiplicationTable, {"size": 3, "fraction": 0.01}, "fraction=0.01 of the 9 entries is none"),
    (MultiplicationTable, {"init_noise": -1.0}, "init_noise=-1.0 is not allowed"),
    (MultiplicationTable, {"form": "differnce"}, "did you mean 'difference'"),
]
NETWORKS = [
    (diagonal_net, {"cosines": (9,)}, "cosines=9 is not allowed…at most 8"),
    (diagonal_net, {"sines": (0,)}, "sines=0 is not allowed…at least 1"),
    (diagonal_net, {"cosines": (2, 2)}, "names a frequency twice"),
    (diagonal_net, {"sines": 5}, "must be a tuple of frequencies"),
    (diagonal_net, {"form": "sum"}, "unknown form 'sum'"),
    (diagonal_net, {"init_variance": -1}, "init_variance=-1 is not allowed"),
    (ReluRegression, {"width": 0}, "width=0 is not allowed"),
    (ReluRegression, {"teacher": np.ones((2, 3))}, "give three rows, u, v and b"),
    (ReluRegression, {"teacher": [[1.0], [NAN], [0.0]]}, "teacher has 1 entries that are NaN"),
    (embedded, {"dimension": 5, "combination": "matrix-product"}, "must be a square, e.g. 4 for matrices 2x2"),
    (embedded, {"embeddings": 3}, "embeddings must be finite and at least 1 and at most 2"),
    (embedded, {"biases": 1}, "biases must be true or false, got 1: write biases=True or biases=False"),
    (embedded, {"width": 0}, "width must be finite and at least 1"),
    (embedded, {"init_scale": -1.0}, "init_scale must be finite and at least 0"),
    (embedded, {"train_share": 1.0}, "train_share must be finite and above 0 and below 1"),
    (embedded, {"combination": "hadamar"}, "unknown combination 'hadamar': did you mean 'hadamard'"),
    (embedded, {"precision": "float16"}, "unknown precision 'float16'"),
    (ImageClassifier, {"train": 1797}, "train=1797 is not allowed: 'digits' has 1797 images"),
    (ImageClassifier, {"train": 1000, "test": 798}, "test=798 is not allowed: 'digits' has 1797 images, 797 without"),
    (ImageClassifier, {"width": 0}, "width must be finite and at least 1"),
    (ImageClassifier, {"init_scale": -1.0}, "init_scale must be finite and at least 0"),
    (ImageClassifier, {"data": 7}, "data must be the name of a file, or 'digits'"),
    (ImageClassifier, {"loss_kind": "square"}, "unknown loss 'square': did you mean 'squared'"),
    (ImageClassifier, {"precision": "float16"}, "unknown precision 'float16'"),
    (_student, {"samples": 1}, "samples must be finite and at least 2"),
    (_student, {"test_samples": 0}, "test_samples must be finite and at least 2"),
    (_student, {"sobolev": -0.1}, "sobolev must be finite and at least 0"),
    (_student, {"output_dimension": 1.5}, "output_dimension must be a whole number"),
    (_student, {"init_scale": NAN}, "init_scale must be finite and at least 0"),
    (_student, {"precision": "float16"}, "unknown precision 'float16'"),
    (
        TeacherStudent,
        {"dimension": 1, "width": 1, "samples": 2, "seed": 1, "output_dimension": 1},
        "with seed=1 the teacher gives all 2 samples one value",
    ),
    *(
        (ModularTable, (12, name), "modulus=12 is not allowed…prime modulus; use modulus=11 or 13")
        for name in ("division", "divide_or_subtract")
    ),
    *(
        (ModularTable, {"modulus": 7, "operation": name, "ordered": False}, "depends on the order of the pair; use ord")
        for name, operation in OPERATIONS.items()
        if not operation.commutative
    ),
    (ModularTable, (7, "divison"), "did you mean 'division'"),
    (net, {"second": "one"}, "Known: interpolating, zero"),
    (net, {"train_share": 0.01}, "is 0 rows"),
    (net, {"modulus": 1}, "modulus=1 is not allowed"),
    (
        _classes,
        {"init_scale": 1e20, "precision": "float32"},
        'no float32; use one between …, or precision="float64"',
    ),
    (_classes, {"init_scale": 0}, "init_scale=0 is not allowed"),
    (_classes, {"second": "none"}, "Known: he, zero"),
    (_classes, {"precision": "float16"}, "unknown precision"),
    (_classes, {"train_share": 1.5}, "train_share=1.5 is not allowed"),
    (_classes, {"ordered": "no"}, "ordered must be true or false, got 'no'"),
    (_toy, ("curve", None), "unknown kind of toy model 'curve': did you mean 'curved'"),
    (_toy, ("plane", [1.0, 2.0]), "init has 2 entries and the plane model 3 weights: give one a weight, e.g. ["),
    (_toy, ("curved", [1.0, 2.0, 3.0]), "init has 3 entries and the curved model 2 weights"),
    (_toy, ("curved", [1.0, NAN]), "init has 1 entries that are NaN"),
    (_toy, ("curved", [[1.0, 2.0]]), "init must have 1 dimension"),
    (ToyModel("curved").zero_loss_lines, 0, "reach=0 is not allowed"),
    (loss_of_margin, "hinge", "unknown loss 'hinge'"),
    (zero_layer, (LAYERS, "outt"), "unknown layer 'outt': did you mean 'out'"),
    (symmetrised, (LAYERS, "out", {"hidden": 1}), "axes names no axis for the output layer"),
]
POINTS = [
    (LabelledPoints, ([[1.0]], [0]), "labels contain 0, but must be +1 or -1: map them"),
    (LabelledPoints, ([[1.0], [2.0]], [1, 3]), "labels contain 3, …use +1 and -1"),
    (LabelledPoints, ([[1.0], [2.0]], [1]), "2 inputs and 1 labels do not fit"),
    (LabelledPoints, ([[NAN]], [1]), "inputs has 1 entries that are NaN"),
    (LabelledPoints, ([[1.0]], [1], [[1.0]]), "give both, or none"),
    (LabelledPoints, ([[1.0]], [1], [[1.0, 2.0]], [1]), "test_inputs have 2 columns"),
    (SparseSigns, {"dimension": 10, "samples": 4, "sparsity": 2}, "a majority needs an odd number, e.g. 3"),
    (SparseSigns, {"dimension": 2, "samples": 4, "sparsity": 3}, "sparsity=3 is not allowed"),
    (GaussianGap, {"margin": -1.0}, "margin=-1.0 is not allowed"),
    (DiagonalClassifier, {"data": SIGNS, "init_scale": 1e200}, "init_scale=1e+200 is not allowed"),
    (DiagonalClassifier, {"data": SIGNS, "init_scale": 0.0}, "init_scale=0.0 is not allowed"),
    (DiagonalClassifier, {"data": [[1.0]]}, "data must be labelled points, not list"),
    (DiagonalClassifier, {"data": SIGNS, "loss_kind": "hinge"}, "unknown loss 'hinge'"),
]
WRAPPED = [
    (Isolated, net(width=10), "10 hidden units cannot have it on 20 training samples"),
    (Isolated, net(init_std=0.0), "are dependent"),
    (Isolated, (net(), -1), "weight_decay=-1"),
    (FastPart, (net(), "sekond", 2), "did you mean 'second'"),
    (FastPart, (net(), "second", 0), "speed=0 is not allowed"),
    (FastPart, ("net", "second", 2), "takes a problem record"),
]
UNABLE = [
    (
        require_outputs,
        (Mute(), "KernelDrift"),
        "needs a problem that gives its outputs on the training set; Mute does not",
    ),
    (Isolated, sparse(), "linear in its second part"),
    (FastPart, (sparse(), "second", 2), "dictionary of parts"),
    (
        require_matrix,
        (sparse(), "this test"),
        "this test needs a problem that measures a matrix; SparseRecovery has none: use MatrixCompletion or Matr",
    ),
    (sparse().log_loss, jnp.zeros(3), "gives no logarithm of its loss"),
]


@refusals({InputError: [*VECTORS, *MATRICES, *NETWORKS, *POINTS, *WRAPPED], CapabilityError: UNABLE})
def test_what_cannot_be_learned_is_refused(refusal: Refusal):
    refusal.check()


def test_a_problem_with_a_matrix_is_given_back():
    problem = completion()
    assert require_matrix(problem, "this test") is problem


def test_a_scale_that_single_precision_has_no_room_for_is_one_in_double():
    assert ModularClassifier(7, 16, train_share=0.6, init_scale=1e20).init_scale == 1e20
