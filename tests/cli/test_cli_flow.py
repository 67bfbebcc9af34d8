"""`latebloom run --time` and `--slow-time`: the continuous limit from the command line."""

from __future__ import annotations

PROBLEM = "matrix_completion[shape=4x4,rank=1,observed=12,width=2,init_scale=0.5,seed=2]"


def test_a_flow_is_run_kept_and_served_again(latebloom):
    first = latebloom("run", PROBLEM, "--penalty", "l2[1e-3]", "--time", "100", "--memorised-at", "0.1", "--json")
    document = first.json
    assert document["outcome"] == "finished"
    assert document["final"]["time"] == 100
    assert document["milestones"]["memorised"]["step"] is None  # no learning rate, no steps
    assert 0 < document["milestones"]["memorised"]["time"] < 100
    assert (
        latebloom("run", PROBLEM, "--penalty", "l2[1e-3]", "--time", "100", "--memorised-at", "0.1", "--json").json
        == document
    )
    assert "  flow (rkc)  " in latebloom("runs", "list").out


def test_a_flow_refuses_a_penalty_with_kinks(latebloom):
    failed = latebloom("run", PROBLEM, "--penalty", "nuclear_norm[1e-3]", "--time", "100")
    assert failed.code == 2
    assert "smooth penalty" in failed.err


def test_a_slow_flow_is_run_kept_and_served_again(latebloom):
    line = ("run", PROBLEM, "--slow-time", "3", "--json")
    document = latebloom(*line).json
    assert document["outcome"] == "finished"
    assert document["final"]["slow_time"] == 3
    assert document["milestones"]["memorised"]["slow_time"] == 0
    assert latebloom(*line).json == document
    assert "  slow_flow" in latebloom("runs", "list").out


def test_one_way_of_running_at_a_time(latebloom):
    failed = latebloom("run", PROBLEM, "--slow-time", "3", "--time", "100")
    assert failed.code == 2
    assert "give one of them" in failed.err
