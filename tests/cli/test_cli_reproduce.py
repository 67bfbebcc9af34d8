"""`reproduce` and `verify`, end to end on the first figure."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from latebloom import catalog


def test_reproduce_json_has_the_agreed_shape(latebloom, shared_store, tmp_path):
    answer = latebloom("reproduce", "beyond-l2/fig3", "--json", "--store", shared_store, "--out", tmp_path / "out")
    assert answer.code == 0, answer.err
    (report,) = answer.json
    assert {"experiment", "seed", "seconds", "gradients", "runs", "claims", "figures"} <= set(report)
    run = next(run for run in report["runs"] if run["name"] == "l1")
    assert run["outcome"] == "finished"
    assert {"step", "time", "bracket"} <= set(run["milestones"]["memorised"])
    keys = {"id", "text", "source", "measured", "expected", "holds", "documented"}
    assert all(keys <= set(claim) for claim in report["claims"])
    assert [Path(path).suffix for path in report["figures"]] == [".png", ".pdf", ".csv"]
    assert all(Path(path).stat().st_size > 1000 for path in report["figures"])


def test_fig3_gives_the_published_times(latebloom, shared_store):
    """Published number: t1 near 60 and t2 near 1e5 steps at threshold 1e-3."""
    (report,) = latebloom("verify", "beyond-l2/fig3", "--json", "--store", shared_store).json
    milestones = next(run for run in report["runs"] if run["name"] == "l1")["milestones"]
    assert 40 <= milestones["memorised"]["step"] <= 90
    assert 5e4 <= milestones["generalised"]["step"] <= 2e5


def test_the_second_time_comes_from_the_store_with_the_same_numbers(latebloom, shared_store):
    words = ("verify", "beyond-l2/fig3", "--json", "--store", shared_store)
    first, second = (latebloom(*words).json[0] for _ in range(2))
    assert second["computed"] == 0
    assert second["from_store"] == len(second["runs"]) + 1, "the runs, and the oracle that they end at"
    timed = {"seconds", "computed", "from_store"}
    assert {k: v for k, v in first.items() if k not in timed} == {k: v for k, v in second.items() if k not in timed}


def test_seeds_report_rates(latebloom, shared_store):
    answer = latebloom("reproduce", "beyond-l2/fig25", "--seeds", 3, "--json", "--store", shared_store)
    (report,) = answer.json
    assert report["seeds"] == [0, 1, 2]
    assert len(report["runs"]) == 3
    claim = report["claims"][0]
    assert claim["of"] == 3
    assert claim["rate"] == claim["held"] / 3
    assert len(claim["measured"]) == 3


def test_seed_and_seeds_exclude_each_other(latebloom):
    answer = latebloom("reproduce", "beyond-l2/fig3", "--seed", 1, "--seeds", 2)
    assert answer.code == 2
    assert "exclude each other" in answer.err


def test_set_reaches_the_runs_and_the_report(latebloom, shared_store, tmp_path):
    words = ("reproduce", "beyond-l2/fig3", "--store", shared_store, "--out", tmp_path, "--json")
    small = ("--set", "steps=2000", "--set", "dimension=40")
    answer = latebloom(*words, *small, "--set", "learning_rate=0.05")
    assert answer.code == 0, "settings of one's own have no documented verdicts"
    (report,) = answer.json
    assert report["set"] == {"steps": 2000, "dimension": 40, "learning_rate": 0.05}
    assert report["settings"]["learning_rate"] == 0.05
    assert report["settings"]["strength"] == 1e-5
    assert all(claim["documented"] is None for claim in report["claims"])
    dynamics = report["runs"][0]["configuration"]["dynamics"]
    assert "learning_rate=0.05" in dynamics["method"]
    assert "dimension=40" in dynamics["problem"]
    (name,) = {Path(path).stem for path in report["figures"]}
    assert name == "beyond-l2-fig3-dimension=40-learning_rate=0.05-steps=2000"
    table = latebloom(*words[:-1], *small)
    assert "not at the documented settings" in table.out


REFUSED = {
    "learnig_rate=1": "unknown setting of beyond-l2/fig3 'learnig_rate': did you mean 'learning_rate'?",
    "learning_rate=-1": "learning_rate must be finite and above 0",
    "learning_rate=fast": "learning_rate must be a number",
    "steps": "write --set name=value",
    "steps=": "write --set name=value",
}


@pytest.mark.parametrize("given", REFUSED)
def test_a_setting_that_cannot_be_is_one_line_and_exit_2(latebloom, given):
    answer = latebloom("reproduce", "beyond-l2/fig3", "--set", given)
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert REFUSED[given] in answer.err


def test_a_file_of_images_is_a_setting(latebloom, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    path = "my faces/a=b.npz"
    Path("my faces").mkdir()
    images = np.random.default_rng(0).random((30, 2, 2))
    np.savez(path, images=images, labels=np.arange(30) % 3)
    small = {"train": 20, "steps": 5, "width": 3}
    words = ("reproduce", "beyond-l2/fig35", "--store", tmp_path / "store", "--out", tmp_path / "out", "--json")
    words += tuple(word for name, value in small.items() for word in ("--set", f"{name}={value}"))
    answer = latebloom(*words, "--set", f"data={path}")
    assert answer.code == 0, answer.err
    (report,) = answer.json
    assert report["set"] == {"data": path, **small}
    (name,) = {Path(file).name.rpartition(".")[0] for file in report["figures"]}
    assert name.startswith("beyond-l2-fig35-data=my_faces_a_b.npz-")
    assert name.endswith("-train=20-steps=5-width=3")


def test_a_setting_is_given_once(latebloom):
    assert "twice" in latebloom("reproduce", "beyond-l2/fig3", "--set", "steps=1", "--set", "steps=2").err


@pytest.fixture
def wrongly_documented():
    """An entry whose first claim is documented to fail, and holds."""
    entry = catalog.get("beyond-l2/fig25")
    kept = list(entry.claims)
    entry.claims[0] = replace(kept[0], fails="it does not")
    yield entry
    entry.claims[:] = kept


def test_one_verdict_that_differs_is_exit_code_1(latebloom, shared_store, wrongly_documented):
    """Of two entries the first has a wrong verdict, the second none: the exit code must say so."""
    answer = latebloom("verify", wrongly_documented.id, "beyond-l2/fig3", "--store", shared_store)
    assert answer.code == 1
    assert answer.out.count("Unexpected: ") == 1
    assert "1 unexpected" in answer.out


def test_verify_takes_a_paper_and_draws_nothing(latebloom, shared_store, monkeypatch, tmp_path):
    few = {key: catalog.ENTRIES[key] for key in ("beyond-l2/fig3", "beyond-l2/fig25")}
    monkeypatch.setattr(catalog, "ENTRIES", few)
    answer = latebloom("verify", "beyond-l2", "--json", "--store", shared_store)
    assert answer.code == 0, answer.err
    assert {report["experiment"] for report in answer.json} == set(few)
    assert all(report["figures"] == [] for report in answer.json)
    assert not (tmp_path / "out").exists()


def test_an_unwritable_store_is_one_line_and_exit_2(latebloom, tmp_path):
    (tmp_path / "file").write_text("in the way")
    answer = latebloom("reproduce", "beyond-l2/fig25", "--store", tmp_path / "file" / "store")
    assert answer.code == 2
    assert "--store DIR" in answer.err
    assert "Traceback" not in answer.err


def test_unwritable_figures_are_one_line_and_exit_2(latebloom, shared_store, tmp_path):
    (tmp_path / "file").write_text("in the way")
    answer = latebloom("reproduce", "beyond-l2/fig25", "--store", shared_store, "--out", tmp_path / "file" / "out")
    assert answer.code == 2
    assert "--out DIR" in answer.err


def test_a_truncated_run_is_set_aside_and_computed_again(latebloom, tmp_path):
    words = (
        "run",
        "sparse_recovery",
        "--penalty",
        "l1[1e-5]",
        "--steps",
        5000,
        "--json",
        "--store",
        tmp_path / "store",
    )
    before = latebloom(*words).json
    (records,) = (tmp_path / "store").glob("runs/*/records.parquet")
    records.write_bytes(records.read_bytes()[:100])
    after = latebloom(*words)
    assert after.code == 0
    assert "warning" in after.err
    assert after.json == before
    assert list((tmp_path / "store").glob("damaged/*"))


def test_the_code_generator_of_users_gives_the_same_run(latebloom, tmp_path):
    """The tests compile by a quicker one (`conftest.py`); this process does not."""
    words = ["run", "sparse_recovery", "--penalty", "l1[1e-5]", "--steps", "2000", "--json"]
    command = [sys.executable, "-c", "from latebloom.cli import main; main()", *words, "--store", str(tmp_path / "s")]
    usual = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    theirs = json.loads(subprocess.run(command, env=usual, stdout=subprocess.PIPE, check=True, text=True).stdout)
    ours = latebloom(*words).json
    assert theirs["milestones"]["memorised"]["step"] == ours["milestones"]["memorised"]["step"]
    assert theirs["final"] == pytest.approx(ours["final"], rel=1e-9)


def test_two_processes_on_one_store_both_answer(tmp_path):
    words = ["run", "sparse_recovery", "--penalty", "l1[1e-5]", "--steps", "20000", "--json"]
    command = [sys.executable, "-c", "from latebloom.cli import main; main()", *words, "--store", str(tmp_path / "s")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [json.loads(process.communicate(timeout=120)[0]) for process in both]
    assert answers[0] == answers[1]
    assert [process.returncode for process in both] == [0, 0]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_keeps_what_was_done(tmp_path):
    words = ["run", "sparse_recovery", "--penalty", "l1[1e-5]", "--steps", "2000000000", "--store", str(tmp_path / "s")]
    command = [sys.executable, "-c", "from latebloom.cli import main; main()", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list((tmp_path / "s").glob("live/*/records.arrows")) and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "kept as partial" in err
    assert list((tmp_path / "s").glob("partial/*/records.parquet"))


def test_controls_say_by_what_each_claim_turned(latebloom, shared_store):
    answer = latebloom("verify", "--controls", "beyond-l2/fig25", "--json", "--store", shared_store)
    told = answer.json
    assert (answer.code, told["claims"], told["share_turned"]) == (0, len(catalog.get("beyond-l2/fig25").claims), 1)
    assert all(one["turned"] and one["by"] in one["tried"] for one in told["list"])
    table = latebloom("verify", "--controls", "beyond-l2/fig25", "--store", shared_store)
    assert "turned by" in table.out
    assert "100.0% of" in table.out
    refused = latebloom("verify", "--controls", "--full", "beyond-l2/fig25", "--store", shared_store)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "exclude each other" in refused.err


def test_a_claim_that_does_not_turn_is_exit_code_one(latebloom, shared_store, monkeypatch):
    from latebloom.catalog.bounds import at_least

    entry = replace(catalog.get("beyond-l2/fig25"))
    entry.parts["runs"] = catalog.get("beyond-l2/fig25").parts["runs"]
    entry.claim(at_least(0), id="always", text="It is no number below zero.")(lambda e: e["l1"].final["test_error"])
    monkeypatch.setitem(catalog.ENTRIES, entry.id, entry)
    answer = latebloom("verify", "--controls", "beyond-l2/fig25", "--store", shared_store)
    assert answer.code == 1
    assert "NOTHING" in answer.out
