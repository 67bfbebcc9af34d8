"""The table of cases that every law runs over.

A new penalty, method or problem is one line here; then all laws apply to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

import latebloom as lb
from latebloom.core.record import Record
from latebloom.methods import AbstractMethod
from latebloom.penalties import AbstractPenalty
from latebloom.penalties.nuclear_norm import RANK_TOLERANCE
from latebloom.probes import Components, DistanceTo, GradientRatio, OffSupportNorm, SupportNorm, VectorL1
from latebloom.problems import AbstractProblem

SIZE = 6  # entries of the vectors that penalties are tried on
# How those entries are laid out: the shape of the parameters, or of each of their parts.
VECTOR, WIDE, TALL = (SIZE,), (2, 3), (3, 2)
PARTS = {"bias": (2,), "embedding": (4,)}
MATRICES = {"bias": (1, 2), "embedding": (2, 2)}


@dataclass(frozen=True)
class PenaltyCase:
    """A penalty and what is true of it."""

    name: str
    penalty: AbstractPenalty
    convex: bool = True
    has_prox: bool = True
    separable: bool = True  # a sum over the entries, each of which can be minimised by itself
    layout: Any = VECTOR
    slack: float = 1e-12  # of the subgradient inequality: a handful of roundings of numbers up to about 100

    def wrap(self, vector: Any) -> Any:
        """The parameters whose entries are `vector`."""
        if not isinstance(self.layout, dict):
            return vector.reshape(self.layout)
        ends = np.cumsum([np.prod(shape) for shape in self.layout.values()])
        starts = (0, *ends[:-1])
        parts = zip(self.layout.items(), starts, ends, strict=True)
        return {part: vector[start:end].reshape(shape) for (part, shape), start, end in parts}

    def flat(self, params: Any) -> np.ndarray:
        """The entries of the parameters."""
        leaves = [params[part] for part in self.layout] if isinstance(self.layout, dict) else [params]
        return np.concatenate([np.ravel(leaf) for leaf in leaves])

    def __str__(self) -> str:
        return self.name


def _lp(p: float) -> PenaltyCase:
    return PenaltyCase(f"lp-{p:g}", lb.Lp(0.4, p=p), convex=False)


def _nuclear(name: str, penalty: AbstractPenalty, layout: Any = WIDE, *, has_prox: bool = True) -> PenaltyCase:
    # A singular value below RANK_TOLERANCE of the largest, here at most 13, has no part in the subgradient.
    slack = 13 * RANK_TOLERANCE
    return PenaltyCase(name, penalty, separable=False, layout=layout, has_prox=has_prox, slack=slack)


PENALTIES = (
    PenaltyCase("l1", lb.L1(0.3)),
    PenaltyCase("l1-of-strength-0", lb.L1(0.0)),
    PenaltyCase("l2", lb.L2(0.7)),
    PenaltyCase("weighted-l2", lb.WeightedL2(0.7, [0.0, 0.5, 1.0, 2.0, 3.0, 0.1])),
    PenaltyCase("l2-norm", lb.L2Norm(0.9), separable=False),
    _lp(0.3),
    _lp(0.5),
    _lp(0.8),
    PenaltyCase("elastic-net", lb.L1(0.3) + lb.L2(0.7)),
    PenaltyCase("sparse-group", lb.L1(0.3) + lb.L2Norm(0.5), separable=False),
    PenaltyCase("ridge-and-norm", lb.L2Norm(0.5) + lb.L2(0.7), separable=False),
    PenaltyCase("all-three", lb.L2(0.7) + lb.L2Norm(0.5) + lb.L1(0.3), separable=False),
    PenaltyCase("l1-twice", lb.L1(0.3) + lb.L1(0.2), has_prox=False),
    PenaltyCase("lp-and-l2", lb.Lp(0.4) + lb.L2(0.7), convex=False, has_prox=False),
    PenaltyCase("l1-on-a-part", lb.OnParts(lb.L1(0.3), "embedding"), layout=PARTS),
    PenaltyCase("lp-on-a-part", lb.OnParts(lb.Lp(0.4), "bias"), layout=PARTS, convex=False),
    PenaltyCase("norm-on-both-parts", lb.OnParts(lb.L2Norm(0.5), "embedding", "bias"), layout=PARTS, separable=False),
    PenaltyCase("elastic-net-on-a-part", lb.OnParts(lb.L1(0.3) + lb.L2(0.7), "bias"), layout=PARTS),
    _nuclear("nuclear-wide", lb.NuclearNorm(0.4)),
    _nuclear("nuclear-tall", lb.NuclearNorm(0.4), TALL),
    _nuclear("nuclear-of-layers", lb.NuclearNorm(0.4), MATRICES),
    _nuclear("nuclear-on-a-part", lb.OnParts(lb.NuclearNorm(0.4), "embedding"), MATRICES),
    _nuclear("nuclear-and-l2", lb.NuclearNorm(0.4) + lb.L2(0.7)),
    _nuclear("nuclear-and-l2-norm", lb.L2Norm(0.5) + lb.NuclearNorm(0.4), TALL),
    _nuclear("nuclear-and-both-norms", lb.L2(0.7) + lb.NuclearNorm(0.4) + lb.L2Norm(0.5), MATRICES),
    _nuclear("nuclear-and-l1", lb.NuclearNorm(0.4) + lb.L1(0.3), has_prox=False),
)
CONVEX = tuple(case for case in PENALTIES if case.convex)
PROXIMABLE = tuple(case for case in PENALTIES if case.has_prox)


@dataclass(frozen=True)
class MethodCase:
    """A method and what it asks for."""

    name: str
    method: AbstractMethod
    needs_prox: bool = False
    needs_linear: bool = False

    def __str__(self) -> str:
        return self.name


METHODS = (
    MethodCase("subgradient", lb.GradientDescent(0.1)),
    MethodCase("projected", lb.ProjectedSubgradient(0.01), needs_linear=True),
    MethodCase("ista", lb.ProximalGradient(0.1), needs_prox=True),
    MethodCase("fista", lb.AcceleratedProximalGradient(0.1), needs_prox=True),
    MethodCase("adam", lb.Optax("adam", learning_rate=0.01)),
    MethodCase("adam-with-options", lb.Optax("adam", learning_rate=0.01, b1=0.8, b2=0.95)),
    MethodCase("label-noise", lb.LabelNoise(0.005, 0.01)),
    MethodCase("momentum", lb.Optax("sgd", learning_rate=0.01, momentum=0.9)),
)


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


@dataclass(frozen=True)
class ProblemCase:
    """A problem and its capabilities."""

    name: str
    problem: AbstractProblem
    linear: bool
    degree: int | None

    def __str__(self) -> str:
        return self.name


# Beside those of every run; the last five are for problems that measure a vector of `sparse`'s size.
PROBES = (
    GradientRatio(),
    Components(),
    VectorL1(),
    SupportNorm(),
    OffSupportNorm(),
    DistanceTo("ones", np.ones(20)),
)


BROUGHT_ENTRIES, BROUGHT_MEASUREMENTS = _brought()
_NET = {"hidden": jnp.array([0.3, -0.8, 1.1]), "out": jnp.array([0.5, 0.2, -0.4])}
_SQUARE = {"shape": (5, 5), "observed": 21, "init_scale": 0.5}
# Beside the default: deep, wider than the matrix, symmetric, in other bases, noisy; wide, tall and square.
MATRIX_PROBLEMS = (
    ProblemCase("completion", completion(init_scale=0.5), linear=True, degree=1),
    *(
        ProblemCase(f"completion-depth-{depth}", completion(depth=depth, width=3, init_scale=0.5), False, depth)
        for depth in (2, 3)
    ),
    ProblemCase("completion-overparametrised", completion(shape="5x6", width=8, init_scale=0.5), False, 2),
    ProblemCase("completion-symmetric", completion(**_SQUARE, form="symmetric"), linear=False, degree=2),
    ProblemCase("completion-difference", completion(**_SQUARE, form="difference", width=2), linear=False, degree=2),
    ProblemCase("completion-in-bases", completion(basis="random", init_scale=0.5), linear=True, degree=1),
    ProblemCase("sensing", sensing(init_scale=0.5), linear=True, degree=1),
    ProblemCase("sensing-gaussian", sensing(sensing="gaussian", signal_to_noise=10.0, shape="5x6"), True, 1),
    ProblemCase("sensing-depth-3", sensing(coherence=0.5, depth=3, width=4, init_scale=0.5), False, 3),
    ProblemCase("observed-entries", BROUGHT_ENTRIES, linear=True, degree=1),
    ProblemCase(
        "multiplication-table", lb.problems.MultiplicationTable(5, 0.8, init_noise=0.3, init_scale=1.0), False, 2
    ),
    ProblemCase("matrix-regression", BROUGHT_MEASUREMENTS, linear=False, degree=2),
)
PROBLEMS = (
    ProblemCase("sparse-recovery", sparse(init_scale=0.5), linear=True, degree=1),
    *(
        ProblemCase(f"sparse-recovery-depth-{depth}", sparse(depth=depth, init_scale=2.0), linear=False, degree=depth)
        for depth in (2, 3, 4)
    ),
    ProblemCase("linear-regression", lb.problems.LinearRegression.random(features=8, samples=5), True, 1),
    ProblemCase("tall-regression", lb.problems.LinearRegression.random(features=4, samples=9, noise=0.1), True, 1),
    ProblemCase("diagonal-regression", lb.problems.DiagonalRegression(8, 5, 2), linear=False, degree=2),
    ProblemCase("diagonal-regression-depth-3", lb.problems.DiagonalRegression(8, 5, 2, depth=3), False, degree=3),
    *MATRIX_PROBLEMS,
    ProblemCase("a-net", lb.problems.LeastSquares(_net_residuals, _NET, test=_net_test), linear=False, degree=None),
)


def others() -> dict[str, Record]:
    """A record of every class that has no case above, and of those that are written in another way."""
    points = lb.problems.LabelledPoints([[1.0, 0.5], [-2.0, 1.0]], [1, -1])
    signs, net = lb.problems.SparseSigns(8, 6, test_samples=20), lb.problems.ModularNet(7, 24, seed=1)
    mlp = lb.problems.EmbeddingMLP(7, 8, dimension=4, combination="matrix-product")
    listed: list[Record] = [
        *(points, signs, lb.problems.GaussianGap(6, 5, margin=3.0)),
        lb.problems.LabelledPoints([[1.0, 0.5]], [1], [[0.5, 0.5]], [-1]),
        lb.problems.LinearRegression([[1.0, 2.0]], [1.0], init=[0.1, 0.2]),
        lb.problems.DiagonalNet(8, 6, cosines=(2, 0), sines=(5,)),
        lb.problems.ToyModel("singular", init=[0.5, 3.0]),
        lb.problems.ReluRegression(6, 5, seed=3),
        *(net, lb.problems.Isolated(net, 1e-3), lb.problems.FastPart(net, "second", 9.0)),
        *(mlp, lb.problems.OnRows(mlp, [2, 0, 5])),
        lb.problems.ModularClassifier(5, 8, ordered=False, train_share=0.9, second="zero"),
        lb.problems.TeacherStudent(3, 4, samples=8, test_samples=9, sobolev=0.1, init_seed=2),
        lb.problems.ImageClassifier(width=8, train=100, test=50, init_scale=8.0),
        *(lb.problems.DiagonalClassifier(data, init_scale=0.5, depth=3) for data in (points, signs)),
        *(
            lb.LogLossDescent(0.1),
            lb.Minibatch(lb.Optax("adamw", 0.01, weight_decay=0.1, nesterov=True), 4, seed=2**40),
        ),
        lb.OnParts(lb.OnParts(lb.L1(0.1), "a", "b c") + lb.L2(0.1), "a", "b c", "d"),
        *(probe() for probe in vars(lb.probes).values() if _is_default_probe(probe)),
        *(lb.probes.DirectionCosine("it", [0.6, 0.8]), lb.probes.FunctionValues([-1.0, 0.2])),
        *(lb.probes.Norm(1), lb.probes.WeightNorm("nuclear", "hidden"), lb.probes.SoftmaxCollapse(rounded=True)),
        *(lb.probes.KernelDrift(normalised=False, samples=3), lb.probes.FourierPower("embedding")),
    ]
    return {f"{record.name()} {number}": record for number, record in enumerate(listed)}


def _is_default_probe(probe: Any) -> bool:
    """Whether it is a class of probes that needs no argument."""
    probes_of_data = (DistanceTo, lb.probes.DirectionCosine, lb.probes.FunctionValues)
    kind = isinstance(probe, type) and issubclass(probe, lb.probes.AbstractProbe)
    return kind and probe is not lb.probes.AbstractProbe and probe not in probes_of_data


OTHERS = others()
