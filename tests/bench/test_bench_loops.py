"""The loops that are timed against each other compute the same thing. Nothing here looks at a clock."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import latebloom as lb
from latebloom.bench import batch, loops, oracle, sparse_step

# Over a hundred steps no coordinate is at the kink of |a|: what differs is the order of 30 to 100 additions.
ROUNDING = 1e-14


@pytest.fixture(scope="module")
def problem():
    return lb.problems.SparseRecovery(dimension=100, sparsity=5, measurements=30)


@pytest.mark.parametrize("loop", [loops.bare_jax, loops.plain_numpy, loops.torch_sgd])
def test_every_loop_is_the_iteration_of_train(problem, loop):
    if loop is loops.torch_sgd:
        pytest.importorskip("torch")
    run = lb.train(problem, lb.GradientDescent(0.1), lb.L1(1e-5), steps=100, progress=False)
    assert np.abs(loop(problem, 0.1, 1e-5, steps=100) - run.params).max() < ROUNDING
    assert np.abs(loop(problem, 0.1, 1e-4, steps=100) - run.params).max() > 1e-4  # the strength matters


def test_the_stacked_loop_is_the_single_one_cell_by_cell(problem):
    rates, strengths = batch.grid(side=2)
    stacked = loops.stacked_jax(problem, rates, strengths, steps=100)
    single = [loops.bare_jax(problem, r, s, steps=100) for r, s in zip(rates, strengths, strict=True)]
    assert np.abs(stacked - np.stack(single)).max() < ROUNDING


def test_the_grid_has_every_pair_once():
    rates, strengths = batch.grid()
    assert len(set(zip(rates.tolist(), strengths.tolist(), strict=True))) == 36
    assert (rates.min(), rates.max()) == pytest.approx((0.02, 0.2))
    assert (strengths.min(), strengths.max()) == pytest.approx((2e-6, 2e-5))


def test_sparse_step_says_how_far_apart_the_ends_are():
    pytest.importorskip("torch")
    results = sparse_step.measure(steps=200, numpy_steps=50, torch_steps=20, repeats=1)
    assert [result.target for result in results] == ["at most 1.3", "at least 5", "at least 50"]
    assert all("end points" in result.note for result in results)
    json.dumps([result.to_json() for result in results], allow_nan=False)


def test_sparse_step_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    *others, missing = sparse_step.measure(steps=100, numpy_steps=20, torch_steps=10, repeats=1)
    assert len(others) == 2
    assert (missing.meets, missing.theirs_seconds, missing.ratio) == (None, None, None)
    assert "pip install torch" in missing.note
    assert "latebloom[torch]" in missing.note


def test_a_loop_that_ends_elsewhere_meets_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    right = loops.plain_numpy
    monkeypatch.setattr(loops, "plain_numpy", lambda *args, steps: right(*args, steps=steps) + 1e-3)
    _, against_numpy, _ = sparse_step.measure(steps=100, numpy_steps=20, repeats=1)
    assert against_numpy.meets is False
    assert "differ by 1e-03" in against_numpy.note


def test_batch_is_equal_to_single_runs_bit_for_bit():
    against_singles, against_stacked = batch.measure(steps=300, side=2, repeats=1, matrix_size=50)
    assert "equal to its single run to the last bit" in against_singles.note
    assert "NOT" not in against_singles.note
    assert against_stacked.meets is None
    json.dumps([against_singles.to_json(), against_stacked.to_json()], allow_nan=False)


def test_same_run_sees_the_last_bit(problem):
    run = lb.train(problem, lb.GradientDescent(0.1), lb.L1(1e-5), steps=50, progress=False)
    nudged = np.nextafter(run["train_loss"], 1)
    other = lb.Run(**(vars(run) | {"columns": run.columns | {"train_loss": nudged}}))
    assert batch.same_run(run, run)
    assert not batch.same_run(run, other)


def test_oracle_solvers_find_the_same_norm(problem):
    pytest.importorskip("cvxpy")
    results = oracle.measure(problems=2, repeats=1)
    assert [result.meets for result in results] == [None, None]  # False if the norms differed
    design, targets = np.asarray(problem.design), np.asarray(problem.targets)
    for solver in (oracle.split_program, oracle.model_program):
        found = solver(design, targets)
        # The tolerance of the other solvers' constraints.
        assert np.abs(design @ found - targets).max() < 1e-6


def test_oracle_without_cvxpy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    missing = oracle.measure(problems=1, repeats=1)[-1]
    assert missing.meets is None
    assert "pip install cvxpy" in missing.note
