"""Whatever happens to the files of one run, the commands answer in a line, and the other runs are there."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import latebloom as lb
from latebloom.errors import LatebloomError, LatebloomWarning
from latebloom.store import NewerError
from latebloom.store import checksums as checksums_module

PROBLEM = lb.problems.SparseRecovery(dimension=10, sparsity=1, measurements=5)
JOB = lb.TrainJob(PROBLEM, lb.GradientDescent(0.1), lb.L1(1e-3), steps=30)
OTHER = JOB.but({"steps": 20})
FILES = ("arrays.npz", "records.parquet", "configuration.json", "summary.json", "checksums.json")
DOCUMENTS = FILES[2:]
ONES = {name: JOB.but({"steps": 30 + number}) for number, name in enumerate(FILES)}  # a run for each file to damage
Made = dict[str, lb.Run]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, Made]:
    """A store, and the runs in it, computed once."""
    folder = tmp_path_factory.mktemp("made") / "store"
    jobs = [*ONES.values(), OTHER]
    return folder, {job.key: run for job, run in zip(jobs, lb.run(jobs, store=folder), strict=True)}


@pytest.fixture
def copied(made, tmp_path) -> Path:
    return Path(shutil.copytree(made[0], tmp_path / "copy"))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(place: float) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(place * len(data))] ^= 4
        path.write_bytes(bytes(data))

    damage.__name__ = f"flip at {place}"
    return damage


def become_a_folder(path: Path) -> None:
    path.unlink()
    (path / "inside").mkdir(parents=True)


def link_to_itself(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def link_to_nowhere(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent / "nowhere")


def become_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def say(text: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_text(text)

    damage.__name__ = f"say {text[:12]}"
    return damage


ON_FILES = [cut, empty, flip(0.05), flip(0.5), flip(0.97), Path.unlink, become_a_folder, link_to_itself]
ON_FILES += [link_to_nowhere, become_a_pipe]
SHAPES = [say(text) for text in ("null", "[1, 2]", "7", "NaN", "{}", '{"outcome": 3, "files": 3}', "1" * 5000)]
SHAPES += [say('{"a": ' * depth + "1" + "}" * depth) for depth in (200, 3000)]
SHAPES += [say('{"kind": "train", "outcome": {}, "format": 1e999}')]


def same(run: lb.Run, again: lb.Run) -> bool:
    return (
        all(np.array_equal(values, again[name], equal_nan=True) for name, values in run.columns.items())
        and np.array_equal(run.params, again.params)
        and (run.milestones, run.outcome) == (again.milestones, again.outcome)
    )


def attempt(latebloom, store: Path, damaged: dict[str, str]) -> set[str]:
    """Every command on the store, each with one line at most for a run; which runs were said to be damaged."""
    checked = latebloom("runs", "check", "--store", store, "--json")
    found = {told["id"] for told in checked.json["found"] if told["condition"] == "damaged"}
    assert checked.code == bool(found)
    for key in damaged:
        shown = latebloom("runs", "show", key, "--store", store)
        assert shown.err.count("\n") == (shown.code == 2), shown.err
        if key in found:
            with pytest.raises(LatebloomError, match=f"run {key} is damaged"):
                lb.load(key, store)
    listed = latebloom("runs", "list", "--store", store, "--json")
    keys = {run["id"] for run in listed.json}
    assert listed.code == 0
    assert OTHER.key in keys
    assert listed.err.count("\n") == listed.err.count("is damaged (") == len(ONES) + 1 - len(keys)
    return found


def compute_again(store: Path) -> tuple[Made, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jobs = [*ONES.values(), OTHER]
        runs = lb.run(jobs, store=store)
    return {job.key: run for job, run in zip(jobs, runs, strict=True)}, [str(one.message) for one in caught]


@pytest.mark.skipif(os.name != "posix", reason="links and pipes")
@pytest.mark.parametrize("damage", [*ON_FILES, *SHAPES], ids=lambda damage: damage.__name__)
def test_damage_is_a_line_a_run_and_no_more(made, copied, latebloom, damage):
    """`latebloom` fails on a traceback. What is served in the end is what was computed in the beginning."""
    names = FILES if damage in ON_FILES else DOCUMENTS
    damaged = {ONES[name].key: name for name in names}
    for key, name in damaged.items():
        damage(copied / "runs" / key / name)
    if damage is Path.unlink:  # without checksums it is as a run of before there were any, and nothing is amiss
        del damaged[ONES["checksums.json"].key]
    assert attempt(latebloom, copied, damaged) == set(damaged)
    again, lines = compute_again(copied)
    assert all(same(run, again[key]) for key, run in made[1].items())
    assert all(re.fullmatch(r"run \w+ is damaged \(.+\): moved to .+; it counts as not there", line) for line in lines)
    assert {path.name for path in (copied / "damaged").iterdir()} == {f"{key}-1" for key in damaged}
    assert latebloom("runs", "list", "--store", copied, "--json").err == ""


@pytest.mark.skipif(os.name != "posix", reason="links and pipes")
@pytest.mark.parametrize("damage", [*ON_FILES, *SHAPES], ids=lambda damage: damage.__name__)
def test_damage_to_runs_without_checksums_is_no_more_either(copied, latebloom, damage):
    """Not every flipped bit is noticed there; but nothing stops, and what cannot be read is computed again."""
    names = FILES[:-1] if damage in ON_FILES else DOCUMENTS[:-1]
    for folder in (copied / "runs").iterdir():
        (folder / "checksums.json").unlink()
    damaged = {ONES[name].key: name for name in names}
    for key, name in damaged.items():
        damage(copied / "runs" / key / name)
    found = attempt(latebloom, copied, damaged)
    assert "flip" in damage.__name__ or found == set(damaged)
    again, _ = compute_again(copied)
    assert {run.outcome.step for run in again.values()} == {20, 30, 31, 32, 33, 34}
    assert {path.name for path in (copied / "damaged").iterdir()} == {f"{key}-1" for key in found}


@pytest.mark.skipif(os.name != "posix", reason="links")
@pytest.mark.parametrize("damage", [shutil.rmtree, Path.mkdir, Path.touch, lambda p: p.symlink_to(p), None])
def test_a_run_may_be_no_folder_at_all(made, copied, latebloom, damage):
    folder = copied / "runs" / JOB.key
    shutil.rmtree(folder)
    if damage is None:
        folder.write_text("a note")
    elif damage is not shutil.rmtree:
        damage(folder)
    listed = latebloom("runs", "list", "--store", copied, "--json")
    assert len(listed.json) == len(ONES)
    assert listed.err.count(f"run {JOB.key} is damaged") == (damage is not shutil.rmtree)
    assert same(made[1][JOB.key], lb.run(JOB, store=copied))
    if damage is None:
        assert (copied / "damaged" / f"{JOB.key}-1" / JOB.key).read_text() == "a note"


def test_an_edited_milestone_is_not_served(made, copied):
    path = copied / "runs" / JOB.key / "summary.json"
    path.write_text(path.read_text().replace('"step": 30', '"step": 31'))
    with pytest.warns(
        LatebloomWarning, match=r"summary.json is not what was published: its checksum differs\): moved to"
    ):
        assert same(made[1][JOB.key], lb.run(JOB, store=copied))


def reseal(folder: Path, number: int = 1) -> None:
    """Checksums that fit what is in the folder now, as another version may have written them."""
    before, checksums_module.FORMAT = checksums_module.FORMAT, number
    checksums_module.seal(folder)
    checksums_module.FORMAT = before


def rewrite(path: Path, change: Callable[[dict], None]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_a_field_of_a_newer_version_is_left_out(made, copied, latebloom):
    folder = copied / "runs" / JOB.key

    def add(summary: dict) -> None:
        summary["mood"] = summary["outcome"]["mood"] = summary["milestones"]["memorised"]["mood"] = "good"

    rewrite(folder / "summary.json", add)
    reseal(folder)
    assert same(made[1][JOB.key], lb.run(JOB, store=copied))
    assert latebloom("runs", "check", "--store", copied).code == 0


@pytest.mark.parametrize("number", [1, 2])
def test_a_run_that_only_a_newer_version_can_read_is_left_alone(made, copied, latebloom, number):
    """Another format, or in the same one an outcome that nobody knows here."""
    folder = copied / "runs" / JOB.key
    if number == 1:
        rewrite(folder / "summary.json", lambda summary: summary["outcome"].update(ending="enlightened"))
    reseal(folder, number)
    before = hashlib.sha256((folder / "summary.json").read_bytes()).digest()
    with pytest.raises(NewerError, match=r"was made by a newer version of latebloom \(.+\): it is left alone; upgrade"):
        lb.load(JOB.key, copied)
    listed = latebloom("runs", "list", "--store", copied, "--json")
    assert len(listed.json) == len(ONES)
    assert "was made by a newer version of latebloom" in listed.err
    checked = latebloom("runs", "check", "--store", copied, "--json")
    assert (checked.code, checked.json["counts"]) == (0, {"newer": 1, "sound": len(ONES)})
    with pytest.warns(LatebloomWarning, match="newer version"):
        assert same(made[1][JOB.key], lb.run(JOB, store=copied))
    assert hashlib.sha256((folder / "summary.json").read_bytes()).digest() == before
    assert not (copied / "damaged").exists()
    assert list((copied / "live").iterdir()) == []


def test_what_was_moved_aside_is_told_and_can_be_deleted(copied, latebloom):
    cut(copied / "runs" / JOB.key / "summary.json")
    doctor = latebloom("doctor", "--store", copied, "--json")
    assert (doctor.code, doctor.json["store"]["damaged"], doctor.json["healthy"]) == (1, 1, False)
    assert latebloom("runs", "list", "--store", copied).code == 0
    told = latebloom("runs", "check", "--store", copied)
    assert told.code == 1
    assert f"{JOB.key}-1  set aside: summary.json is not what was published" in told.out
    assert latebloom("runs", "delete", "--damaged", "--store", copied, "--json").json == {"deleted": [f"{JOB.key}-1"]}
    told = latebloom("runs", "check", "--store", copied)
    assert (told.code, told.out) == (0, f"{len(ONES)} runs: {len(ONES)} sound\n")


@pytest.mark.parametrize(
    ("store", "message"),
    [("~nouser", "there is no such user; write the path in full"), ("", "names no folder"), (" ", "names no folder")],
)
def test_a_store_that_cannot_be_is_one_line(latebloom, monkeypatch, store, message):
    answers = [latebloom("runs", "list", "--store", store), latebloom("doctor", "--store", store)]
    if store:
        monkeypatch.setenv("LATEBLOOM_STORE", store)
        answers.append(latebloom("runs", "list"))
    for answer in answers:
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert message in answer.err


def test_a_store_that_is_a_file_is_one_line(latebloom, tmp_path):
    (tmp_path / "file").write_text("")
    answer = latebloom("runs", "list", "--store", tmp_path / "file")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "is not a folder: give a folder" in answer.err
