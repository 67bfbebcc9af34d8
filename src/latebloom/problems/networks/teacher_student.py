"""A two-layer ReLU network that learns a teacher of its own form from a few samples, perhaps with their slopes."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.core.arrays import to_jax
from latebloom.core.seeds import generator
from latebloom.errors import InputError
from latebloom.problems.base import AbstractLeastSquares
from latebloom.problems.networks.embedding_mlp import PRECISIONS
from latebloom.problems.rows import AbstractRows

FIRST, SECOND = "first", "second"


class TeacherStudent(AbstractRows, AbstractLeastSquares):
    """`y(x) = B max(A x, 0)`, fitted to `samples` values of a teacher `y*` of the same form, without noise.

    Loss `(1/2N) Σ |y(x_i) - y*(x_i)|²`, plus, in Sobolev training of strength β > 0, the same for the Jacobians in x:
    `(β/N) Σ |∂y(x_i) - ∂y*(x_i)|²` (Frobenius, squared, without the half, as printed), with the teacher's exact
    Jacobian `B* diag(A* x > 0) A*`. The derivative of max(z, 0) at 0 is taken as 0.

    Inputs and A* have entries N(0, 1), B* entries N(0, 1/width²); A (`width` x `dimension`) starts as N(0, 1/width) and
    B (`output_dimension` x `width`) as N(0, 1/output_dimension), times `init_scale`: parts `first` and `second`.

    `train_error` and `test_error` are shares of the targets' variance, `Σ |y - y*|² / Σ |y* - mean of y*|²`: 1 is the
    best constant, 0 a perfect fit, and R² is 1 less it. `loss` and `test_loss` are in the units of the targets.

    - `width`: hidden units of teacher and student alike.
    - `sobolev`: β; 0 leaves the slopes out.
    - `precision`: "float32" or "float64".
    - `seed` draws teacher and data, `init_seed` the student's start (None for `seed`).

    >>> problem = TeacherStudent(dimension=5, width=8, samples=10)
    >>> {name: part.shape for name, part in problem.init().items()}, problem.rows
    ({'first': (8, 5), 'second': (2, 8)}, 10)
    >>> float(problem.test_error(problem.teacher)), float(problem.loss(problem.teacher))
    (0.0, 0.0)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Section 4, Appendices H.3.2 and H.3.3.
    """

    dimension: int = fields.count(default=100, static=True, note="entries of an input")
    width: int = fields.count(default=500, static=True, note="hidden units of teacher and student")
    _: KW_ONLY
    output_dimension: int = fields.count(default=2, static=True, note="entries of an output")
    samples: int = fields.count(default=100, least=2, static=True, note="N")  # one sample has no variance
    test_samples: int = fields.count(default=1000, least=2, static=True, note="inputs to test on")
    slopes: bool = fields.derived(static=True)
    sobolev: float = fields.number(default=0.0, least=0, note="β, of the slopes in the loss; 0 leaves them out")
    init_scale: float = fields.number(default=1.0, least=0, note="what the start is multiplied by")
    precision: str = fields.choice(PRECISIONS, default="float32", static=True, note="of all arithmetic")
    seed: int = fields.seed(default=0, note="draws teacher and data")
    init_seed: int | Any = fields.seed(default=None, follows="seed", note="draws the start; None for seed")
    teacher: dict[str, jax.Array] = fields.derived()
    inputs: jax.Array = fields.derived()
    targets: jax.Array = fields.derived()
    test_inputs: jax.Array = fields.derived()
    test_targets: jax.Array = fields.derived()
    start: dict[str, jax.Array] = fields.derived()

    def derive(self):
        shapes = {FIRST: (self.width, self.dimension), SECOND: (self.output_dimension, self.width)}
        sizes = {FIRST: 1.0, SECOND: 1 / self.width}
        teacher = {
            name: self._array(generator(self.seed, f"teacher {name}").normal(size=shape) * sizes[name])
            for name, shape in shapes.items()
        }
        start = {
            name: self._array(generator(self.init_seed, name).normal(size=shape) * self.init_scale / np.sqrt(shape[0]))
            for name, shape in shapes.items()
        }
        inputs, test_inputs = (
            self._array(generator(self.seed, f"{part} inputs").normal(size=(count, self.dimension)))
            for part, count in (("train", self.samples), ("test", self.test_samples))
        )
        targets, test_targets = network(teacher, inputs), network(teacher, test_inputs)
        if not (targets != targets[0]).any() or not (test_targets != test_targets[0]).any():
            raise InputError(
                f"with seed={self.seed} the teacher gives all {self.samples} samples one value, and an error has no "
                "variance to be a share of: use another seed, more samples or more units"
            )
        tests = {"test_inputs": test_inputs, "test_targets": test_targets}
        data = {"teacher": teacher, "inputs": inputs, "targets": targets, **tests}
        return {"slopes": self.sobolev > 0, "start": start, **data}

    def _array(self, values: np.ndarray) -> jax.Array:
        return to_jax(np.asarray(values, self.precision))

    def init(self) -> dict[str, jax.Array]:
        return self.start

    @property
    def weights(self) -> tuple[str, ...]:
        """The names of the parts that are matrices: both."""
        return tuple(self.start)

    @property
    def rows(self) -> int:
        return self.samples

    def predict(self, params: Any, inputs: Any) -> jax.Array:
        """What the network says, a row an input."""
        return network(params, inputs)

    def loss_on(self, params: Any, rows: jax.Array) -> jax.Array:
        return self._loss(params, self.inputs[rows], self.targets[rows])

    def loss(self, params: Any) -> jax.Array:
        return self._loss(params, self.inputs, self.targets)

    def test_loss(self, params: Any) -> jax.Array:
        return self._loss(params, self.test_inputs, self.test_targets)

    def gradient(self, params: Any) -> dict[str, jax.Array]:
        return jax.grad(self.loss)(params)

    def _loss(self, params: Any, inputs: jax.Array, targets: jax.Array) -> jax.Array:
        loss = jnp.sum((network(params, inputs) - targets) ** 2) / (2 * len(inputs))
        return loss + self.sobolev * self._slope_gap(params, inputs) if self.slopes else loss

    def _slope_gap(self, params: Any, inputs: jax.Array) -> jax.Array:
        return jnp.sum((jacobians(params, inputs) - jacobians(self.teacher, inputs)) ** 2) / len(inputs)

    def residuals(self, params: Any) -> jax.Array:
        """`(y(x_i) - y*(x_i)) / √N`, in Sobolev training followed by `√(2β/N)` times the gaps of the Jacobians."""
        gaps = (network(params, self.inputs) - self.targets).ravel()
        if self.slopes:
            slopes = jacobians(params, self.inputs) - jacobians(self.teacher, self.inputs)
            gaps = jnp.concatenate([gaps, jnp.sqrt(2 * self.sobolev).astype(gaps.dtype) * slopes.ravel()])
        return gaps / jnp.sqrt(self.samples).astype(gaps.dtype)

    @property
    def label_scale(self) -> float:
        return self.samples**-0.5

    def train_error(self, params: Any) -> jax.Array:
        return unexplained(network(params, self.inputs), self.targets)

    def test_error(self, params: Any) -> jax.Array:
        return unexplained(network(params, self.test_inputs), self.test_targets)

    @property
    def degree(self) -> int:
        return 2

    @property
    def trivial(self) -> tuple[float, str]:
        return 1.0, "that of the mean of the targets"


def network(params: Any, inputs: Any) -> jax.Array:
    """`B max(A x, 0)`, a row an input."""
    return jax.nn.relu(inputs @ params[FIRST].T) @ params[SECOND].T


def jacobians(params: Any, inputs: jax.Array) -> jax.Array:
    """`B diag(A x > 0) A` at every input: shape (inputs, outputs, dimension).

    >>> params = {"first": jnp.array([[1.0, 2.0], [-1.0, 0.0]]), "second": jnp.array([[3.0, 5.0]])}
    >>> jacobians(params, jnp.array([[1.0, 1.0], [-3.0, 1.0]])).tolist()
    [[[3.0, 6.0]], [[-5.0, 0.0]]]
    """
    first, second = params[FIRST], params[SECOND]
    on = (inputs @ first.T > 0).astype(first.dtype)
    # One matrix product for all outputs: a batch of small ones is several times slower.
    return ((on[:, None, :] * second).reshape(-1, len(first)) @ first).reshape(len(inputs), len(second), -1)


def unexplained(values: jax.Array, targets: jax.Array) -> jax.Array:
    """The share of the targets' variance that is left: `Σ |y - y*|² / Σ |y* - mean of y*|²`.

    >>> targets = jnp.array([[0.0], [2.0]])
    >>> [float(unexplained(values, targets)) for values in (targets, jnp.ones((2, 1)), -targets)]
    [0.0, 1.0, 8.0]
    """
    return jnp.sum((values - targets) ** 2) / jnp.sum((targets - jnp.mean(targets, axis=0)) ** 2)
