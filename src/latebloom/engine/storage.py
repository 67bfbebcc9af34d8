"""Runs to and from the store: what `latebloom run` and `latebloom reproduce` keep can be loaded in Python."""

from __future__ import annotations

from os import PathLike

from latebloom.engine import run as run_module
from latebloom.engine.run import Run
from latebloom.errors import InputError
from latebloom.store import Store, StoredRun


def save(run: Run, store: Store | str | PathLike[str] | None = None) -> str:
    """Keeps a run in a store or its folder (yours by default) and returns its id."""
    columns, summary, arrays = run.to_stored()
    with _opened(store).begin(run.configuration) as live:
        return live.finish(columns, summary, arrays).id


def load(run: str, store: Store | str | PathLike[str] | None = None) -> Run:
    """The stored run with this id, or with an id that begins so, as it was when it was made."""
    return revive(_opened(store).get(run))


def _opened(store: Store | str | PathLike[str] | None) -> Store:
    return store if isinstance(store, Store) else Store(store)


def revive(stored: StoredRun) -> Run:
    """A stored run as a `Run`."""
    if "outcome" not in stored.summary:
        raise InputError(f"{stored.id} is not a finished run ({stored.state}): see `latebloom runs show {stored.id}`")
    return run_module.from_stored(stored.configuration, stored.columns, stored.summary, stored.arrays)
