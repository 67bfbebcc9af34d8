"""`run`, `runs`, `doctor`, `bench`."""

from __future__ import annotations

import json
import math

import pytest

from latebloom.store import Store

RUN = ("run", "sparse_recovery[measurements=40,seed=3]", "--penalty", "l1[strength=1e-5]", "--steps", 2000)


@pytest.fixture
def stored(latebloom) -> str:
    return latebloom(*RUN, "--json").json["id"]


def test_run_keeps_what_it_did(latebloom, stored):
    (listed,) = latebloom("runs", "list", "--json").json
    assert listed["id"] == stored
    assert {"id", "configuration", "milestones", "outcome", "final"} <= set(listed)
    assert listed["configuration"]["dynamics"]["penalty"] == "l1[strength=1e-05]"
    assert listed["outcome"] == "finished"
    assert {"step", "time", "bracket"} <= set(listed["milestones"]["memorised"])
    assert listed["milestones"]["generalised"] is None


def test_show_takes_the_first_digits(latebloom, stored):
    assert latebloom("runs", "show", stored[:6], "--json").json["id"] == stored
    assert "finished after 2,000 steps" in latebloom("runs", "show", stored[:6]).out


def test_an_infinite_number_in_a_configuration_is_null_in_json(latebloom, tmp_path):
    with Store(tmp_path / "odd").begin({"study": "odd", "until": math.inf}) as live:
        run = live.finish({"x": [1.0]}, {})
    for words in (("list",), ("show", run.id)):
        answer = latebloom("runs", *words, "--store", tmp_path / "odd", "--json").json
        shown = answer[0] if words == ("list",) else answer
        assert shown["configuration"] == {"study": "odd", "until": None}


def test_export_and_delete(latebloom, stored, tmp_path):
    assert latebloom("runs", "export", stored, tmp_path / "run.csv").code == 0
    assert (tmp_path / "run.csv").read_text().startswith("step,time,slow_time")
    assert latebloom("runs", "delete", stored, "--json").json == {"deleted": [stored]}
    assert latebloom("runs", "list", "--json").json == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "sparse_recovry"), "did you mean 'sparse_recovery'"),
        (("run", "sparse_recovery[sparsty=3]"), "did you mean 'sparsity'"),
        (("run", "sparse_recovery[sparsity=300]"), "more than dimension"),
        (("run", "sparse_recovery", "--penalty", "l1[strength=-1]"), "must be finite and at least 0"),
        (("run", "sparse_recovery", "--penalty", "l1[strength=nan]"), "strength"),
        (("run", "sparse_recovery", "--penalty", "l3[1]"), "did you mean"),
        (("run", "sparse_recovery", "--method", "proximal_gradient[0.1]", "--probe", "gradient_ratio"), "penalty"),
        (("run", "sparse_recovery", "--stop-at", "generalized"), "did you mean 'generalised'"),
        (("run", "sparse_recovery", "--steps", "-5"), "steps"),
        (("runs", "show", "zzzz"), "zzzz"),
        (("bench", "sparse-stp"), "did you mean 'sparse-step'"),
    ],
)
def test_bad_requests_are_one_line_and_exit_2(latebloom, words, message):
    answer = latebloom(*words)
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""


def test_divergence_is_an_outcome_with_a_sentence(latebloom):
    answer = latebloom("run", "sparse_recovery", "--method", "gradient_descent[5.0]", "--steps", 1000, "--json")
    assert answer.code == 1
    assert "above 2/σ_max(XᵀX)" in answer.err
    assert answer.json["outcome"] == "diverged"
    assert "use e.g." in answer.json["sentence"]
    json.dumps(answer.json, allow_nan=False)


def test_doctor_is_healthy(latebloom):
    answer = latebloom("doctor", "--json")
    assert answer.code == 0
    assert answer.json["healthy"] is True
    assert answer.json["machine"]["precision"] == "float64"


def test_an_interrupted_run_is_resumed_by_its_id(latebloom, tmp_path, monkeypatch):
    import os
    import signal
    import subprocess
    import sys

    from latebloom.engine.keeping import Keeper

    words = ("run", "sparse_recovery[dimension=20,sparsity=2,measurements=12]", "--steps", 4_000)
    advanced = Keeper.advanced

    def interrupted(self, batch):
        advanced(self, batch)
        monkeypatch.setattr(Keeper, "advanced", advanced)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Keeper, "advanced", interrupted)
    stopped = latebloom(*words)
    assert stopped.code == 130
    assert "1 kept as partial; the same command goes on from there" in stopped.err
    (left,) = latebloom("runs", "list", "--json").json
    # A process of its own: it knows no kind of job before it is told.
    command = [sys.executable, "-m", "latebloom", "runs", "resume", left["id"][:8], "--json"]
    answer = subprocess.run([*command, "--store", str(tmp_path / "store")], capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout)["outcome"] == "finished"
    assert "goes on from step" in answer.stderr
    (finished,) = latebloom("runs", "list", "--json").json
    assert finished["state"] == "finished"
    again = latebloom("runs", "resume", finished["id"])
    assert (again.code, "is finished: for more steps, give" in again.err) == (2, True)
    before = (tmp_path / "store" / "runs" / finished["id"] / "summary.json").read_text()
    assert latebloom(*words).code == 0
    assert (tmp_path / "store" / "runs" / finished["id"] / "summary.json").read_text() == before
    assert latebloom(*words, "--fresh").code == 0
    assert (tmp_path / "store" / "runs" / finished["id"] / "summary.json").read_text() != before
