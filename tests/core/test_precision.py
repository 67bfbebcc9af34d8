"""Single precision is a property of the problem: nothing turns it into double, and nothing else is single."""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom import theory
from latebloom.engine.outcome import Ending

DOUBLE = lb.problems.TeacherStudent(4, 6, samples=10, precision="float64")


def test_the_rank_of_the_kernel_is_that_of_numpy():
    start = DOUBLE.init()
    rows = jax.jacobian(DOUBLE.residuals)(start)
    matrix = np.concatenate([np.asarray(leaf).reshape(20, -1) for leaf in jax.tree.leaves(rows)], axis=1)
    assert theory.kernel_regime(DOUBLE).rank == np.linalg.matrix_rank(matrix) == 20


def test_accelerated_steps_stay_in_single_precision():
    runs = {
        kind: lb.train(
            lb.problems.TeacherStudent(4, 6, samples=10, precision=kind),
            lb.AcceleratedProximalGradient(0.01),
            lb.L1(1e-3),
            steps=20,
            progress=False,
        )
        for kind in ("float32", "float64")
    }
    assert {leaf.dtype for leaf in jax.tree.leaves(runs["float32"].params)} == {np.dtype("float32")}
    assert runs["float32"].final["train_error"] == pytest.approx(runs["float64"].final["train_error"], rel=1e-3)


DECAY = 1e-2


@cache
def wide_net(width: int, precision: str) -> lb.problems.LeastSquares:
    """A two-layer net with 64 inputs; 1,540 units make 100,100 parameters."""
    draw = np.random.default_rng(0)
    inputs, direction = draw.normal(size=(50, 64)).astype("float32"), draw.normal(size=64) / 8
    values = np.sin(inputs @ direction).astype("float32")
    start = {"first": draw.normal(size=(64, width)) / 8, "last": draw.normal(size=width) / np.sqrt(width)}
    output = lambda w: jnp.tanh(inputs @ w["first"]) @ w["last"]  # noqa: E731
    return lb.problems.LeastSquares(lambda w: output(w) - values, start, precision=precision)


def test_single_precision_is_double_precision_to_the_tolerance():
    runs = {
        kind: lb.flow(wide_net(64, kind), weight_decay=DECAY, progress=False, rtol=1e-3, time=10.0)
        for kind in ("float64", "float32")
    }
    single, double = runs["float32"], runs["float64"]
    assert single.configuration["dynamics"]["precision"] == "float32"
    assert {leaf.dtype for leaf in single.params.values()} == {np.dtype("float32")}
    assert {leaf.dtype for leaf in double.params.values()} == {np.dtype("float64")}
    np.testing.assert_allclose(single["l2_norm"], double["l2_norm"], rtol=1e-3)
    assert abs(single.milestones.memorised.time / double.milestones.memorised.time - 1) < 1e-2


def test_single_precision_takes_a_hundred_thousand_parameters():
    run = lb.flow(wide_net(1540, "float32"), weight_decay=DECAY, progress=False, rtol=1e-2, time=1.0)
    assert sum(leaf.size for leaf in run.params.values()) == 100_100
    assert run.outcome.ending is Ending.FINISHED
    assert run.final["train_error"] < 0.2


def test_training_in_single_precision_stays_single():
    problem = wide_net(64, "float32")
    run = lb.train(problem, lb.GradientDescent(1e-2), lb.L2(1e-3), steps=50, progress=False)
    assert {leaf.dtype for leaf in run.params.values()} == {np.dtype("float32")}
    double = lb.train(wide_net(64, "float64"), lb.GradientDescent(1e-2), lb.L2(1e-3), steps=50, progress=False)
    np.testing.assert_allclose(run["train_loss"], double["train_loss"], rtol=1e-4)


def test_a_flow_in_single_precision_is_stored(tmp_path):
    """Its first record is measured by itself, the others in a table: all are in double precision."""
    problem = lb.problems.ModularClassifier(modulus=7, width=8, train_share=0.6, precision="float32")
    job = lb.FlowJob(problem, lb.L2(1e-3), time=1.0, rtol=0.1)
    run = lb.run(job, store=tmp_path, progress=False)
    assert all(column.dtype == np.float64 for column in run.columns.values())
    assert lb.load(job.key, tmp_path).final == run.final
