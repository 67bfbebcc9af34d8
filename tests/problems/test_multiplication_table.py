"""The multiplication table: data, warnings, refusals, and the flow on it against plain gradient descent in NumPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import latebloom as lb
from latebloom.errors import InputError


def test_the_table_and_what_is_observed():
    """Published number: `X* = u uᵀ` with `u = (0, 1/d, …, (d-1)/d)`, 470 of 9409 entries."""
    problem = lb.problems.MultiplicationTable()
    truth = np.asarray(problem.truth)
    assert truth[3, 50] == pytest.approx(150 / 97**2)
    assert np.linalg.matrix_rank(truth) == 1
    assert int(problem.mask.sum()) == 470
    mean = np.mean(truth[np.asarray(problem.mask) > 0] ** 2)
    assert float(problem.loss(problem.init())) == pytest.approx(mean, rel=1e-12)  # the output is zero at the start


def test_an_unobserved_row_is_named():
    with pytest.warns(lb.problems.UnobservedWarning, match="never observed"):
        lb.problems.MultiplicationTable(30, 0.02, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lb.problems.MultiplicationTable(10, 0.9)  # row 0 may lack observations: it is zero anyway


def test_observing_only_the_zero_of_a_row_is_observing_nothing():
    seeds = range(40)
    for seed in seeds:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            problem = lb.problems.MultiplicationTable(6, 0.25, seed=seed)
        mask = np.asarray(problem.mask) > 0
        useful = (mask | mask.T)[1:, 1:].any(axis=1)
        assert bool(caught) == (not useful.all())


def test_steps_are_those_of_numpy():
    """Independent implementation: the paper's iteration, written out."""
    size, rate, decay, steps = 8, 0.02, 2e-2, 400
    problem = lb.problems.MultiplicationTable(size, 0.5, init_scale=2.0, seed=2)
    mask, values = np.asarray(problem.mask), np.asarray(problem.values)
    u = v = 2.0 * np.eye(size)
    for _ in range(steps):
        gap = 2 / mask.sum() * (mask * (u @ u.T - v @ v.T) - values)
        both = gap + gap.T
        u, v = u - rate * (both @ u + decay * u), v - rate * (-both @ v + decay * v)
    run = lb.train(problem, lb.GradientDescent(rate), lb.L2(decay), steps=steps)
    assert np.allclose(run.params["U"], u, rtol=1e-10, atol=1e-12)
    assert np.allclose(run.params["V"], v, rtol=1e-10, atol=1e-12)


def test_fill_in_is_zero_for_the_observed_table_and_one_for_the_truth():
    problem = lb.problems.MultiplicationTable(6, 0.7, form="product", depth=1, init_kind="zeros")
    probe = lb.probes.FillIn()
    assert float(probe.measure(problem, None, problem.values)) == 0
    unseen = np.asarray(problem.truth)[np.asarray(problem.mask) == 0].max()
    expected = unseen / np.asarray(problem.values).max()
    assert float(probe.measure(problem, None, problem.truth)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"size": 1}, "size=1 is not allowed"),
        ({"fraction": 0.0}, "fraction=0.0 is not allowed"),
        ({"fraction": 1.5}, "fraction=1.5 is not allowed"),
        ({"size": 3, "fraction": 0.01}, "fraction=0.01 of the 9 entries is none"),
        ({"init_noise": -1.0}, "init_noise=-1.0 is not allowed"),
        ({"form": "differnce"}, "did you mean 'difference'"),
    ],
)
def test_refusals(wrong, message):
    with pytest.raises(InputError, match=message):
        lb.problems.MultiplicationTable(**wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sparsity": 100}, "sparsity=100 is more than dimension=60"),
        ({"depth": 1}, "depth=1 is not allowed"),
        ({"init_scale": 0.0}, "init_scale=0.0 is not allowed"),
        ({"samples": 0}, "samples=0 is not allowed"),
    ],
)
def test_diagonal_regression_refusals(wrong, message):
    with pytest.raises(InputError, match=message):
        lb.problems.DiagonalRegression(**wrong)
