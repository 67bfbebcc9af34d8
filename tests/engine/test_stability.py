"""The edge of stability: the sharpness against dense Hessians, the sentences, and that nothing else changes."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import completion, sparse
from jax.flatten_util import ravel_pytree

import latebloom as lb
from latebloom.engine import stability
from latebloom.engine.shard import shards
from latebloom.engine.stability import Edge, hessian_products, moments
from latebloom.errors import LatebloomWarning
from latebloom.problems import EmbeddingMLP, LeastSquares

# F = (uv - 1)²/2: the flattest minimum, u = v = 1, has curvature 2: above a learning rate of 1 steps never settle.
VALLEY = LeastSquares(lambda w: (w[0] * w[1] - 1)[None], jnp.array([1.3, 0.9]), test=lambda w: jnp.abs(w[0] - w[1]))
RNG = np.random.default_rng(0)
POINTS, LABELS = RNG.standard_normal((12, 3)), RNG.standard_normal(12)
START = {"inner": 0.5 * RNG.standard_normal((3, 6)), "outer": RNG.standard_normal(6)}


def residuals(w):
    points, labels = (x.astype(w["inner"].dtype) for x in (POINTS, LABELS))
    return jnp.tanh(points @ w["inner"]) @ w["outer"] - labels


MEASURED = {
    "a network": (LeastSquares(residuals, START), lb.GradientDescent(1e-3), None),
    "with weight decay": (LeastSquares(residuals, START), lb.GradientDescent(1e-3), lb.L2(3.0)),
    "in single precision": (LeastSquares(residuals, START, precision="float32"), lb.GradientDescent(1e-3), None),
    "above the limit": (LeastSquares(residuals, START), lb.GradientDescent(10.0), None),
    "l1 has no curvature": (sparse(depth=2, init_scale=1.0), lb.GradientDescent(0.1), lb.L1(1e-2)),
    "nor what is stepped on by its prox": (sparse(depth=2, init_scale=1.0), lb.ProximalGradient(0.1), lb.L2(3.0)),
    "factors of a matrix": (completion(depth=2, width=3, init_scale=0.5), lb.GradientDescent(0.1), lb.NuclearNorm(0.1)),
    "momentum": (LeastSquares(residuals, START), lb.Optax("sgd", 1e-3, momentum=0.9), None),
    "kinks, above the limit": (EmbeddingMLP(7, 8, dimension=4), lb.GradientDescent(30.0), lb.L2(1e-2)),
}


def dense(problem, penalty) -> float:
    flat, back = ravel_pytree(problem.init())
    whole = lambda x: problem.loss(back(x)) + (0 if penalty is None else penalty.value(back(x)))  # noqa: E731
    return float(np.linalg.eigvalsh(np.asarray(jax.hessian(whole)(flat)))[-1])


@pytest.mark.parametrize("name", MEASURED)
def test_the_sharpness_is_the_largest_eigenvalue_of_the_hessian(name):
    """Independent implementation: the dense Hessian. Eight products are within 1 % of it, and not above."""
    problem, method, penalty = MEASURED[name]
    shard: Any
    (shard,) = shards({0: lb.TrainJob(problem, method, penalty, steps=1000)}, 1)
    shard.compile()
    (found,) = shard._curvature(shard.progress.point, [0]) / method.learning_rate
    smooth = penalty if penalty is not None and penalty.smooth and isinstance(method, lb.GradientDescent) else None
    # The differences of steps are off by ε, 1e-3 in single precision.
    assert 0.99 < found / dense(problem, smooth) < 1 + 3e-3


def edge_of(rate: float, **more: Any) -> lb.Run:
    return lb.train(VALLEY, lb.GradientDescent(rate), steps=3000, **more)


@pytest.mark.parametrize("rate", [1.05, 1.1, 1.3])
def test_steps_that_never_settle_are_said_to_be_at_the_edge(rate):
    with pytest.warns(LatebloomWarning, match=r"least_squares: steps at the edge of stability from step 1,000"):
        run = edge_of(rate)
    said = run.outcome.sentence
    assert said.startswith("finished after 3,000 steps, steps at the edge of stability from step 1,000 on: ")
    assert f"learning_rate={rate:g} is " in said
    assert " times 2/sharpness = " in said
    assert "use e.g. 0." in said
    assert run.final["train_loss"] > 1e-3


def test_closed_form_of_the_factor():
    """On the balanced orbit, u = v, the Hessian is [[u², 2u² - 1], [2u² - 1, u²]]: sharpness 3u² - 1."""
    balanced = LeastSquares(VALLEY.function, jnp.array([1.1, 1.1]))
    with pytest.warns(LatebloomWarning):
        said = lb.train(balanced, lb.GradientDescent(1.1), steps=3000).outcome.sentence
    u = 1.1
    for _ in range(1000):
        u -= 1.1 * (u * u - 1) * u
    sharpest = max(3 * w * w - 1 for w in (u, u - 1.1 * (u * u - 1) * u))
    assert f"is {1.1 * sharpest / 2:.3g} times 2/sharpness = {2 / sharpest:.3g};" in said


@pytest.mark.parametrize("rate", [0.3, 0.9])
def test_steps_that_settle_are_not_spoken_of(rate):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert edge_of(rate).outcome.sentence == "finished after 3,000 steps"


def test_the_lanes_of_a_batch_are_judged_one_by_one():
    rates = (0.5, 1.1, 0.9, 1.2)
    with pytest.warns(LatebloomWarning):
        runs = lb.run([lb.TrainJob(VALLEY, lb.GradientDescent(rate), steps=3000) for rate in rates], workers=1)
    assert ["edge of stability" in run.outcome.sentence for run in runs] == [False, True, False, True]
    with pytest.warns(LatebloomWarning):
        assert edge_of(1.2).outcome == runs[3].outcome, "the same as alone"


def test_looking_changes_no_number_and_compiles_nothing_the_second_time(monkeypatch):
    with pytest.warns(LatebloomWarning):
        looked = edge_of(1.1)
    programs: Any = hessian_products
    compiled = programs._cache_size()
    with pytest.warns(LatebloomWarning):
        edge_of(1.15)
    assert programs._cache_size() == compiled
    monkeypatch.setattr(stability, "moments", lambda job: np.zeros(0, dtype=np.int64))
    blind = edge_of(1.1)
    assert blind.outcome.sentence == "finished after 3,000 steps"
    assert all(np.array_equal(blind[name], looked[name], equal_nan=True) for name in looked.columns)
    assert np.array_equal(blind.params, looked.params)


UNLIMITED = (lb.Optax("adam", 0.1), lb.Optax("sgd", 0.1, momentum=0.9, nesterov=True), lb.LabelNoise(0.1))


def test_where_no_limit_is_known_or_the_curvature_is_constant_nothing_is_measured():
    for method in (*UNLIMITED, lb.AcceleratedProximalGradient(0.1), lb.LogLossDescent(0.1)):
        assert method.stable_below is None
        assert not len(moments(lb.TrainJob(VALLEY, method, steps=10**6)))
    assert not len(moments(lb.TrainJob(sparse(), lb.GradientDescent(0.1), steps=10**6))), "linear"
    assert lb.Optax("sgd", 0.1).stable_below == 2
    assert lb.Optax("sgd", 0.1, momentum=0.5).stable_below == 3


def test_measuring_costs_at_most_two_steps_in_a_hundred_and_does_not_hang_on_the_budget():
    whole = moments(lb.TrainJob(VALLEY, lb.GradientDescent(0.1), steps=10**7))
    a_moment = 2 * (stability.PRODUCTS + 1) + 1
    assert all((place + 1) * a_moment <= 0.02 * step for place, step in enumerate(whole))
    assert len(whole) == 13
    assert moments(lb.TrainJob(VALLEY, lb.GradientDescent(0.1), steps=5000)).tolist() == whole[:3].tolist()
    assert not len(moments(lb.TrainJob(VALLEY, lb.GradientDescent(0.1), steps=999)))


def look(edge: Edge, begin: int, found: tuple[float, ...]) -> None:
    for step, one in zip(edge.moments[begin:], found, strict=False):
        edge.saw(int(step), one)


def test_a_moment_or_two_apart_are_not_long():
    edge = Edge(lb.TrainJob(VALLEY, lb.GradientDescent(0.1), steps=10**5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        look(edge, 0, (2.2, 1.8, 2.5, 1.9))
    assert edge.remark == ""
    with pytest.warns(LatebloomWarning, match="is 1.5 times 2/sharpness"):
        look(edge, 4, (2.2, 3.0, 0.1))
    assert f"from step {edge.moments[4]:,} to step {edge.moments[5]:,}: " in edge.remark
    again = Edge(edge.job)
    again.resume(edge.state())
    assert (again.remark, again.due) == (edge.remark, edge.due)


def test_a_run_that_diverges_hears_of_the_curvature_at_its_start():
    rate = 4 / dense(LeastSquares(residuals, START), None) * 4
    said = lb.train(LeastSquares(residuals, START), lb.GradientDescent(rate), steps=2000).outcome.sentence
    assert "diverged" in said or "not finite" in said
    assert "at the start learning_rate=" in said
    assert " is 8 times 2/sharpness = " in said
