"""Runs that are saved come back as they were."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom.errors import InputError
from latebloom.store import Store


def test_a_saved_run_comes_back_as_it_was(tmp_path):
    store = str(tmp_path)  # a folder does for a store
    problem = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12, seed=1)
    run = lb.train(problem, lb.GradientDescent(0.1), lb.L1(1e-4), steps=2000, probes=lb.probes.Components())
    again = lb.load(run.save(store)[:6], store)
    assert again.configuration == run.configuration
    assert again.milestones == run.milestones
    assert again.outcome == run.outcome
    np.testing.assert_array_equal(again.params, run.params)
    for name, values in run.columns.items():
        np.testing.assert_array_equal(again[name], values)
    assert again.plot().axes


def test_parameters_in_a_dictionary_come_back_as_they_were(tmp_path):
    start = {"params": jnp.ones(2), "deep": {"a": jnp.zeros(3)}}
    problem = lb.problems.LeastSquares(lambda w: w["params"] + w["deep"]["a"][:2], start)
    run = lb.train(problem, lb.GradientDescent(0.1), steps=3)
    again = lb.load(run.save(Store(tmp_path)), Store(tmp_path))
    assert set(again.params) == {"params", "deep"}
    np.testing.assert_array_equal(again.params["deep"]["a"], run.params["deep"]["a"])


def test_parameters_in_a_list_come_back_by_their_path(tmp_path):
    problem = lb.problems.LeastSquares(lambda w: w[0] + w[1], [jnp.ones(2), jnp.zeros(2)])
    run = lb.train(problem, lb.GradientDescent(0.1), steps=3)
    again = lb.load(run.save(Store(tmp_path)), Store(tmp_path))
    assert set(again.params) == {"[0]", "[1]"}


def test_what_is_not_a_run_is_not_loaded(tmp_path):
    store = Store(tmp_path)
    with store.begin({"study": "numbers"}) as live:
        name = live.finish({"x": np.arange(3)}, {"complete": True}, {}).id
    with pytest.raises(InputError, match="is not a finished run"):
        lb.load(name, store)
