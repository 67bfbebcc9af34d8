"""`runs list`, `show`, `plot`, `export`, `delete` on a store of runs, a study and what is unfinished."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import latebloom as lb
from latebloom.cli import runs as runs_module
from latebloom.cli.selection import moment
from latebloom.cli.stored import HEADINGS, lines
from latebloom.errors import InputError
from latebloom.store import Store

PROBLEM = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12, seed=1)
TRAINED = lb.TrainJob(PROBLEM, lb.GradientDescent(0.1), lb.L1(1e-3), steps=2000, memorised_at=0.05)
SHORTER = TRAINED.but({"steps": 1000})
FLOW = lb.FlowJob(lb.problems.LinearRegression([[1.0, 1.0]], [2.0], truth=[1.0, 1.0]), lb.L2(1e-3), time=10.0)
NOW = 1_790_000_000.0
DAY = 86400.0


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Oldest first, ten days apart: a run, its neighbour, a flow, a study, an interrupted and a killed run."""
    store = Store(tmp_path_factory.mktemp("made") / "store")
    lb.run([TRAINED, SHORTER, FLOW], store=store)
    with store.begin({"study": "numbers", "experiment": "beyond-l2/fig3"}) as live:
        live.finish({"x": [1.0, 2.0]}, {"complete": True})
    with store.begin({"kind": "train", "n": 1}) as live:
        live.finish({"step": [0, 1]}, {"complete": False, "recovered": True})
    with store.begin({"kind": "train", "n": 2}) as live:
        live.append({"step": [0, 1]})
    return store.path


@pytest.fixture
def kept(made, tmp_path, monkeypatch) -> Store:
    monkeypatch.setattr(time, "time", lambda: NOW)
    store = Store(shutil.copytree(made, tmp_path / "kept"))
    study = next(run.id for run in store.runs() if "study" in run.configuration)
    (partial,) = (store.path / "partial").iterdir()
    (killed,) = (store.path / "live").iterdir()
    folders = [*(store.path / "runs" / key for key in (TRAINED.key, SHORTER.key, FLOW.key, study)), partial]
    for number, folder in enumerate(folders):
        stamp = NOW - DAY * (60 - 10 * number)
        os.utime(folder / "summary.json", (stamp, stamp))
    os.utime(killed, (NOW - DAY, NOW - DAY))
    return store


@pytest.fixture
def listed(latebloom, kept):
    """The ids that a listing has, in its order."""

    def call(*words: object) -> list[str]:
        return [run["id"] for run in latebloom("runs", "list", *words, "--store", kept.path, "--json").json]

    return call


def test_a_line_a_run_newest_first(latebloom, kept):
    answer = latebloom("runs", "list", "--store", kept.path)
    head, killed, partial, study, flow, shorter, trained = answer.out.splitlines()
    assert head.split() == list(HEADINGS)
    assert re.split(" {2,}", trained)[::3] == [TRAINED.key, "gradient_descent[learning_rate=0.1]", "> 2,000"]
    assert trained.endswith("finished")
    assert PROBLEM.text in shorter  # whole, however long: nobody cuts what goes into a pipe
    assert "flow (rkc)" in flow
    assert "study: numbers (beyond-l2/fig3)" in study
    assert partial.endswith("recovered")
    assert killed.endswith("abandoned")
    assert answer.err == ""


def test_t1_is_at_most_where_it_was_there_from_the_start(latebloom, tmp_path):
    there = lb.problems.LinearRegression([[1.0, 1.0]], [2.0], truth=[1.0, 1.0], init=[1.0, 1.0])
    lb.run(lb.TrainJob(there, lb.GradientDescent(0.1), steps=5), store=tmp_path / "s")
    assert latebloom("runs", "list", "--store", tmp_path / "s").out.splitlines()[1].count("≤ 0") == 2


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_lines_fit_a_terminal_and_lose_texts_first(width):
    rows = [
        HEADINGS,
        ["0123456789abcdef", "2026-11-18 16:30", "p" * 150, "m" * 40, "n" * 20, "59", "1,145", "finished"],
    ]
    _, line = lines(rows, width)
    assert len(line) == width
    assert line.startswith("01234567  2026-11-18 16:30  ppp")
    assert width == 60 or line.endswith("59  1,145  finished")  # at 60 six letters of each text are too many


def test_ids_on_a_terminal_are_as_long_as_it_takes():
    rows = [HEADINGS, *([name, *[""] * 7] for name in ("0123456789abcdef", "0123456780abcdef", "fedcba9876543210"))]
    assert [line.split()[0] for line in lines(rows, 100)] == ["id", "0123456789", "0123456780", "fedcba98"]


def test_a_listing_is_as_wide_as_the_terminal(latebloom, kept, monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert {len(line) <= 90 for line in latebloom("runs", "list", "--store", kept.path).out.splitlines()} == {True}


def test_filters(listed, kept):
    everything = listed()
    assert len(everything) == 6
    assert listed("--limit", 2) == everything[:2]
    assert listed("--problem", "SPARSE_recovery") == [SHORTER.key, TRAINED.key]
    assert listed("--problem", "numbers") == [everything[2]]
    assert listed("--outcome", "finished") == everything[2:]
    assert listed("--outcome", "recovered") == [everything[1]]
    assert listed("--since", "41d") == everything[:4]
    assert listed("--since", "41d", "--before", "25d") == everything[2:4]
    assert listed("--problem", "sparse", "--before", "55d", "--outcome", "finished") == [TRAINED.key]
    assert listed("--since", "2026-01-01") == everything
    assert listed("--before", "2026-01-01") == []


def test_a_condition_in_sql(listed, latebloom, kept):
    assert listed("--where", "strength = 1e-3 and problem = 'sparse_recovery' and t2 is null") == [
        SHORTER.key,
        TRAINED.key,
    ]
    assert listed("--where", "steps < 1500", "--outcome", "finished") == [SHORTER.key]
    assert listed("--where", "kind = 'study' or outcome = 'abandoned'", "--problem", "numbers") == [listed()[2]]
    answer = latebloom("runs", "list", "--where", "kind = 'flow'", "--store", kept.path)
    assert (answer.out.splitlines()[1].split()[0], answer.err) == (FLOW.key, "1 of 6 runs\n")


def test_order_and_columns(latebloom, kept):
    table = ("runs", "list", "--where", "kind is not null", "--store", kept.path)
    rows = latebloom(*table, "--sort", "-steps,id", "--columns", "id,steps", "--json", "--limit", 3).json
    assert [row["steps"] for row in rows] == [2000, 1000, None]
    assert rows[0]["id"] == TRAINED.key
    rising = latebloom(*table, "--sort", "strength,steps", "--columns", "steps", "--json").json
    assert [row["steps"] for row in rising][:3] == [1000, 2000, None]  # all of one strength; then those without one
    text = latebloom(*table, "--sort", "-steps", "--columns", "id,steps,t2,t2_low").out.splitlines()
    assert text[0].split() == ["id", "steps", "t2", "t2_low"]
    assert text[1].split() == [TRAINED.key, "2000", "2000"]


def test_the_table_as_csv(latebloom, kept):
    out = latebloom("runs", "list", "--csv", "--problem", "sparse", "--store", kept.path).out
    head, newest, _ = csv.reader(io.StringIO(out))
    row = dict(zip(head, newest, strict=True))
    assert (row["id"], row["strength"], row["t2"], row["t2_high"]) == (SHORTER.key, "0.001", "", "inf")
    assert (
        latebloom("runs", "list", "--csv", "--columns", "id", "--limit", 1, "--store", kept.path).out.count("\n") == 2
    )


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_runs_are_exported_as_a_table(latebloom, kept, tmp_path, suffix):
    path = tmp_path / f"runs.{suffix}"
    words = ("runs", "export", "--where", "kind = 'train' and steps > 0", path, "--columns", "id,steps,t2,t2_high")
    assert latebloom(*words, "--store", kept.path, "--json").json == {"exported": str(path)}
    read = {"csv": pd.read_csv, "json": pd.read_json, "parquet": pd.read_parquet}[suffix](path)
    assert read["id"].tolist() == [TRAINED.key, SHORTER.key]
    assert read["steps"].tolist() == [2000, 1000]
    assert read["t2"].isna().all()
    assert [float(value) for value in read["t2_high"]] == [math.inf, math.inf]


def test_an_export_of_a_table_to_standard_output(latebloom, kept):
    out = latebloom("runs", "export", "--where", "kind = 'flow'", "-", "--columns", "id,kind", "--store", kept.path).out
    assert out == f"id,kind\n{FLOW.key},flow\n"


def test_delete_what_meets_a_condition(latebloom, listed, kept):
    before = listed()
    answer = latebloom("runs", "delete", "--where", "steps < 1500", "--store", kept.path, "--json")
    assert answer.json == {"deleted": [SHORTER.key]}
    assert listed() == [key for key in before if key != SHORTER.key]
    assert latebloom("runs", "delete", "--where", "steps < 1500", "--store", kept.path).out == "nothing deleted\n"


def test_data_in_a_text_is_shown_by_its_ends(latebloom, tmp_path):
    weights = [1 + number / 8 for number in range(20)]
    penalty = lb.WeightedL2(1e-3, weights)
    lb.run(lb.TrainJob(PROBLEM, lb.GradientDescent(0.01), penalty, steps=5), store=tmp_path / "s")
    line = latebloom("runs", "list", "--store", tmp_path / "s").out.splitlines()[1]
    assert "weighted_l2[strength=0.001,weights=(1 … 3.375)]" in line
    assert len(line) < 500


def test_the_number_left_out_is_said(latebloom, kept):
    assert latebloom("runs", "list", "--limit", 1, "--store", kept.path).err == "1 of 6 runs\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("list", "--outcome", "finnished"), "did you mean 'finished'"),
        (("list", "--since", "yesterday"), "'yesterday' is neither a date nor an age: write 2026-11-18"),
        (("list", "--limit", "-1"), "--limit"),
        (("list", "--where", "strenght < 1"), "did you mean 'strength'"),
        (("list", "--where", "1=1; drop table runs"), "is no condition"),
        (("list", "--where", "id in (select content from '/etc/passwd')"), "is not allowed (it has a subquery)"),
        (("list", "--sort", "-strenght"), "did you mean 'strength'"),
        (("list", "--columns", "id,stepps"), "did you mean 'steps'"),
        (("list", "--columns", ","), "names no column"),
        (("list", "--csv", "--json"), "exclude each other"),
        (("delete", "--where", "strenght < 1"), "did you mean 'strength'"),
        (("delete", TRAINED.key, "--where", "true"), "needs one selection"),
        (("export", TRAINED.key), "needs a file: write runs export"),
        (("export", TRAINED.key, "x.csv", "--where", "true"), "takes an id or --where, not both"),
        (("export", TRAINED.key, "x.csv", "--columns", "id"), "give --where, too"),
        (("export", "--where", "true", "runs.doc"), "its suffix must be one of .csv, .parquet, .json; write runs.csv"),
        (("delete",), "needs one selection"),
        (("delete", TRAINED.key, "--partial"), "needs one selection"),
        (("delete", "--damaged", "--older-than", "3d"), "needs one selection"),
        (("delete", TRAINED.key, "zzzz"), "unknown run 'zzzz'"),
        (("plot", TRAINED.key, "--out", "run.doc"), "its suffix must be one of .png, .pdf, .svg; write run.png"),
        (("plot", TRAINED.key, FLOW.key), "share no clock"),
        (("export", TRAINED.key, "-", "--format", "cvs"), "did you mean 'csv'"),
        (("export", TRAINED.key, "-", "--json"), "both want standard output"),
        (("show", TRAINED.key, "--generalised-at", "-1"), "generalised threshold"),
    ],
)
def test_bad_requests_are_one_line_and_delete_nothing(latebloom, listed, kept, words, message):
    answer = latebloom("runs", *words, "--store", kept.path)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert answer.out == "" or list(json.loads(answer.out)) == ["error"], "with --json the request is answered in JSON"
    assert message in answer.err
    assert len(listed()) == 6


def test_an_age_is_in_units_and_a_date_on_the_local_clock(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: NOW)
    ages = {"90s": 90, "2m": 120, "1.5h": 5400, "7d": 7 * DAY, "2w": 14 * DAY}
    assert {text: NOW - moment(text) for text in ages} == ages
    assert moment("2026-11-18T16:30") - moment("2026-11-18") == 16.5 * 3600
    for text in ("", "d", "7 days", "-7d", "2026-13-01", "1e400"):
        with pytest.raises(InputError, match="neither a date nor an age"):
            moment(text)


def test_show_at_other_thresholds(latebloom, kept):
    run = lb.load(TRAINED.key, kept)
    words = ("runs", "show", TRAINED.key[:8], "--memorised-at", 0.2, "--generalised-at", 0.5, "--store", kept.path)
    expected = run.milestones_at(memorised=0.2, generalised=0.5)
    assert expected.memorised is not None
    assert expected.memorised.when == run.crossing("train_error", below=0.2).step
    assert latebloom(*words, "--json").json["milestones"] == expected.to_json(0.1)
    assert f"finished after 2,000 steps; {expected}\n" in latebloom(*words).out


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_plot(latebloom, kept, tmp_path, suffix):
    out = tmp_path / f"run.{suffix}"
    both = [TRAINED.key[:8], SHORTER.key[:8]] if suffix == "png" else [TRAINED.key]
    assert latebloom("runs", "plot", *both, "--out", out, "--store", kept.path, "--json").json == {"drawn": str(out)}
    assert out.read_bytes()[:4] == {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xm"}[suffix]


def test_a_plot_has_the_name_of_its_run(latebloom, kept, tmp_path):
    assert latebloom("runs", "plot", FLOW.key, "--store", kept.path).code == 0
    assert (tmp_path / f"{FLOW.key[:8]}.png").exists()


def test_export_to_standard_output(latebloom, kept, tmp_path):
    words = ("runs", "export", TRAINED.key[:8])
    rows = list(csv.DictReader(io.StringIO(latebloom(*words, "-", "--store", kept.path).out)))
    run = lb.load(TRAINED.key, kept)
    assert [float(row["train_error"]) for row in rows] == run["train_error"].tolist()
    document = latebloom(*words, "-", "--format", "json", "--store", kept.path).json
    assert document["columns"]["test_error"] == run["test_error"].tolist()
    assert latebloom(*words, tmp_path / "odd.name", "--format", "parquet", "--store", kept.path).code == 0
    assert pq.read_table(tmp_path / "odd.name").num_rows == len(rows)


def test_delete_what_is_not_finished(latebloom, listed, kept):
    killed, partial, *others = listed()
    answer = latebloom("runs", "delete", "--partial", "--older-than", "5d", "--store", kept.path, "--json")
    assert answer.json == {"deleted": [partial]}
    assert latebloom("runs", "delete", "--partial", "--store", kept.path).out == f"deleted {killed}\n"
    assert listed() == others
    assert latebloom("runs", "delete", "--partial", "--store", kept.path).out == "nothing deleted\n"


def test_delete_what_is_old(latebloom, listed, kept):
    everything = listed()
    answer = latebloom("runs", "delete", "--older-than", "45d", "--store", kept.path, "--json")
    assert answer.json == {"deleted": [SHORTER.key, TRAINED.key]}
    assert listed() == everything[:4]


@pytest.mark.parametrize(("answer", "words", "left"), [("n", (), 6), ("y", (), 4), ("", ("--yes",), 4)])
def test_a_terminal_is_asked_before_many_go(latebloom, listed, kept, monkeypatch, answer, words, left):
    asked = []
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(runs_module.typer, "confirm", lambda text, **_: asked.append(text) or answer == "y")
    latebloom("runs", "delete", "--older-than", "45d", *words, "--store", kept.path)
    assert asked == ([] if words else ["delete 2 runs for good?"])
    assert len(listed()) == left


def test_one_deletes_while_another_lists(latebloom, kept, monkeypatch):
    """Every run goes away between the names of the folders and the reading of them: no line, no traceback."""
    gone = itertools.count()
    real = Store.table

    def table(store: Store, *questions: Any) -> Any:
        found = real(store, *questions)
        if next(gone) == 0:
            for folder in [*(store.path / "runs").iterdir(), *(store.path / "partial").iterdir()]:
                shutil.rmtree(folder)
        return found

    monkeypatch.setattr(Store, "table", table)
    answer = latebloom("runs", "delete", "--older-than", "45d", "--store", kept.path)
    assert (answer.code, answer.out, answer.err) == (0, "nothing deleted\n", "")
