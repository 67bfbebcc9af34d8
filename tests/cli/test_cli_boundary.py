"""`latebloom boundary`: one document, one sentence, one picture, and what it refuses."""

from __future__ import annotations

import pytest

FILE = """
kind = "train"
problem = "sparse_recovery[dimension=10,sparsity=1,measurements=8]"
method = "gradient_descent"
steps = 400
[axes]
"method.learning_rate" = {from = 0.1, to = 1.5, count = 15}
[boundary]
along = "method.learning_rate"
crosses = "outcome is diverged"
seeds = 4
width = 0.5
"""


@pytest.fixture
def rates(tmp_path):
    path = tmp_path / "rates.toml"
    path.write_text(FILE)
    return path


def test_a_boundary_from_a_file(latebloom, rates, tmp_path):
    before = latebloom("boundary", rates, "--dry-run", "--json").json
    assert (before["grid_runs"], before["first_runs"], before["stored"]) == (60, 8, 0)
    made = latebloom("boundary", rates, "--json", "--out", tmp_path / "b.png")
    assert made.code == 0
    assert made.json["low"] < 0.58 < made.json["high"]  # the median of 2 / σ_max(XᵀX)
    assert made.json["computed"] == made.json["runs"] == len(made.json["ids"])
    assert (tmp_path / "b.png").stat().st_size > 0
    again = latebloom("boundary", rates)
    assert again.out.startswith("outcome is diverged in half of the runs from learning_rate = ")
    assert latebloom("boundary", rates, "--dry-run").out.endswith("of the first 8, 8 are in the store\n")
    assert latebloom("boundary", rates, "--json").json["computed"] == 0


def test_no_crossing_is_told_and_is_an_exit_code(latebloom, rates):
    rates.write_text(FILE.replace("0.1, to = 1.5", "0.001, to = 0.01"))
    answer = latebloom("boundary", rates)
    assert answer.code == 1
    assert "look below 0.001 or beyond 0.01" in answer.out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('along = "method.learning_rate"', "", "a boundary needs along"),
        (
            'along = "method.learning_rate"',
            'along = "method.rate"',
            "line 9: unknown axis to search along 'method.rate'",
        ),
        ("seeds = 4", "sedes = 4", "line 11: unknown part of [boundary] 'sedes': did you mean 'seeds'?"),
        ("count = 15", "count = 2", "at least 3 rising values, not 2"),
    ],
)
def test_a_wrong_file_is_one_line(latebloom, rates, old, new, words):
    rates.write_text(FILE.replace(old, new))
    answer = latebloom("boundary", rates)
    assert answer.code == 2
    assert words in answer.err
    assert len(answer.err.strip().splitlines()) == 1
