"""Sweeps that are run: the numbers of single runs, kept in a store, whatever interrupts them, and by how many."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import killed_sweep
import numpy as np
import pytest

import latebloom as lb
from latebloom.engine.outcome import Ending
from latebloom.errors import InputError, LatebloomWarning
from latebloom.store import StoreError
from latebloom.store import group as group_module
from latebloom.store.checksums import seal
from latebloom.sweeps import plan, shards
from latebloom.sweeps.places.here import Here
from latebloom.sweeps.shards import Shard, run_shard
from latebloom.sweeps.survey import survey
from latebloom.sweeps.written import status_of, stored_sweep

PROBLEM = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12)
JOB = lb.TrainJob(PROBLEM, lb.GradientDescent(0.1), lb.L1(1e-3), steps=3000, memorised_at=0.05, generalised_at=0.05)
AXES = {"penalty.strength": [1e-2, 1e-3], "problem.seed": range(3)}


@pytest.fixture
def small(tmp_path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(killed_sweep.SMALL)
    return path


def test_a_sweep_gives_the_bits_of_single_runs(tmp_path):
    result = lb.sweep(lb.Sweep(JOB, AXES, name="bits"), store=tmp_path / "s")
    assert (len(result), result.computed, result.found) == (6, 6, 0)
    for name, job in lb.grid(JOB, AXES).items():
        assert killed_sweep.same(result.runs[name], lb.run(job))
    again = lb.sweep(lb.Sweep(JOB, AXES, name="bits"), store=tmp_path / "s")
    assert (again.computed, again.found, again.ids) == (0, 6, result.ids)


def test_what_single_runs_have_made_is_shared(tmp_path):
    lb.run(JOB.but({"penalty.strength": 1e-2, "problem.seed": 1}), store=tmp_path)
    result = lb.sweep(lb.Sweep(JOB, AXES, name="shared"), store=tmp_path)
    assert (result.computed, result.found) == (5, 1)


def test_the_frame_has_a_row_per_cell(tmp_path):
    axes = {"problem.sparsity": [2, 30], **AXES}
    result = lb.sweep(lb.Sweep(JOB, axes, name="frame"), store=tmp_path)
    frame = result.frame()
    assert list(frame.columns[:3]) == ["sparsity", "strength", "seed"]
    assert frame["outcome"].tolist() == ["finished"] * 6 + ["impossible"] * 6
    for (_, row), name in zip(frame.iterrows(), result.runs, strict=False):
        run = result.runs[name]
        assert row["id"] in result.ids
        assert row["end"] == 3000
        assert row["final_test_error"] == run.final["test_error"]
        for t, milestone in (("t1", run.milestones.memorised), ("t2", run.milestones.generalised)):
            if milestone.censored:
                assert np.isnan(row[t])
                assert (row[f"{t}_low"], row[f"{t}_high"]) == (3000, np.inf)
            else:
                assert (row[t], row[f"{t}_low"], row[f"{t}_high"]) == (milestone.when, *milestone.first.bracket)
    assert frame["t2"].notna().any()
    assert (frame["t2_high"] == np.inf).any()


def test_the_dataset_has_the_axes_as_dimensions(tmp_path):
    pytest.importorskip("xarray")
    result = lb.sweep(lb.Sweep(JOB.but({"stop_at": "memorised"}), AXES, name="data"), store=tmp_path)
    data = result.dataset(["test_error", "l1_norm"], points=50)
    assert dict(data.sizes) == {"strength": 2, "seed": 3, "step": 50}
    run = result.runs["strength=0.001, seed=2"]
    at = data.sel(strength=1e-3, seed=2)
    assert float(at["end"]) == run.outcome.step
    curve = at["l1_norm"]
    there = data["step"].values <= run.outcome.step * (1 + 1e-12)
    assert there.any()
    assert np.isnan(curve.values[~there]).all()
    for step, value in zip(data["step"].values[there], curve.values[there], strict=True):
        assert value == pytest.approx(run.at("l1_norm", step=step), rel=1e-12)


def test_without_xarray_a_dataset_says_what_to_install(tmp_path, monkeypatch):
    result = lb.sweep(lb.Sweep(JOB.but({"steps": 5}), {"problem.seed": [1]}, name="one"), store=tmp_path)
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(InputError, match=r"a dataset needs xarray: install it with pip install 'latebloom\[query\]'"):
        result.dataset()


def test_a_picture_shows_every_run_that_is_there(tmp_path):
    from latebloom.sweeps.picture import scatter

    frame = lb.sweep(lb.Sweep(JOB, AXES, name="picture"), store=tmp_path).frame()
    (panel,) = scatter(frame, "t2", "0.1*strength", "strength").panels
    filled = sum(len(trace.x) for trace in panel.traces if not trace.hollow)
    hollow = sum(len(trace.x) for trace in panel.traces if trace.hollow)
    assert (filled, hollow) == (int(frame["t2"].notna().sum()), int(frame["t2"].isna().sum()))
    with pytest.raises(InputError, match=r"unknown column 't3': did you mean"):
        scatter(frame, "t3", "strength", None)


def test_a_run_that_diverges_is_a_result_and_one_that_raises_stops_nobody(tmp_path, monkeypatch):
    sweep = lb.Sweep(JOB, {"method.learning_rate": [0.1, 100.0], "problem.seed": [0, 1]}, name="ends")
    real = shards.run_stored

    def fails_for_one(jobs, *rest, **named):
        if any(job.problem.seed == 1 and job.method.learning_rate == 0.1 for job in jobs):
            raise RuntimeError("the device is gone\nand more")
        return real(jobs, *rest, **named)

    monkeypatch.setattr(shards, "run_stored", fails_for_one)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatebloomWarning)
        result = lb.sweep(sweep, store=tmp_path)
    assert result.failed == {1: "RuntimeError: the device is gone"}
    outcomes = result.frame()["outcome"].tolist()
    assert outcomes[:2] == ["finished", "failed"]
    assert set(outcomes[2:]) <= {Ending.DIVERGED.value, Ending.NOT_FINITE.value}
    assert stored_sweep("ends", lb.Store(tmp_path)).failed == result.failed
    monkeypatch.setattr(shards, "run_stored", real)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatebloomWarning)
        assert not lb.sweep(sweep, store=tmp_path).failed


def test_a_shard_reads_its_document_and_is_idempotent(tmp_path):
    sweep = lb.Sweep(JOB, AXES, name="shard")
    document = json.loads(json.dumps(sweep.document))
    shard = Shard(3, document, (1, 4), str(tmp_path))
    done = run_shard(shard)
    assert (done.number, done.computed, done.failed, done.interrupted) == (3, 2, {}, False)
    assert done.ids == (sweep.cell(1).key, sweep.cell(4).key)
    again = run_shard(shard)
    assert (again.ids, again.computed) == (done.ids, 0)


def test_a_sweep_of_functions_of_this_process_runs_here(tmp_path):
    import jax.numpy as jnp

    mine = lb.problems.LeastSquares(lambda w: jnp.array([w.sum() - 2.0]), jnp.array([-1.0, 1.0]), name="mine")
    sweep = lb.Sweep(
        lb.TrainJob(mine, lb.GradientDescent(0.1), steps=5), {"method.learning_rate": [0.1, 0.2]}, name="f"
    )
    assert lb.sweep(sweep, store=tmp_path).computed == 2
    assert lb.Store(tmp_path).sweep("f")["sweep"] is None


def test_fresh_runs_replace_what_is_there(tmp_path):
    sweep = lb.Sweep(JOB.but({"steps": 10}), AXES, name="fresh")
    first = lb.sweep(sweep, store=tmp_path)
    stamps = {key: (tmp_path / "runs" / key / "summary.json").stat().st_mtime_ns for key in first.ids}
    again = lb.sweep(sweep, store=tmp_path, fresh=True)
    assert again.computed == 6
    assert all((tmp_path / "runs" / key / "summary.json").stat().st_mtime_ns > stamps[key] for key in again.ids)


def test_shards_are_of_one_program_and_about_equal(tmp_path):
    axes = {"problem.measurements": [10, 12], "penalty.strength": {"from": 1e-5, "to": 1e-3, "count": 40}}
    sweep = lb.Sweep(JOB, axes, name="cut", formulas={"steps": "1 / strength"})
    seen = survey(sweep)
    assert sorted(len(cells) for cells in seen.groups.values()) == [40, 40]
    costs = plan.Costs(seen, dict.fromkeys(seen.groups, 1e-2))
    cut = costs.cut(range(80), workers=4, threads=1)
    assert sorted(number for cells in cut for number in cells) == list(range(80))
    assert len(cut) >= 4
    for cells in cut:
        assert len({number // 40 for number in cells}) == 1
    for group in seen.groups.values():
        sizes = [len(cells) for cells in cut if cells[0] in group]
        assert len(set(sizes[:-1])) <= 1  # one program serves all
        assert sum(sizes) == 40
    quick = plan.Costs(seen, dict.fromkeys(seen.groups, 1e-9))
    assert len(quick.cut(range(80), workers=4, threads=1)) >= 4  # never fewer than workers
    assert len(quick.cut(range(80), workers=1, threads=2)) == 2


def test_a_trial_says_about_how_long_a_run_takes():
    job = JOB.but({"steps": 20_000})
    lb.run(job)
    assert 0 < plan.trial(job) < 60
    assert plan.trial(job.but({"method.learning_rate": 0.1, "steps": 200_000_000})) > plan.trial(job)


def test_two_processes_at_once_compute_every_run_once(small, tmp_path):
    processes = [started(small, tmp_path / "both") for _ in range(2)]
    documents = [json.loads(process.communicate()[0]) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert documents[0]["runs"] == documents[1]["runs"]
    assert len(documents[0]["runs"]) == 18
    # Each process tells what its scheduler has made: together they made each once.
    made = [set(one["made"]) for one in documents]
    assert made[0] | made[1] == {run["id"] for run in documents[0]["runs"]}
    assert not made[0] & made[1]


MAKER = """
import json, sys, latebloom as lb
from latebloom.engine.keeping import Keeper
made, finished = [], Keeper.finished
def told(self, number, run):
    made.append(self.jobs[number].key)
    return finished(self, number, run)
Keeper.finished = told
result = lb.sweep(sys.argv[1], store=sys.argv[2])
rows = result.frame()[["id", "outcome"]].to_dict("records")
print(json.dumps({"runs": rows, "made": made, "interrupted": result.interrupted}))
"""


def started(file: Path, store: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", MAKER, str(file), str(store)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def under_way(process: subprocess.Popen[str], store: Path) -> subprocess.Popen[str]:
    """The process, as soon as it has claimed runs."""
    while process.poll() is None and not any((store / "claims").glob("[0-9a-f]*")):
        time.sleep(0.01)
    return process


def test_what_another_process_claimed_is_waited_for_and_taken_when_it_dies(small, tmp_path):
    """A claim of a living process holds a sweep up to the end, and no longer than that process lives."""
    store = tmp_path / "s"
    key = lb.Sweep.from_file(small).cell(5).key
    holder = subprocess.Popen(
        [sys.executable, "-c", "import sys, time; from latebloom.store import Store\n"
         "with Store(sys.argv[1]).claims() as c: print(c.take(sys.argv[2]), flush=True); time.sleep(600)",
         str(store), key], stdout=subprocess.PIPE, text=True)  # fmt: skip
    with holder:
        assert holder.stdout.readline() == "True\n"
        process = started(small, store)
        while len(list((store / "runs").glob("*"))) < 17:
            assert process.poll() is None
            time.sleep(0.05)
        told = status_of(stored_sweep("small", lb.Store(store)))
        assert (told.done, told.running, told.left) == (17, 1, 0)
        time.sleep(0.5)
        assert process.poll() is None  # it waits
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        document = json.loads(process.communicate()[0])
    assert len(document["made"]) == 18
    assert key in document["made"]


def test_a_killed_sweep_goes_on_to_the_same_bits(small, tmp_path):
    killed = under_way(started(small, tmp_path / "killed"), tmp_path / "killed")
    time.sleep(0.2)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    result = lb.sweep(small, store=tmp_path / "killed", progress=False)
    assert None not in result.ids
    lb.sweep(small, store=tmp_path / "alone", progress=False)
    assert killed_sweep.compare(small, tmp_path / "alone", tmp_path / "killed") == []
    folder = tmp_path / "killed"
    assert list((folder / "live").iterdir()) == list((folder / "claims").iterdir()) == []


def test_ctrl_c_keeps_what_was_done_and_says_how_to_go_on(small, tmp_path):
    process = under_way(started(small, tmp_path / "s"), tmp_path / "s")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    document = json.loads(out)
    if document["interrupted"]:  # else it was quicker
        assert "runs in the store" in err
        assert "the same call goes on from there" in err
    assert list((tmp_path / "s" / "claims").iterdir()) == []
    assert None not in lb.sweep(small, store=tmp_path / "s", progress=False).ids


def test_a_flag_that_is_set_between_shards_ends_the_sweep(tmp_path):
    """Ctrl-C while nothing is under way: the shards that are left are not begun."""

    class Stopped(Here):
        def run(self, work, shards, done, cancel):
            super().run(work, shards[:1], done, cancel)
            cancel.set()

    axes = {"problem.measurements": [10, 11, 12]}  # a program each, and so a shard
    result = lb.sweep(lb.Sweep(JOB, axes, name="flag"), store=tmp_path, place=Stopped(1))
    assert result.interrupted
    assert sum(key is not None for key in result.ids) == 1
    assert "interrupted with 1 of 3 runs in the store, 2 left" in result.interruption
    assert lb.sweep(lb.Sweep(JOB, axes, name="flag"), store=tmp_path).computed == 2


def test_a_full_disk_is_one_line_and_damages_nothing(tmp_path, monkeypatch):
    sweep = lb.Sweep(JOB.but({"steps": 100}), AXES, name="full")

    def is_full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(group_module, "sync_files", is_full)
        text = r"^cannot write to the store at \S+ \(No space left on device\): choose another with --store DIR$"
        with pytest.raises(StoreError, match=text):
            lb.sweep(sweep, store=tmp_path)
    assert lb.Store(tmp_path).examine().bad == []
    assert None not in lb.sweep(sweep, store=tmp_path).ids


def test_a_store_that_cannot_be_written_is_one_line_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"^cannot write to the store at \S+ \(Not a directory\): choose another"):
        lb.sweep(lb.Sweep(JOB, AXES, name="none"), store=tmp_path / "file" / "store")
    with pytest.raises(InputError, match=r"store=None: a sweep keeps its runs; give a folder, or leave it out"):
        lb.sweep(lb.Sweep(JOB, AXES, name="none"), store=None)


def test_a_damaged_run_is_computed_again_and_one_of_a_newer_version_is_left_alone(tmp_path):
    sweep = lb.Sweep(JOB.but({"steps": 100}), AXES, name="found")
    first = lb.sweep(sweep, store=tmp_path)
    (tmp_path / "runs" / first.ids[0] / "records.parquet").write_bytes(b"nothing")
    with pytest.warns(LatebloomWarning, match=r"is damaged .*: moved to .*; it counts as not there"):
        again = lb.sweep(sweep, store=tmp_path)
    assert (again.computed, again.ids) == (1, first.ids)
    newer = tmp_path / "runs" / first.ids[1]
    (newer / "checksums.json").unlink()
    summary = json.loads((newer / "summary.json").read_text())
    summary["outcome"]["ending"] = "of another age"
    (newer / "summary.json").write_text(json.dumps(summary))
    seal(newer)
    before = (newer / "summary.json").read_bytes()
    result = lb.sweep(sweep, store=tmp_path)
    assert list(result.failed) == [1]
    assert "was made by a newer version of latebloom" in result.failed[1]
    assert (newer / "summary.json").read_bytes() == before
    assert result.frame()["outcome"].tolist() == ["finished", "failed", *["finished"] * 4]


def test_a_stored_sweep_is_known_by_its_name(tmp_path):
    result = lb.sweep(lb.Sweep(JOB, AXES, name="known"), store=tmp_path)
    store = lb.Store(tmp_path)
    assert store.sweeps() == ["known"]
    again = stored_sweep("known", store)
    assert again.frame().equals(result.frame())
    store.delete(result.ids[2])
    told = status_of(stored_sweep("known", store))
    assert (told.cells, told.done, told.left) == (6, 5, 1)
    assert str(told) == "6 cells: 5 done, 1 to be computed"
    with pytest.raises(InputError, match=r"unknown sweep in .* 'knwon': did you mean 'known'"):
        store.sweep("knwon")
    (tmp_path / "sweeps" / "known.json").write_text("{")
    with pytest.raises(StoreError, match=r"cannot read .*known.json .*: start the sweep again, which writes it"):
        store.sweep("known")
