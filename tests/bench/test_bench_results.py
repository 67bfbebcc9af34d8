"""The table of benchmarks: names, JSON, rows, verdicts."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from latebloom import bench
from latebloom.bench import start_up
from latebloom.bench.base import BenchResult
from latebloom.bench.timing import take_turns
from latebloom.errors import UnknownNameError

FIELDS = {"benchmark", "what", "ours_seconds", "theirs_seconds", "ratio", "target", "meets", "note"}

ROOT = Path(__file__).parents[2]


def test_all_are_selected_by_default_and_each_once():
    assert [name for name, _ in bench.select([])] == bench.names()
    assert [name for name, _ in bench.select(["oracle", "batch", "oracle"])] == ["oracle", "batch"]


def test_unknown_name_suggests_the_closest():
    with pytest.raises(UnknownNameError, match=r"unknown benchmark 'sparse_step': did you mean 'sparse-step'\?"):
        bench.select(["sparse_step"])


def test_selecting_loads_nothing_heavy():
    code = "import sys, latebloom.bench as b; b.select(); sys.exit(bool({'jax', 'numpy', 'torch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_benchmark_has_a_measure():
    for name in bench.names():
        home = bench._HOMES[name]
        assert callable(getattr(__import__(home, fromlist=["measure"]), "measure", None)), name


@pytest.mark.parametrize(
    ("result", "ratio", "meets"),
    [
        (BenchResult.at_most("b", "w", ours=1.2, theirs=1.0, most=1.3), 1.2, True),
        (BenchResult.at_most("b", "w", ours=1.4, theirs=1.0, most=1.3), 1.4, False),
        (BenchResult.at_most("b", "w", ours=1.0, theirs=1.0, most=1.3, agree=False), 1.0, False),
        (BenchResult.at_least("b", "w", ours=1.0, theirs=6.0, least=5), 6.0, True),
        (BenchResult.at_least("b", "w", ours=1.0, theirs=4.0, least=5), 4.0, False),
        (BenchResult.at_least("b", "w", ours=1.0, theirs=6.0, least=5, agree=False), 6.0, False),
        (BenchResult.within("b", "w", ours=0.2, limit=0.5), None, True),
        (BenchResult.within("b", "w", ours=0.6, limit=0.5), None, False),
    ],
)
def test_verdict_json_and_row(result, ratio, meets):
    assert (result.ratio, result.meets) == (ratio, meets)
    shown = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert shown.keys() == FIELDS
    assert shown["meets"] is meets
    row = result.row()
    assert len(row) == 6
    assert all(isinstance(cell, str) for cell in row)
    assert row[-1] == ("met" if meets else "missed")


def test_what_is_not_finite_becomes_null():
    result = BenchResult("b", "w", math.nan, math.inf, math.nan, "none", None)
    assert [result.to_json()[key] for key in ("ours_seconds", "theirs_seconds", "ratio")] == [None] * 3


def test_contenders_take_turns_after_a_warm_up():
    calls: list[str] = []
    timed = take_turns({"a": lambda: calls.append("a"), "b": lambda: calls.append("b") or 7}, repeats=2)
    assert calls == ["a", "b"] * 3
    assert timed["b"].answer == 7
    assert timed["a"].spread >= 1


# Writes what a process sees of those before it: a program, a run.
TRACES = """
import os, pathlib
for name in ("LATEBLOOM_CACHE", "LATEBLOOM_STORE"):
    folder = pathlib.Path(os.environ[name])
    print(name, folder.exists(), file=open("seen.txt", "a"))
    folder.mkdir(exist_ok=True)
print(open("seen.txt").read(), file=open(os.environ["SEEN"], "w"))
"""


def test_start_up_measures_commands_and_second_processes(monkeypatch, tmp_path):
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    words = [sys.executable, "-c", TRACES]
    monkeypatch.setattr(start_up, "waits", lambda: {start_up.ANEW: words})
    results = start_up.measure(repeats=2)
    assert [result.what for result in results] == ["latebloom --help", "latebloom list", start_up.ANEW]
    assert all(result.ours_seconds is not None for result in results), [result.note for result in results]
    assert results[-1].ratio == results[-1].ours_seconds / results[-1].theirs_seconds
    cache, store = ([line for line in (tmp_path / "seen").read_text().split("\n") if kind in line]
                    for kind in ("CACHE", "STORE"))  # fmt: skip
    assert [line.split()[1] for line in cache] == ["False", "True", "True"]
    assert [line.split()[1] for line in store] == ["False"] * 3, "what is computed anew is not in the store"


def test_start_up_waits_for_a_figure_and_for_flows():
    assert list(start_up.waits()) == list(start_up.SECONDS)


def test_start_up_reports_a_command_that_fails(monkeypatch):
    broken = [sys.executable, "-c", "import sys; sys.exit('broken')"]
    monkeypatch.setattr(start_up, "command", lambda: broken)
    monkeypatch.setattr(start_up, "waits", lambda: {start_up.ANEW: broken})
    for result in start_up.measure(repeats=1):
        assert result.meets is False
        assert "broken" in result.note


def test_start_up_without_a_console_script(monkeypatch, tmp_path):
    monkeypatch.setattr(start_up.sys, "executable", str(tmp_path / "python"))
    assert start_up.command()[:2] == [str(tmp_path / "python"), "-c"]
