"""Every way a run can end, and what its outcome says."""

from __future__ import annotations

import os
import signal
import threading

import jax.numpy as jnp
import numpy as np
import pytest
from cases import sparse, student
from plain import RATE, reference, subgradient_iterates

import latebloom as lb
from latebloom.engine import descent
from latebloom.engine.outcome import Ending, Outcome
from latebloom.engine.scheduler import schedule
from latebloom.engine.training import TrainJob
from latebloom.errors import LatebloomWarning
from latebloom.probes import ALWAYS

# Endings


def test_endings_are_complete_or_not_and_failures_or_not():
    outcomes = {ending: Outcome(ending, 0, "") for ending in Ending}
    again = {Ending.INTERRUPTED, Ending.NOT_BEGUN}
    assert {ending for ending, outcome in outcomes.items() if not outcome.complete} == again
    broken = {Ending.DIVERGED, Ending.NOT_FINITE, Ending.NO_ZERO_LOSS}
    assert {ending for ending, outcome in outcomes.items() if outcome.failed} == broken


def test_a_finished_run_says_so():
    _, run, _ = reference()
    assert run.outcome.ending is Ending.FINISHED
    assert (run.outcome.step, run.outcome.complete, run.outcome.failed) == (3_000, True, False)
    assert str(run.outcome) == "finished after 3,000 steps"
    assert "finished after 3,000 steps" in repr(run)


@pytest.mark.parametrize("event", ["memorised", "generalised"])
def test_until_stops_at_the_first_record_with_the_event(event):
    problem, full, _ = reference()
    run = lb.train(
        problem,
        lb.GradientDescent(RATE),
        lb.L1(2e-4),
        steps=3_000,
        memorised_at=0.02,
        generalised_at=0.1,
        stop_at=event,
    )
    milestone = getattr(full.milestones, event)
    assert run.outcome.ending is Ending.STOPPED
    assert run.outcome.step == milestone.first.bracket[1] == run["step"][-1]
    assert str(run.outcome) == f"stopped at step {run.outcome.step:,}: {event}, as asked"
    assert getattr(run.milestones, event).first == milestone.first
    shared = np.isin(full["step"], run["step"])
    assert shared.sum() == len(run["step"])
    np.testing.assert_array_equal(run["test_error"], full["test_error"][shared])


def test_until_with_too_few_steps_spends_its_budget():
    run = lb.train(sparse(), lb.GradientDescent(RATE), lb.L1(1e-3), steps=50, stop_at="generalised")
    assert run.outcome.ending is Ending.BUDGET
    assert str(run.outcome) == "budget of 50 steps spent, not generalised yet: give more steps"
    assert run.milestones.generalised.censored


def test_no_steps_is_the_start():
    problem = sparse(init_scale=1.0)
    run = lb.train(problem, lb.GradientDescent(RATE), lb.L1(1e-3), steps=0)
    np.testing.assert_array_equal(run.params, problem.init())
    assert run["step"].tolist() == [0]
    assert run.outcome.ending is Ending.FINISHED
    assert run["train_error"][0] == pytest.approx(float(problem.train_error(problem.init())), rel=1e-14)


@pytest.mark.parametrize("factor", [1.02, 1.2, 3.0])
def test_above_the_stable_learning_rate_a_run_warns_and_diverges_at_the_exact_step(factor):
    problem = sparse(init_scale=1.0)
    limit = 2 / problem.sharpness()
    with pytest.warns(
        LatebloomWarning, match=rf"learning_rate={factor * limit:g} is above 2/σ_max.XᵀX. = {limit:.6g}.*use"
    ):
        run = lb.train(problem, lb.GradientDescent(factor * limit), lb.L1(1e-3), steps=100_000)
    design, targets = np.asarray(problem.design), np.asarray(problem.targets)
    with np.errstate(over="ignore", invalid="ignore"):
        path = subgradient_iterates(problem, factor * limit, 1e-3, 2_000)
        losses = 0.5 * ((path @ design.T - targets) ** 2).sum(axis=1)
    exact = int(np.flatnonzero(~(losses <= descent.DIVERGENCE_FACTOR * max(losses[0], 1.0)))[0])
    assert run.outcome.ending is Ending.DIVERGED
    assert run.outcome.step == exact
    assert run.outcome.failed
    assert run.outcome.complete
    assert f"diverged at step {exact:,}: learning_rate={factor * limit:g} is above" in str(run.outcome)
    # What is kept is from before: finite, consistent, and with the parameters of its last record.
    assert run["step"][-1] < exact
    assert all(np.isfinite(values).all() for values in run.columns.values())
    np.testing.assert_allclose(run.params, path[run["step"][-1]], rtol=1e-9)
    np.testing.assert_allclose(run["train_loss"], losses[run["step"]], rtol=1e-9)
    assert run["l2_norm"][-1] == pytest.approx(np.linalg.norm(run.params), rel=1e-14)


def test_just_below_the_stable_learning_rate_nothing_is_said():
    """Warnings are errors: this test fails if one is given. The run neither diverges nor settles quickly."""
    problem = sparse(init_scale=1.0)
    run = lb.train(problem, lb.GradientDescent(0.98 * 2 / problem.sharpness()), lb.L1(1e-5), steps=3_000)
    assert run.outcome.ending is Ending.FINISHED
    assert run["train_loss"][-1] < 1e-6


def test_a_loss_beyond_all_numbers_is_not_finite():
    with pytest.warns(LatebloomWarning, match="the run will diverge"):
        run = lb.train(sparse(init_scale=1.0), lb.GradientDescent(1e200), lb.L1(1e-3), steps=100)
    assert run.outcome.ending is Ending.NOT_FINITE
    assert run.outcome.step == 1
    assert run["step"].tolist() == [0]
    np.testing.assert_array_equal(run.params, sparse(init_scale=1.0).init())


def _rooted(w):
    return jnp.concatenate([w, jnp.sqrt(w - 0.5)])


def test_a_loss_that_becomes_nan_is_reported_at_its_step():
    """`|w|²/2 + (w - ½)/2` falls through `w = ½`, where the square root ends: the step is that of NumPy."""
    w, exact = 2.0, 0
    while w >= 0.5:
        w, exact = w - 0.01 * (w + 0.5), exact + 1
    run = lb.train(lb.problems.LeastSquares(_rooted, jnp.array([2.0])), lb.GradientDescent(0.01), steps=10_000)
    assert run.outcome.ending is Ending.NOT_FINITE
    assert run.outcome.step == exact
    assert f"loss not finite from step {exact}: learning_rate=0.01 is probably too large; try 0.001" in str(run.outcome)
    assert run["step"][-1] < exact
    assert np.isfinite(run["train_loss"]).all()
    assert np.isfinite(run.params).all()
    assert run.params[0] == pytest.approx(run["l2_norm"][-1])


def test_a_start_beyond_all_numbers_is_not_finite():
    run = lb.train(sparse(depth=2, init_scale=1e300), lb.GradientDescent(RATE), lb.L1(1e-3), steps=10)
    assert run.outcome.ending is Ending.NOT_FINITE
    assert run.outcome.step == 0


def test_an_infinite_first_loss_is_not_finite():
    run = lb.train(sparse(init_scale=1e200), lb.GradientDescent(RATE), lb.L1(1e-3), steps=100)
    assert run.outcome.failed


def test_ctrl_c_returns_the_run_so_far():
    problem, method, penalty, steps = sparse(), lb.GradientDescent(RATE), lb.L1(1e-3), 10**10
    job = TrainJob(problem, method, penalty, steps=steps, memorised_at=0.02, generalised_at=0.1)
    seen = []

    def interrupt_after_a_while(number, rows):
        if not seen and rows["step"][-1] > 20_000:
            seen.append(int(rows["step"][-1]))
            # From a thread of its own: the signal reaches the process, and the main thread handles it.
            threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()

    (run,) = schedule([job], emit=interrupt_after_a_while)
    last = int(run["step"][-1])
    assert run.outcome.ending is Ending.INTERRUPTED
    assert not run.outcome.complete
    assert str(run.outcome) == f"interrupted at step {last:,}: what was done is kept"
    assert seen[0] <= last < steps
    assert run.milestones.generalised.last_step == last
    for probe in ALWAYS:
        measured = float(probe.measure(problem, penalty, jnp.asarray(run.params)))
        assert run.final[probe.column] == pytest.approx(measured, rel=1e-12, abs=1e-18)
    # The same run, asked for exactly that many steps, agrees to the last bit.
    again = lb.train(problem, method, penalty, steps=last, memorised_at=0.02, generalised_at=0.1)
    np.testing.assert_array_equal(again.params, run.params)
    np.testing.assert_array_equal(again["step"], run["step"])
    assert all(np.array_equal(again[name], run[name]) for name in run.columns)
    assert again.milestones == run.milestones


# Penalties that outweigh the loss


def test_a_crushing_penalty_is_said_in_the_outcome():
    run = lb.train(
        student(dimension=5, width=9, samples=12, test_samples=40),
        lb.Optax("adam", learning_rate=1e-2),
        lb.L2(10.0),
        steps=600,
        progress=False,
    )
    said = "no lower than that of the mean of the targets: probably L2(strength=10) outweighs the loss"
    assert said in run.outcome.sentence


def test_a_penalty_that_is_not_felt_is_not_blamed():
    run = lb.train(
        student(dimension=5, width=9, samples=12, test_samples=40),
        lb.Optax("adam", learning_rate=1e-5),
        lb.L2(1e-12),
        steps=3,
        progress=False,
    )
    assert run.final["train_error"] > 1
    assert run.outcome.sentence == "finished after 3 steps"


def test_a_warning_is_at_the_line_of_the_user():
    with pytest.warns(LatebloomWarning) as caught:
        lb.train(sparse(), lb.GradientDescent(50.0), steps=1)
    assert caught[0].filename == __file__
