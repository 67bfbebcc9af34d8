"""`latebloom sweep`: from a file to a document, before, during and after."""

from __future__ import annotations

import pytest

TEXT = """name = "two"
kind = "train"
problem = "sparse_recovery[dimension=20,sparsity=2,measurements=12]"
method = "gradient_descent[0.1]"
penalty = "l1"
steps = 200
[axes]
"problem.sparsity" = [2, 30]
"penalty.strength" = [1e-3, 1e-4]
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(TEXT)
    return path


def test_plan_run_status_and_run_again(latebloom, file):
    plan = latebloom("sweep", file, "--dry-run", "--json")
    assert plan.code == 0
    told = ("cells", "impossible", "in_store", "to_compute", "programs")
    assert [plan.json[name] for name in told] == [4, 2, 0, 2, 1]
    assert plan.json["seconds"] > 0
    assert latebloom("sweep", file, "--status").out == "two: not begun\n"
    first = latebloom("sweep", file, "--json")
    assert first.code == 0
    assert "2 of 4 cells are impossible" in first.err
    assert (first.json["computed"], first.json["from_store"]) == (2, 0)
    assert first.json["outcomes"] == {"finished": 2, "impossible": 2}
    assert [run["outcome"] for run in first.json["runs"]] == ["finished", "finished", "impossible", "impossible"]
    assert first.json["runs"][2]["id"] is None
    status = latebloom("sweep", file, "--status", "--json").json
    assert (status["done"], status["impossible"], status["left"]) == (2, 2, 0)
    again = latebloom("sweep", file, "--json").json
    assert (again["computed"], again["from_store"], again["runs"]) == (0, 2, first.json["runs"])
    assert latebloom("sweep", file, "--dry-run", "--json").json["to_compute"] == 0
    assert latebloom("sweep", file, "--fresh", "--json").json["computed"] == 2
    assert latebloom("sweep", file).out.startswith("two: 4 cells, 0 computed, 2 from the store\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--strict"], "2 of 4 cells are impossible: sparsity=30, strength=0.001 and 1 others"),
        (["--workers", "2", "--slurm"], "--workers and --slurm exclude each other"),
        (["--dry-run", "--status"], "--dry-run and --status exclude each other"),
        (["--workers", "0"], "Invalid value for '--workers'"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_2(latebloom, file, words, message):
    answer = latebloom("sweep", file, *words)
    assert answer.code == 2
    assert message in answer.err
    assert "Traceback" not in answer.err


def test_a_wrong_key_is_one_line_with_its_place_in_json_too(latebloom, file):
    file.write_text(TEXT.replace("steps", "step"))
    answer = latebloom("sweep", file, "--json")
    assert answer.code == 2
    assert answer.json["error"].startswith(
        "two.toml, line 6: unknown field of a train sweep 'step': did you mean 'steps'?"
    )
    assert latebloom("sweep", file.with_name("none.toml")).err.startswith("latebloom: cannot read the sweep")
