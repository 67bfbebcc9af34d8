"""Of several processes, each run is one's; what a dead one claimed is free."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from latebloom.store import Store
from latebloom.store import claims as claims_module

KEY = "0123456789abcdef"
HOLDER = """
import sys, time
from latebloom.store import Store
with Store(sys.argv[1]).claims() as claims:
    print(claims.take(sys.argv[2]), flush=True)
    time.sleep(60)
"""


def claimed(store: Store) -> list[str]:
    return sorted(path.name for path in (store.path / "claims").iterdir() if not path.name.startswith("."))


def test_a_claim_is_one_holders_until_it_is_given_up(store: Store) -> None:
    with store.claims() as mine, store.claims() as yours:
        assert mine.take(KEY)
        assert mine.take(KEY)  # it has it
        assert not yours.take(KEY)
        assert yours.living() == {KEY}
        mine.release([KEY])
        assert yours.take(KEY)
        assert not mine.take(KEY)
    assert claimed(store) == []
    assert list((store.path / "claims").iterdir()) == []


def test_the_claim_of_a_killed_process_is_free(store: Store) -> None:
    command = [sys.executable, "-c", HOLDER, str(store.path), KEY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder, store.claims() as claims:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert not claims.take(KEY)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert claims.living() == set()
        assert claims.take(KEY)
        assert claimed(store) == [f"{KEY}.1", f"{KEY}.2"]  # outnumbered, not taken away
        with store.claims() as third:
            assert not third.take(KEY)
    assert claimed(store) == []


def test_another_machine_is_believed_until_it_was_silent_for_minutes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.claims() as claims:
        assert claims.take("f" * 16)  # the folder is there now
        owner = json.loads((store.path / "claims" / f"{'f' * 16}.1").read_text())
        theirs = store.path / "claims" / f"{KEY}.1"
        theirs.write_text(json.dumps(owner | {"host": "elsewhere"}))
        assert not claims.take(KEY)
        long_ago = time.time() - claims_module.SILENCE - 5
        os.utime(theirs, (long_ago, long_ago))
        assert claims.take(KEY)


def test_a_holder_gives_signs_of_life(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims_module, "HEARTBEAT", 0.02)
    with store.claims() as claims:
        assert claims.take(KEY)
        file = store.path / "claims" / f"{KEY}.1"
        os.utime(file, (0, 0))
        for _ in range(500):
            if file.stat().st_mtime > 0:
                break
            time.sleep(0.01)
        assert time.time() - file.stat().st_mtime < 60


def test_without_hard_links_a_claim_is_a_file_of_its_own(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    with store.claims() as mine, store.claims() as yours:
        assert mine.take(KEY)
        assert not yours.take(KEY)
        (store.path / "claims" / f"{KEY}.1").write_text("")  # seen before it is written
        assert not yours.take(KEY)


def _take_all(path: str, start: float, found: multiprocessing.Queue) -> None:
    with Store(path).claims() as claims:
        time.sleep(max(0.0, start - time.time()))
        found.put([key for number in range(200) if claims.take(key := f"{number:016x}")])
        time.sleep(0.5)  # nobody gives up what another may still ask for


def test_of_three_processes_at_once_one_gets_each_claim_of_a_dead_one(store: Store) -> None:
    """All three outnumber the same dead claims at the same time."""
    (store.path / "claims").mkdir(parents=True)
    for number in range(200):
        (store.path / "claims" / f"{number:016x}.1").write_text(
            json.dumps({"host": __import__("socket").gethostname(), "pid": 2**22 + 1, "started": "0"})
        )
    context = multiprocessing.get_context("spawn")
    found = context.Queue()
    start = time.time() + 3.0
    processes = [context.Process(target=_take_all, args=(str(store.path), start, found)) for _ in range(3)]
    for process in processes:
        process.start()
    taken = [found.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert sorted(key for keys in taken for key in keys) == [f"{number:016x}" for number in range(200)]
    assert claimed(store) == []


def test_what_the_dead_left_behind_is_tidied(store: Store, put) -> None:
    run = put(a=1)
    folder = store.path / "claims"
    folder.mkdir()
    dead = json.dumps({"host": __import__("socket").gethostname(), "pid": 2**22 + 1, "started": "0"})
    for name in (f"{run.id}.1", ".owner-1-00", f"{KEY}.1"):
        (folder / name).write_text(dead)
    with store.claims() as claims:
        assert claims.take("f" * 16)
        assert claimed(store) == [f"{KEY}.1", f"{'f' * 16}.1"]  # the run of the first is there


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc/version").exists(), reason="needs a file where a folder is")
def test_a_store_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        Store(tmp_path / "file" / "store").claims() as claims,
        pytest.raises(Exception, match=r"^cannot write to the store at \S+ \(Not a directory\): choose another"),
    ):
        claims.take(KEY)
