"""Compiled programs kept between processes: whole or not there, bounded, and the user's word wins."""

from __future__ import annotations

import os
import subprocess
import sys

import jax
import pytest

from latebloom.core import compile_cache
from latebloom.core.compile_cache import ProgramCache, clear_cache, examine_cache, keep_programs, shrink


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "jaxlib-0-test"
    made.mkdir()
    return made


def test_a_program_is_found_again(folder):
    ProgramCache(folder).put("jit_f-1", b"code")
    assert ProgramCache(folder).get("jit_f-1") == b"code"
    assert ProgramCache(folder).get("jit_f-2") is None


@pytest.mark.parametrize("damage", [b"", b"x", None], ids=["empty", "short", "one byte changed"])
def test_a_damaged_program_is_not_used_and_makes_room(folder, damage):
    cache, path = ProgramCache(folder), folder / "jit_f-1"
    cache.put("jit_f-1", b"code")
    path.write_bytes(path.read_bytes()[:-1] + b"x" if damage is None else damage)
    assert cache.get("jit_f-1") is None
    assert not path.exists()
    cache.put("jit_f-1", b"code")
    assert cache.get("jit_f-1") == b"code"


def test_a_program_under_another_name_is_damaged(folder):
    cache = ProgramCache(folder)
    cache.put("jit_f-1", b"code")
    (folder / "jit_f-1").rename(folder / "jit_f-2")
    assert cache.get("jit_f-2") is None


def test_what_was_used_longest_ago_goes_first(folder):
    cache = ProgramCache(folder)
    for age, key in enumerate("abcd"):
        cache.put(key, bytes(1000))
        os.utime(folder / key, (1e9 - age, 1e9 - age))
    cache.get("d")  # used now
    shrink(folder.parent, 2500)
    assert sorted(path.name for path in folder.iterdir()) == ["a", "d"]
    shrink(folder.parent, 2500)
    assert len(list(folder.iterdir())) == 2


def test_the_first_program_of_a_process_looks_at_the_size(folder):
    for key in "abc":
        ProgramCache(folder, limit=2500).put(key, bytes(1000))
    assert len(list(folder.iterdir())) == 2


def test_a_folder_that_is_gone_disturbs_nobody(folder):
    folder.rmdir()
    cache = ProgramCache(folder)
    cache.put("a", b"code")
    assert cache.get("a") is None


WORKER = """
import random, sys
from pathlib import Path
from latebloom.core.compile_cache import ProgramCache
whole = {f"jit_f-{n}": bytes([n]) * (20_000 + n) for n in range(8)}
draw, folder, found = random.Random(int(sys.argv[2])), Path(sys.argv[1]), 0
cache = ProgramCache(folder, limit=100_000)
for _ in range(150):
    key = draw.choice(list(whole))
    cache._written = 2**24  # look at the size each time
    cache.put(key, whole[key])
    if draw.random() < 0.1:
        (folder / key).write_bytes(b"half")
    key = draw.choice(list(whole))
    program = cache.get(key)
    assert program is None or program == whole[key]
    found += program is not None
print(found)
"""


def test_many_processes_at_once_see_whole_programs_only(folder):
    started = [
        subprocess.Popen([sys.executable, "-c", WORKER, folder, str(seed)], stdout=subprocess.PIPE, text=True)
        for seed in range(4)
    ]
    found = [int(process.communicate()[0]) for process in started]
    assert [process.returncode for process in started] == [0] * 4
    assert min(found) > 0
    assert not [path for path in folder.iterdir() if path.name.startswith(".")], "a draft was left behind"


def test_doctor_counts_and_clears(monkeypatch, folder):
    monkeypatch.setenv("LATEBLOOM_CACHE", str(folder.parent))
    (folder.parent / "mine.txt").write_text("not a program")
    ProgramCache(folder).put("a", bytes(300_000))
    assert examine_cache() | {"limit": ""} == {
        "path": str(folder.parent),
        "programs": 1,
        "megabytes": 0.3,
        "limit": "",
    }
    assert clear_cache() == 1
    assert clear_cache() == 0
    assert (folder.parent / "mine.txt").exists()


@pytest.fixture
def jax_without_cache():
    """JAX as it is in a process that has set nothing."""
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    jax.config.update("jax_compilation_cache_dir", before)


@pytest.mark.usefixtures("jax_without_cache")
def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("LATEBLOOM_CACHE", "off")
    assert keep_programs.__wrapped__() is None
    assert jax.config.jax_compilation_cache_dir is None
    assert examine_cache()["path"] == "switched off by LATEBLOOM_CACHE"
    assert clear_cache() == 0


@pytest.mark.usefixtures("jax_without_cache")
def test_a_setting_of_the_user_wins(monkeypatch, tmp_path):
    monkeypatch.setenv("LATEBLOOM_CACHE", str(tmp_path / "ours"))
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "theirs"))
    assert keep_programs.__wrapped__() is None
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "theirs")
    assert not (tmp_path / "ours").exists()


@pytest.mark.usefixtures("jax_without_cache")
def test_a_folder_that_cannot_be_made_is_done_without(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LATEBLOOM_CACHE", str(tmp_path / "file"))
    assert keep_programs.__wrapped__() is None
    assert jax.config.jax_compilation_cache_dir is None


def test_another_processor_has_another_folder(monkeypatch):
    ours = compile_cache._tag()
    monkeypatch.setattr(compile_cache.platform, "machine", lambda: "another")
    assert compile_cache._tag() != ours


SCRIPT = """
import sys
import jax
counts = {"hits": 0, "misses": 0}
def count(event, **_):
    for kind in counts:
        counts[kind] += event == f"/jax/compilation_cache/cache_{kind}"
jax.monitoring.register_event_listener(count)
import latebloom as lb
import latebloom.catalog, latebloom.flows, latebloom.problems
assert jax.config.jax_compilation_cache_dir is None, "an import has set JAX"
problem = lb.problems.SparseRecovery(dimension=20, measurements=10)
run = lb.train(problem, lb.GradientDescent(0.1), lb.L1(1e-3), steps=50)
print(counts["hits"], counts["misses"], run["train_loss"][-1].hex())
"""


def test_a_second_process_compiles_nothing_and_a_damaged_program_is_compiled_again(tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "JAX_COMPILATION_CACHE_DIR"}
    environment |= {"LATEBLOOM_CACHE": str(tmp_path)}

    def run() -> tuple[int, int, str]:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        hits, misses, loss = done.stdout.split()
        return int(hits), int(misses), loss

    hits, programs, loss = run()
    assert programs > 1  # where it begins, and the steps
    largest = max(tmp_path.glob("jaxlib-*/*"), key=lambda path: path.stat().st_size)
    largest.write_bytes(largest.read_bytes()[:1000])
    assert run() == (hits + programs - 1, 1, loss)  # and nothing on standard error
