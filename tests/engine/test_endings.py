"""Every way a run can end, and what is refused before it starts."""

from __future__ import annotations

import os
import signal
import threading

import jax.numpy as jnp
import numpy as np
import pytest
from cases import PROBES, curve, sparse
from plain import RATE, reference, subgradient_iterates

import latebloom as lb
from latebloom.engine import descent
from latebloom.engine.outcome import Ending
from latebloom.engine.scheduler import schedule
from latebloom.engine.training import TrainJob
from latebloom.errors import CapabilityError, InputError, LatebloomWarning, UnknownNameError
from latebloom.probes import ALWAYS, Components, DistanceTo, GradientRatio

# Endings


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


def test_until_is_one_of_the_events():
    with pytest.raises(UnknownNameError, match="unknown event 'generalized': did you mean 'generalised'"):
        lb.train(sparse(), lb.GradientDescent(RATE), steps=10, stop_at="generalized")


def test_no_steps_is_the_start():
    problem = sparse(init_scale=1.0)
    run = lb.train(problem, lb.GradientDescent(RATE), lb.L1(1e-3), steps=0)
    np.testing.assert_array_equal(run.params, problem.init())
    assert run["step"].tolist() == [0]
    assert run.outcome.ending is Ending.FINISHED
    assert run["train_error"][0] == pytest.approx(float(problem.train_error(problem.init())), rel=1e-14)


@pytest.mark.parametrize("steps", [-1, 1.5, float("nan"), "many", None])
def test_bad_numbers_of_steps_are_refused(steps):
    with pytest.raises(InputError, match=r"steps(=.* is not allowed| must be a number)"):
        lb.train(sparse(), lb.GradientDescent(RATE), lb.L1(1e-3), steps=steps)


@pytest.mark.parametrize("per_decade", [0, -1, 2.5])
def test_bad_numbers_of_records_are_refused(per_decade):
    with pytest.raises(InputError, match=r"records_per_decade=.* is not allowed"):
        lb.train(sparse(), lb.GradientDescent(RATE), steps=10, records_per_decade=per_decade)


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


# What goes together


@pytest.mark.parametrize(
    ("problem", "method", "penalty", "message"),
    [
        ("sparse", lb.GradientDescent(RATE), None, "problem must be a problem record, not str"),
        (sparse(), 0.1, None, "method must be a method record, not float"),
        (sparse(), lb.GradientDescent(RATE), 1e-3, r"penalty must be a penalty record such as L1\(1e-5\), not float"),
    ],
)
def test_arguments_are_records(problem, method, penalty, message):
    with pytest.raises(InputError, match=message):
        lb.train(problem, method, penalty, steps=10)


@pytest.mark.parametrize("probe", PROBES[1:], ids=lambda probe: probe.column)
def test_probes_of_a_vector_refuse_a_problem_without_one(probe):
    message = rf"{type(probe).__name__} needs a problem that measures a vector .*; LeastSquares has none: leave the"
    with pytest.raises(CapabilityError, match=message):
        lb.train(curve(1.0, 0.0, 0.0), lb.GradientDescent(RATE), lb.L2(1e-3), steps=10, probes=[probe])


def test_the_gradient_ratio_needs_a_penalty():
    with pytest.raises(CapabilityError, match="GradientRatio compares with a penalty and there is none"):
        lb.train(sparse(), lb.GradientDescent(RATE), steps=10, probes=[GradientRatio()])


def test_parts_that_do_not_exist_are_refused_before_anything_runs():
    with pytest.raises(UnknownNameError, match="unknown part 'curv': did you mean 'curve'"):
        lb.train(curve(1.0, 0.0, 0.0), lb.GradientDescent(RATE), lb.OnParts(lb.L2(1e-3), "curv"), steps=10)


def test_a_distance_to_a_point_of_another_length_is_refused():
    with pytest.raises((InputError, CapabilityError), match="point"):
        lb.train(sparse(), lb.GradientDescent(RATE), steps=10, probes=[DistanceTo("ones", np.ones(3))])


def test_the_configuration_is_everything_that_decides_the_numbers():
    base = {"problem": sparse(), "method": lb.GradientDescent(RATE), "penalty": lb.L1(1e-3), "steps": 10}
    changes = (
        {},
        {"problem": sparse(seed=2)},
        {"method": lb.GradientDescent(0.2)},
        {"method": lb.ProximalGradient(RATE)},
        {"penalty": lb.L2(1e-3)},
        {"penalty": None},
        {"steps": 11},
        {"probes": (Components(),)},
        {"memorised_at": 0.01},
        {"generalised_at": 0.01},
        {"stop_at": "memorised"},
        {"records_per_decade": 10},
    )
    identities = {repr(TrainJob(**(base | change)).configuration()) for change in changes}
    assert len(identities) == len(changes)
