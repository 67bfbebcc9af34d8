"""Steps with the nuclear norm against NumPy's SVD, one by one; runs on matrices, alone and in batches."""

from __future__ import annotations

from itertools import islice

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import completion, sensing
from plain import by_hand, iterates, moved, polar, same_run, shrink_singular_values

import latebloom as lb
from latebloom.errors import CapabilityError, LatebloomWarning

STRENGTH, RATE = 3e-2, 0.1
STEPS = 30


def numpy_gradient(problem, start):
    while True:
        slope = by_hand(problem, start)
        start = jax.tree.map(lambda w, g: w - RATE * (g + STRENGTH * polar(w)), start, slope)
        yield start


def numpy_projected(problem, start):
    design, targets = np.asarray(problem.design), np.asarray(problem.targets)
    while True:
        w = (start - RATE * STRENGTH * polar(start)).ravel()
        # By the normal equations of the constraint: neither a pseudo-inverse nor a mask.
        start = (w - design.T @ np.linalg.solve(design @ design.T, design @ w - targets)).reshape(start.shape)
        yield start


def forward_backward(problem, params):
    slope = by_hand(problem, params)
    return jax.tree.map(lambda w, g: shrink_singular_values(w - RATE * g, RATE * STRENGTH), params, slope)


def numpy_ista(problem, start):
    while True:
        start = forward_backward(problem, start)
        yield start


def numpy_fista(problem, start):
    w = z = start
    t = 1.0
    while True:
        old, w = w, forward_backward(problem, z)
        t_old, t = t, (1 + np.sqrt(1 + 4 * t * t)) / 2
        z = jax.tree.map(lambda new, before, pull=(t_old - 1) / t: new + pull * (new - before), w, old)
        yield w


INDEPENDENT = {
    lb.GradientDescent: numpy_gradient,
    lb.ProjectedSubgradient: numpy_projected,
    lb.ProximalGradient: numpy_ista,
    lb.AcceleratedProximalGradient: numpy_fista,
}
STARTS = {
    "completion": completion(init_scale=0.5),
    "sensing": sensing(init_scale=0.5),
    "completion-depth-2": completion(depth=2, width=3, init_scale=0.5),
    "sensing-depth-2": sensing(depth=2, width=3, init_scale=0.5),
}


@pytest.mark.parametrize("problem", STARTS.values(), ids=STARTS.keys())
@pytest.mark.parametrize("kind", INDEPENDENT, ids=lambda kind: kind.name())
def test_every_step_with_the_nuclear_norm_is_that_of_numpy(kind, problem):
    """Rung 2: thirty steps with NumPy's SVD; on factors, the penalty layer by layer."""
    if kind is lb.ProjectedSubgradient and not problem.linear:
        with pytest.raises(CapabilityError, match=r"ProjectedSubgradient needs a problem that is linear.*use depth=1"):
            lb.train(problem, kind(RATE), lb.NuclearNorm(STRENGTH), steps=1)
        return
    found = iterates(kind(RATE), problem, lb.NuclearNorm(STRENGTH), STEPS)
    start = jax.tree.map(np.asarray, problem.init())
    for step, expected in enumerate(islice(INDEPENDENT[kind](problem, start), STEPS), start=1):
        jax.tree.map(
            # The polar factors lose `rounding / ratio²`, and no ratio on these paths is below 1e-2.
            lambda f, e, k=step: np.testing.assert_allclose(f, e, rtol=0, atol=1e-10, err_msg=f"step {k}"),
            found[step - 1],
            expected,
        )
    assert jax.tree.all(jax.tree.map(lambda a, b: np.linalg.norm(a - b) > 1e-2, found[-1], problem.init()))


@pytest.mark.parametrize(
    "problem",
    [STARTS["completion"], completion(basis="random"), STARTS["sensing"]],
    ids=["entries", "bases", "sensing"],
)
def test_the_projection_is_the_closest_interpolator(problem):
    point = moved(problem.init(), 1.0)
    projected = np.asarray(problem.project(jnp.asarray(point), problem.prepare_projection()))
    design, targets = np.asarray(problem.design), np.asarray(problem.targets)
    np.testing.assert_allclose(design @ projected.ravel(), targets, rtol=0, atol=1e-12)
    assert float(problem.train_error(projected)) < 1e-12
    # Closest: the move is in the span of the measurements.
    move = (projected - point).ravel()
    np.testing.assert_allclose(design.T @ np.linalg.lstsq(design.T, move, rcond=None)[0], move, rtol=0, atol=1e-12)
    again = np.asarray(problem.project(jnp.asarray(projected), problem.prepare_projection()))
    np.testing.assert_allclose(again, projected, rtol=0, atol=1e-13)


# Runs

SEEDS = (1, 3, 4)
NEVER = {"memorised_at": 1e-30, "generalised_at": 1e-30}  # nothing to pin, which halves what is compiled


@pytest.fixture(scope="module")
def alone():
    """Runs that differ in seed, entries, their number, rank, start, strength, steps."""
    problems = [completion(seed=s, observed=23 + s, rank=1 + s % 2, init_scale=10.0**-s) for s in SEEDS]
    penalties = [lb.NuclearNorm(1e-3 * seed) for seed in SEEDS]
    steps = [400, 150, 301]
    cells = zip(problems, penalties, steps, strict=True)
    runs = [lb.train(p, lb.GradientDescent(RATE), h, steps=n, **NEVER) for p, h, n in cells]
    return problems, penalties, steps, runs


def test_a_batch_with_the_nuclear_norm_gives_bit_for_bit_what_its_runs_give_alone(alone):
    problems, penalties, steps, runs = alone
    cells = zip(problems, penalties, steps, strict=True)
    batch = lb.run([lb.TrainJob(p, lb.GradientDescent(RATE), h, steps=n, **NEVER) for p, h, n in cells])
    for together, single in zip(batch, runs, strict=True):
        assert together.configuration == single.configuration
        assert same_run(together, single)
    assert not same_run(runs[0], runs[1])


def test_other_entries_and_other_numbers_of_them_compile_nothing(alone, compiles):
    with compiles() as count:
        run = lb.train(completion(observed=27, seed=6, rank=3), lb.GradientDescent(0.2), lb.NuclearNorm(0.1), steps=9)
    assert count() == 0
    assert run["step"][-1] == 9


def test_the_stable_learning_rate_of_a_completion_is_two():
    assert completion().sharpness() == 1
    with pytest.warns(LatebloomWarning, match=r"learning_rate=2.1 is above 2/σ_max\(XᵀX\) = 2: the run will diverge"):
        run = lb.train(completion(init_scale=1.0), lb.GradientDescent(2.1), lb.NuclearNorm(1e-3), steps=2_000)
    assert run.outcome.failed
