"""A run: values read off it, between records and at them; saved, loaded, drawn and as a table."""

from __future__ import annotations

import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import pytest
from cases import OF_A_VECTOR, completion, sparse
from plain import RATE, reference, same_run

import latebloom as lb
from latebloom.engine.run import from_stored
from latebloom.errors import InputError
from latebloom.store import Store


@pytest.fixture(scope="module")
def run():
    return lb.train(
        sparse(), lb.GradientDescent(0.1), lb.L1(1e-4), steps=2_000, memorised_at=0.05, probes=[lb.probes.Components()]
    )


@pytest.fixture(scope="module")
def flow():
    problem = completion(depth=2, width=3, init_scale=0.5)
    return lb.flow(problem, weight_decay=1e-2, time=1e3, memorised_at=0.05, progress=False)


def test_t1_and_t2_are_the_milestones_on_the_own_clock(run, flow):
    assert run.t1 == run.milestones.memorised.step
    assert isinstance(run.t1, int)
    assert run.t2 is None or run.t2 == run.milestones.generalised.step
    assert flow.t1 == flow.milestones.memorised.time
    without_truth = lb.problems.LinearRegression([[1.0, 1.0]], [2.0])
    assert lb.train(without_truth, lb.GradientDescent(0.1), steps=10).t2 is None


def test_between_records_it_is_linear_in_the_logarithm_of_the_clock(run):
    step, error = run["step"], run["train_error"]
    for k in (5, 40, len(step) - 2):
        assert run.at("train_error", step=float(step[k])) == pytest.approx(error[k], rel=1e-12)
        middle = np.sqrt(float(step[k]) * float(step[k + 1]))
        assert run.at("train_error", step=middle) == pytest.approx((error[k] + error[k + 1]) / 2, rel=1e-12)
        assert run.at("train_error", time=0.1 * middle) == pytest.approx((error[k] + error[k + 1]) / 2, rel=1e-9)
    assert run.at("components", step=30.5).shape == (20,)
    assert run.at("train_error", step=1e9) == error[-1]


def test_a_record_is_the_last_one_at_or_before(run, flow):
    assert run.record(step=10**9)["step"] == 2_000
    assert run.record(step=0)["train_error"] == run["train_error"][0]
    assert flow.record(time=1e3)["time"] == 1e3
    between = (flow["time"][7] + flow["time"][8]) / 2
    assert flow.record(time=between)["time"] == flow["time"][7]


def test_the_first_record_at_which_a_condition_holds(run, flow):
    below = run["train_error"] < 0.5
    assert run.first(below) == run["step"][np.flatnonzero(below)[0]]
    assert isinstance(run.first(below), int)
    assert flow.first(flow["train_error"] < 0) is None
    assert isinstance(flow.first(flow["train_error"] < 0.5), float)


def test_a_crossing_is_the_first_record_with_the_one_before(run, flow):
    for made in (run, flow):
        clock, error = made[made.clock], made["train_error"]
        row = int(np.flatnonzero(error <= 0.3)[0])
        found = made.crossing("train_error", below=0.3)
        assert (found.step, found.bracket) == (clock[row], (clock[row - 1], clock[row]))
        assert type(found.step) is (int if made is run else float)
        assert not found.pinned
        assert found.step <= made.crossing("train_error", below=0.15).step


def test_a_crossing_of_the_own_threshold_is_the_milestone(run):
    assert run.crossing("train_error", below=0.05) == run.milestones.memorised.first
    assert run.milestones.memorised.first.pinned


def test_a_crossing_from_below(run):
    norm = run["l2_norm"]
    row = int(np.flatnonzero(norm >= norm[-1] / 2)[0])
    assert run.crossing("l2_norm", above=norm[-1] / 2).step == run["step"][row]
    assert run.crossing("l2_norm", above=1e9) is None
    assert run.crossing("train_error", below=0.0) is None
    assert run.crossing("train_error", below=1e9).at_most


@pytest.mark.parametrize(
    ("column", "levels", "message"),
    [
        ("tset_error", {"below": 0.1}, "unknown column 'tset_error': did you mean 'test_error'"),
        ("test_error", {}, r"needs one level: write run.crossing\('test_error', below=0.02\)"),
        ("test_error", {"below": 0.1, "above": 0.2}, "needs one level"),
        ("test_error", {"below": float("nan")}, "must be finite"),
        ("test_error", {"above": "x"}, "must be a number"),
        ("components", {"below": 0.1}, "components has 20 numbers a record: a crossing needs a column of one"),
    ],
)
def test_a_crossing_of_nothing_is_refused(run, column, levels, message):
    with pytest.raises(InputError, match=message):
        run.crossing(column, **levels)


def test_milestones_at_other_thresholds(run, flow):
    for made in (run, flow):
        assert made.milestones_at().memorised == made.milestones.memorised
        assert made.milestones_at(memorised=0.05) == made.milestones
        other = made.milestones_at(memorised=0.3, generalised=0.9)
        assert other.memorised.first == made.crossing("train_error", below=0.3)
        assert other.generalised.first == made.crossing("test_error", below=0.9)
        assert (other.memorised.clock, other.generalised.threshold) == (made.clock, 0.9)
    without_truth = lb.train(lb.problems.LinearRegression([[1.0, 1.0]], [2.0]), lb.GradientDescent(0.1), steps=10)
    with pytest.raises(InputError, match=r"nothing that says when it was generalised: leave generalised=0\.1 out"):
        without_truth.milestones_at(generalised=0.1)


def test_drawing_leaves_the_backend_alone():
    before = mpl.get_backend()
    mpl.use("svg")
    try:
        lb.train(sparse(), lb.GradientDescent(0.1), steps=10).plot()
        assert mpl.get_backend() == "svg"
    finally:
        mpl.use(before)


def test_runs_are_compared_by_identity():
    first, second = (lb.train(sparse(), lb.GradientDescent(0.1), steps=10) for _ in range(2))
    assert first == first  # noqa: PLR0124
    assert first != second
    assert len({first, second}) == 2


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


def test_a_table_has_a_column_for_every_component():
    run = lb.train(sparse(init_scale=1.0), lb.GradientDescent(RATE), lb.L1(1e-3), steps=777, probes=OF_A_VECTOR)
    table = run.to_frame()
    assert len(table) == len(run["step"])
    np.testing.assert_array_equal(table["components[7]"], run["components"][:, 7])
    assert {"step", "train_loss", "components[19]"} <= set(table.columns)


def test_a_run_is_read_back_from_what_is_stored():
    _, run, _ = reference()
    columns, summary, arrays = run.to_stored()
    assert same_run(run, from_stored(run.configuration, columns, summary, arrays))
