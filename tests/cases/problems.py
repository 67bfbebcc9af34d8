"""Problems, their capabilities, and the small sizes that tests share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import latebloom as lb
from latebloom.core.record import Record
from latebloom.problems import AbstractLinearInSecond, AbstractProblem
from latebloom.problems.networks.embedding_mlp import COMBINATIONS
from latebloom.problems.vector.toy_models import KINDS

DOUBLE = {"precision": "float64"}


def sparse(**changes: Any) -> lb.problems.SparseRecovery:
    """A small sparse recovery; every test that can uses these sizes, so that they share compiled programs."""
    return lb.problems.SparseRecovery(**({"dimension": 20, "sparsity": 2, "measurements": 12, "seed": 1} | changes))


def completion(**changes: Any) -> lb.problems.MatrixCompletion:
    """A small matrix completion, every row and column observed."""
    return lb.problems.MatrixCompletion(**({"shape": (6, 5), "rank": 2, "observed": 24, "seed": 1} | changes))


def sensing(**changes: Any) -> lb.problems.MatrixSensing:
    """A small matrix sensing."""
    return lb.problems.MatrixSensing(**({"shape": (6, 5), "rank": 2, "measurements": 20, "seed": 1} | changes))


def _brought() -> tuple[lb.problems.ObservedEntries, lb.problems.MatrixRegression]:
    """Data of one's own: entries in no order, and measurements that are not of rank one."""
    random = np.random.default_rng(5)
    truth, seen = np.outer([1.0, -2.0, 0.5], [0.3, 1.0, -1.0, 2.0]), [(2, 3), (0, 0), (1, 2), (0, 1), (2, 0)]
    values = [truth[entry] for entry in seen]
    measurements = random.normal(size=(7, 3, 4))
    return (
        lb.problems.ObservedEntries((3, 4), seen, values, truth=truth, init_scale=0.3),
        lb.problems.MatrixRegression(measurements, random.normal(size=7), truth=truth, width=2, init_scale=0.3),
    )


def _curve_residuals(params):
    return params["w"] - 1.0


def _curve_test(params):
    level, amplitude, frequency, tilt = params["curve"]
    step = jnp.log(jnp.abs(1.0 - params["w"][0])) / jnp.log(1 - CURVE_RATE)
    return level + amplitude * jnp.cos(frequency * step) - tilt * step


CURVE_RATE = 1e-2


def curve(level: float, amplitude: float, frequency: float, tilt: float = 0.0) -> lb.problems.LeastSquares:
    """A problem whose test error is `level + amplitude cos(frequency k) - tilt k` at step `k`.

    Gradient descent with `CURVE_RATE` gives `1 - w = (1 - CURVE_RATE)^k`, from which `test` reads the step.
    The curve's numbers are parameters without a gradient: all curves share one compiled program.
    """
    start = {"w": jnp.zeros(1), "curve": jnp.array([level, amplitude, frequency, tilt])}
    return lb.problems.LeastSquares(_curve_residuals, start, test=_curve_test, label="curve")


def _net_residuals(params):
    inputs = jnp.linspace(-1.0, 1.0, 5)
    return params["out"] @ jnp.tanh(params["hidden"][:, None] * inputs) - inputs**3


def _net_test(params):
    return jnp.abs(params["out"] @ jnp.tanh(params["hidden"] * 0.3) - 0.027)


def net(**changes: Any) -> lb.problems.ModularNet:
    """A small network on modular addition: 20 training pairs, 24 units."""
    return lb.problems.ModularNet(**({"modulus": 7, "width": 24, "seed": 1} | changes))


def embedded(**changes: Any) -> lb.problems.EmbeddingMLP:
    """A small network on embeddings: 29 training pairs, in double precision."""
    options = {"modulus": 7, "width": 8, "dimension": 4, "train_share": 0.6} | DOUBLE
    return lb.problems.EmbeddingMLP(**(options | changes))


def student(**changes: Any) -> lb.problems.TeacherStudent:
    """A small student of a small teacher, in double precision."""
    options = {"dimension": 3, "width": 4, "samples": 8, "test_samples": 9} | DOUBLE
    return lb.problems.TeacherStudent(**(options | changes))


def diagonal_regression(**changes: Any) -> lb.problems.DiagonalRegression:
    """A small diagonal network that regresses."""
    return lb.problems.DiagonalRegression(**({"dimension": 12, "samples": 6, "sparsity": 2} | changes))


def diagonal_net(**changes: Any) -> lb.problems.DiagonalNet:
    """A small sum of waves."""
    options = {"frequencies": 8, "samples": 6, "cosines": (0, 2), "sines": (5,), "seed": 1}
    return lb.problems.DiagonalNet(**(options | changes))


class TanhNet(AbstractLinearInSecond):
    """A problem of one's own: tanh features, a bias among the first part, another weight, random targets."""

    weight: float
    targets: jax.Array

    def __init__(self):
        self.weight = 1.0
        self.targets = jnp.asarray(np.random.default_rng(0).normal(size=(5, 2)))

    def init(self):
        random = np.random.default_rng(1)
        first = {"kernel": jnp.asarray(random.normal(size=(3, 6))), "bias": jnp.asarray(random.normal(size=6))}
        return {"first": first, "second": jnp.zeros((6, 2))}

    def features(self, first):
        inputs = np.random.default_rng(2).normal(size=(5, 3))
        return jnp.tanh(inputs @ first["kernel"] + first["bias"])

    def test_error(self, params):
        return self.train_error(params)


class Mute(AbstractProblem):
    """A loss and nothing else: no residuals, no outputs, no labels, no truth."""

    def init(self):
        return jnp.ones(2)

    def loss(self, params):
        return jnp.sum(jnp.log1p(jnp.exp(-params)))

    def train_error(self, params):
        return self.loss(params)

    def test_error(self, params):
        return self.loss(params)


@dataclass(frozen=True)
class ProblemCase:
    """A problem and its capabilities."""

    name: str
    problem: Any  # an AbstractProblem, whose capabilities the laws ask for
    linear: bool = False
    degree: int | None = None
    slack: float = 1e-12  # of the gradient, relative to its largest entry; more where equations are solved

    def __str__(self) -> str:
        return self.name


BROUGHT_ENTRIES, BROUGHT_MEASUREMENTS = _brought()
_NET = {"hidden": jnp.array([0.3, -0.8, 1.1]), "out": jnp.array([0.5, 0.2, -0.4])}
_SQUARE = {"shape": (5, 5), "observed": 21, "init_scale": 0.5}
# Beside the default: deep, wider than the matrix, symmetric, in other bases, noisy; wide, tall and square.
MATRIX_PROBLEMS = (
    ProblemCase("completion", completion(init_scale=0.5), linear=True, degree=1),
    *(
        ProblemCase(f"completion-depth-{depth}", completion(depth=depth, width=3, init_scale=0.5), degree=depth)
        for depth in (2, 3)
    ),
    ProblemCase("completion-overparametrised", completion(shape="5x6", width=8, init_scale=0.5), degree=2),
    ProblemCase("completion-symmetric", completion(**_SQUARE, form="symmetric"), degree=2),
    ProblemCase("completion-difference", completion(**_SQUARE, form="difference", width=2), degree=2),
    ProblemCase("completion-in-bases", completion(basis="random", init_scale=0.5), linear=True, degree=1),
    ProblemCase("sensing", sensing(init_scale=0.5), linear=True, degree=1),
    ProblemCase(
        "sensing-gaussian", sensing(sensing="gaussian", signal_to_noise=10.0, shape="5x6"), linear=True, degree=1
    ),
    ProblemCase("sensing-depth-3", sensing(coherence=0.5, depth=3, width=4, init_scale=0.5), degree=3),
    ProblemCase("observed-entries", BROUGHT_ENTRIES, linear=True, degree=1),
    ProblemCase(
        "multiplication-table", lb.problems.MultiplicationTable(5, 0.8, init_noise=0.3, init_scale=1.0), degree=2
    ),
    ProblemCase("matrix-regression", BROUGHT_MEASUREMENTS, degree=2),
)


def _vectors() -> Iterator[ProblemCase]:
    yield ProblemCase("sparse-recovery", sparse(init_scale=0.5), linear=True, degree=1)
    for depth in (2, 3, 4):
        yield ProblemCase(f"sparse-recovery-depth-{depth}", sparse(depth=depth, init_scale=2.0), degree=depth)
    make = lb.problems.LinearRegression.random
    yield ProblemCase("linear-regression", make(features=8, samples=5), linear=True, degree=1)
    yield ProblemCase("tall-regression", make(features=4, samples=9, noise=0.1), linear=True, degree=1)
    yield ProblemCase("diagonal-regression", lb.problems.DiagonalRegression(8, 5, 2), degree=2)
    yield ProblemCase("diagonal-regression-depth-3", lb.problems.DiagonalRegression(8, 5, 2, depth=3), degree=3)
    for form in ("product", "difference"):
        yield ProblemCase(f"diagonal-net-{form}", diagonal_net(form=form), degree=2)
    for kind, toy in KINDS.items():
        yield ProblemCase(f"toy-{kind}", lb.problems.ToyModel(kind), degree=toy.degree)


def _classifiers() -> Iterator[ProblemCase]:
    for depth in (1, 2, 3):
        for loss in ("logistic", "exponential"):
            problem = lb.problems.DiagonalClassifier(SIGNS, init_scale=0.4, depth=depth, loss_kind=loss)
            yield ProblemCase(f"diagonal-classifier-{loss}-{depth}", problem, degree=depth)
    yield ProblemCase("diagonal-classifier-gap", lb.problems.DiagonalClassifier(GAP, init_scale=0.4), degree=2)
    for ordered in (True, False):
        problem = lb.problems.ModularClassifier(7, 8, ordered=ordered, train_share=0.8, init_scale=2.0, seed=3)
        yield ProblemCase(f"modular-classifier-{'pairs' if ordered else 'unordered'}", problem, degree=2)
    for combination in COMBINATIONS:
        degree = 4 if combination in ("hadamard", "matrix-product") else 3
        problem = embedded(combination=combination, biases=False, embeddings=1 + (degree == 3))
        yield ProblemCase(f"embedding-mlp-{combination}", problem, degree=degree)
    yield ProblemCase("embedding-mlp-with-biases", embedded())
    for loss in ("cross_entropy", "squared"):
        options = {"width": 8, "train": 40, "test": 30, "init_scale": 2.0, "loss_kind": loss} | DOUBLE
        yield ProblemCase(f"image-classifier-{loss}", lb.problems.ImageClassifier(**options), degree=2)


def _networks() -> Iterator[ProblemCase]:
    yield ProblemCase("relu-regression", lb.problems.ReluRegression(6, 5, seed=3), degree=2)
    yield ProblemCase("modular-net", net(), degree=2)
    yield ProblemCase("tanh-net", TanhNet())
    yield ProblemCase("teacher-student", student(), degree=2)
    yield ProblemCase("teacher-student-sobolev", student(sobolev=0.3), degree=2)
    yield ProblemCase("a-net", lb.problems.LeastSquares(_net_residuals, _NET, test=_net_test))


def _wrapped() -> Iterator[ProblemCase]:
    for weight_decay in (0.0, 1e-3, 0.5):
        for name, problem in (("net", net()), ("tanh", TanhNet())):
            isolated = lb.problems.Isolated(problem, weight_decay)
            yield ProblemCase(f"isolated-{name}-{weight_decay:g}", isolated, slack=1e-10)
    yield ProblemCase("fast-part", lb.problems.FastPart(net(), "second", 4.0), degree=2)
    yield ProblemCase("on-rows", lb.problems.OnRows(embedded(biases=False), [2, 0, 5]), degree=4)


POINTS = lb.problems.LabelledPoints([[1.0, 0.5], [-2.0, 1.0]], [1, -1])
SIGNS, GAP = lb.problems.SparseSigns(8, 6, test_samples=20), lb.problems.GaussianGap(6, 5, margin=3.0)
PROBLEMS = (*_vectors(), *MATRIX_PROBLEMS, *_classifiers(), *_networks(), *_wrapped())
_BY_NAME = {case.name: case for case in PROBLEMS}


def problem_case(name: str) -> ProblemCase:
    """The case of this name."""
    return _BY_NAME[name]


# Records that are written in another way than those of the cases; their texts and plain forms obey the laws, too.
WRITTEN_OTHERWISE: tuple[Record, ...] = (
    *(POINTS, SIGNS, GAP, lb.problems.LabelledPoints([[1.0, 0.5]], [1], [[0.5, 0.5]], [-1])),
    lb.problems.LinearRegression([[1.0, 2.0]], [1.0], init=[0.1, 0.2]),
    lb.problems.DiagonalNet(8, 6, cosines=(2, 0), sines=(5,)),
    lb.problems.ToyModel("singular", init=[0.5, 3.0]),
    lb.problems.DiagonalClassifier(POINTS, init_scale=0.5, depth=3),
    lb.problems.EmbeddingMLP(7, 8, dimension=4, combination="matrix-product"),
    lb.problems.ModularClassifier(5, 8, ordered=False, train_share=0.9, second="zero"),
    lb.problems.TeacherStudent(3, 4, samples=8, test_samples=9, sobolev=0.1, init_seed=2),
    lb.problems.ImageClassifier(width=8, train=100, test=50, init_scale=8.0),
    completion(shape=(4, 4), observed=16, form="symmetric", seed=2**60 + 1),
    completion(width=3, coherence=1 / 3, init_scale=0.1 + 0.2, basis="random", truth_kind="gaussian"),
    sensing(shape=(1, 7), rank=1, sensing="gaussian", normalise="printed"),
    sensing(width=3, coherence=1 / 3, init_scale=0.1 + 0.2, signal_to_noise=1e8, truth_kind="gaussian"),
    sensing(depth=3, init_kind="identity", init_scale=0.0, seed=2**60 + 1),
    sensing(shape=5, form="difference", width=2),
    sparse(init_scale=0.1 + 0.2, seed=1_000_000, coherence=1 / 3, depth=2, basis="cosine", init_kind="zeros"),
    sparse(signal_to_noise=np.inf),
)
