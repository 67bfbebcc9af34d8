"""States on the disk: whole or not there, the furthest first, one taker each, and none kept beside what replaced it."""

from __future__ import annotations

import numpy as np
import pytest

from latebloom.errors import LatebloomWarning
from latebloom.store import Store, states

KEY = {"a": 1}


def attempt(store: Store, at: int, size: int = 3) -> str:
    """An abandoned run with a state."""
    with store.begin(KEY) as live:
        live.append({"step": np.arange(size)})
        live.write_state({"at": at, "gradients": at}, {"x": np.arange(size), "y": np.arange(size)})
    return live.id


def test_equal_arrays_are_written_once(store: Store) -> None:
    attempt(store, 1, size=10_000)
    (path,) = store.path.glob("live/*/state.npz")
    assert path.stat().st_size < 1.5 * 10_000 * 8
    state = states.read_state(path.parent)
    assert state.about == {"at": 1, "gradients": 1}
    assert state.arrays["x"].tolist() == state.arrays["y"].tolist() == list(range(10_000))


def test_a_state_alone_is_kept_and_nothing_is_not(store: Store) -> None:
    with store.begin(KEY) as live:
        live.write_state({"at": 0, "gradients": 0}, {})
    with store.begin(KEY):
        pass
    assert [run.id for run in store.runs()] == [live.id]


def test_the_furthest_comes_first_and_a_broken_one_is_set_aside(store: Store) -> None:
    ids = [attempt(store, at) for at in (10, 30, 20)]
    broken = store.path / "live" / ids[1] / "state.npz"
    broken.write_bytes(b"PK")
    ((_, found),) = store.attempts().items()
    with pytest.warns(LatebloomWarning, match=rf"the state of run {ids[1]} cannot be used"):
        assert [folder.name for folder in states.furthest(found)] == [ids[2], ids[0]]
    assert broken.with_name("useless-state.npz").read_bytes() == b"PK"
    assert [folder.name for folder in states.furthest(found)] == [ids[2], ids[0]]  # said once


def test_a_state_has_one_taker(store: Store) -> None:
    first = store.path / "live" / attempt(store, 10)
    with store.begin(KEY) as mine, store.begin(KEY) as theirs:
        assert states.take(first, mine.folder)
        assert not states.take(first, theirs.folder)
    assert states.read_facts(mine.folder)["at"] == 10


def test_what_is_published_replaces_what_is_not_further(store: Store) -> None:
    behind, further = attempt(store, 10), attempt(store, 30)
    with store.begin(KEY) as live:
        partial = live.finish({"step": np.arange(20)}, {"complete": False})
    store.supersede({partial.key: (partial.id, (20, 20))})
    assert {run.id for run in store.runs()} == {further, partial.id}
    assert behind not in {run.id for run in store.runs()}
    store.supersede({partial.key: (partial.key, None)})
    assert store.runs() == []


def test_a_partial_run_without_its_state_is_whole(store: Store) -> None:
    with store.begin(KEY) as live:
        live.write_state({"at": 3, "gradients": 3}, {"x": np.arange(3)})
        partial = live.finish({"step": np.arange(3)}, {"complete": False})
    with store.begin(KEY) as mine:
        assert states.take(partial.folder, mine.folder)
    assert store.get(partial.id).columns["step"].tolist() == [0, 1, 2]
