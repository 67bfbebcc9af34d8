"""The store: every run in one folder, which may be copied, shared and deleted like any other."""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from latebloom.errors import InputError, UnknownNameError, unknown_name
from latebloom.store import states
from latebloom.store.atomic import discard, make_folder, size
from latebloom.store.claims import Claims
from latebloom.store.errors import BROKEN, DamagedError, GoneError, NewerError, StoreError, reason, writing
from latebloom.store.examination import Examination, examine
from latebloom.store.export import export_run
from latebloom.store.filter import met
from latebloom.store.formats import read_json, write_json
from latebloom.store.frame import is_one_of, is_run, named
from latebloom.store.group import Draft, publish_all
from latebloom.store.index import Index, list_runs
from latebloom.store.layout import STATES, Layout, Place, checked_path, default_path, folders, is_id, run_key
from latebloom.store.live import LiveRun, recover_run
from latebloom.store.run import StoredRun, open_run, open_unread, open_whole, read_or_set_aside, set_aside, warn
from latebloom.store.table import choose, open_rows

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

T = TypeVar("T")


class Store:
    """Runs in the folder `path`, made at the first write.

    Any number of processes may use it at once: a run appears and disappears by one atomic rename,
    so there is no lock to wait for or to be left behind.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = default_path() if path is None else checked_path(path)
        self._layout = Layout(self.path)

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    def find(self, configuration: Mapping[str, Any]) -> StoredRun | None:
        """The finished run with exactly this configuration, its records read and checked.

        A damaged one is moved aside with a warning, and counts as not there; so does one of a newer version, which
        stays where it is.
        """
        return self.read(configuration, lambda run: run)

    def read(self, configuration: Mapping[str, Any], reader: Callable[[StoredRun], T]) -> T | None:
        """What `reader` makes of the run that `find` finds; what it cannot read is treated as `find` does."""
        folder = self._layout.finished / run_key(configuration)
        if not os.path.lexists(folder):
            return None
        try:
            return read_or_set_aside(self._layout, folder, lambda place: reader(open_whole(place)))
        except NewerError as error:
            warn(f"{error.what}: it is left alone, and counts as not there")
        return None

    def has(self, key: str, reader: Callable[[StoredRun], object] = lambda run: run) -> bool:
        """Whether the finished run with this key is there, every file of it as it was published.

        A damaged one is moved aside with a warning; `NewerError` for one of a newer version.
        """
        folder = self._layout.finished / key
        if not os.path.lexists(folder):
            return False

        def look(place: Path) -> bool:
            reader(open_unread(place))
            return True

        return read_or_set_aside(self._layout, folder, look) is not None

    def finished_ids(self) -> set[str]:
        """The keys of the finished runs, none of them looked at."""
        return {folder.name for folder in folders(self._layout.finished)}

    def begin(self, configuration: Mapping[str, Any]) -> LiveRun:
        """Start to write a run; use it in a `with` block."""
        return LiveRun.create(self._layout, configuration)

    def claims(self) -> Claims:
        """Claims on runs, for processes that share out work; use it in a `with` block."""
        return Claims(self._layout)

    def keep_sweep(self, name: str, document: Mapping[str, Any]) -> None:
        """Write down what a sweep is made of, in the place of one of the same name."""
        with writing(self.path):
            make_folder(self._layout.sweeps)
            write_json(self._layout.sweeps / f"{name}.json", document)

    def sweeps(self) -> list[str]:
        """The names of the sweeps that were written down."""
        return sorted(path.stem for path in self._layout.sweeps.glob("*.json"))

    def sweep(self, name: str) -> dict[str, Any]:
        """What was written down of a sweep."""
        path = self._layout.sweeps / f"{name}.json"
        if not path.is_file():
            raise unknown_name(f"sweep in {self.path}", name, self.sweeps())
        try:
            return read_json(path)
        except (OSError, *BROKEN) as error:
            raise StoreError(f"cannot read {path} ({reason(error)}): start the sweep again, which writes it") from None

    def publish_all(self, drafts: Sequence[Draft]) -> None:
        """Publish runs that are over, made by `group.draft`, with one wait for the disk."""
        publish_all(self._layout, drafts)

    def runs(self) -> list[StoredRun]:
        """Every run, oldest first: finished, partial, live and abandoned."""
        return list_runs(self._layout)

    def read_rows(self, rows: pa.Table, reader: Callable[[StoredRun], T]) -> Iterator[T]:
        """What `reader` makes of the runs of these rows of `table`; one that it cannot read is no more than a line."""
        for run in open_rows(self._layout, rows):
            try:
                yield reader(run)
            except DamagedError as error:
                set_aside(self._layout, run.folder, error)
            except NewerError as error:
                warn(f"{error.what}: left in place, and not listed")
            except GoneError:
                continue

    def frame(self, where: str | None = None, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Every run that can be read as a row of a pandas table, oldest first: parameters, milestones, last values.

        A parameter is a column by its short name (`strength`, `seed`; `method_seed` where another part has one, too),
        t1 and t2 are NaN where they were not reached, and t2 is then between t2_low, the last record, and t2_high, inf.
        `where` is a condition in SQL, `"strength < 1e-4 and t2 is null"`; it needs the extra `query`.
        """
        conditions = [] if where is None else [partial(met, where=where)]
        return named(self.table(is_run, *conditions), columns).to_pandas()

    def frame_of(self, ids: Sequence[str]) -> pd.DataFrame:
        """The same for the runs with these whole ids, as far as they are there."""
        return named(self.table(is_run, partial(is_one_of, ids=ids))).to_pandas()

    def table(self, *questions: Callable[[pa.Table], Any]) -> pa.Table:
        """The rows for which each question, a function of all rows, says true, oldest first; columns by their paths.

        `frame` shows it; tables of derived numbers are in it, too (their kind is "study").
        """
        return choose(self._layout, questions)

    def get(self, id_prefix: str) -> StoredRun:
        """The run whose id is, or alone begins with, `id_prefix`."""
        state, folder = self._place(id_prefix)
        return open_run(folder, state)

    def id_of(self, id_prefix: str) -> str:
        """The whole id of the run, readable or not, whose id is, or alone begins with, `id_prefix`."""
        return self._place(id_prefix)[1].name

    def _place(self, id_prefix: str) -> Place:
        """Where a run is; for a whole id of a published one no other is looked at."""
        for state in ("finished", "partial"):
            if is_id(id_prefix) and os.path.lexists(self._layout.parent(state) / id_prefix):
                return state, self._layout.parent(state) / id_prefix
        return _lookup(id_prefix, self._layout.places())

    def delete(self, id_prefix: str) -> str:
        """Delete one run, damaged or not, and return its id; a live one is refused."""
        return self.delete_all([id_prefix])[0]

    def delete_all(self, id_prefixes: Sequence[str], *, gone_is_fine: bool = False) -> list[str]:
        """Delete runs, damaged or not, and return their ids; if one is live or unknown, none is deleted.

        With `gone_is_fine`, one that another process has deleted meanwhile is left out.
        """
        places = self._layout.places()
        if gone_is_fine:
            there = {folder.name for _, folder in places}
            id_prefixes = [name for name in id_prefixes if name in there]
        exact = {folder.name: (state, folder) for state, folder in places}
        chosen = dict.fromkeys(exact.get(prefix) or _lookup(prefix, places) for prefix in id_prefixes)
        for state, folder in chosen:
            if state == "live":
                raise InputError(f"run {folder.name} is still being written: stop its process first, then delete it")
        with writing(self.path):
            for _, folder in chosen:
                discard(folder)
        return [folder.name for _, folder in chosen]

    def damaged(self) -> list[str]:
        """The names of what was moved aside."""
        return [folder.name for folder in folders(self._layout.damaged)]

    def delete_damaged(self, names: Sequence[str]) -> list[str]:
        """Delete of what was moved aside these, and return their names."""
        chosen = [name for name in self.damaged() if name in names]
        with writing(self.path):
            for name in chosen:
                discard(self._layout.damaged / name)
        return chosen

    def export(self, id_prefix: str, path: str | os.PathLike[str], kind: str | None = None) -> Path:
        """Write one run to a .csv, .parquet or .json file; `kind` is one of these if the name does not say."""
        return export_run(self.get(id_prefix), Path(path).expanduser(), kind)

    def recover(self, id_prefix: str) -> StoredRun:
        """Publish what an abandoned run recorded, as a partial run."""
        return recover_run(self._layout, self.get(id_prefix))

    def attempts(self) -> dict[str, list[Path]]:
        """The folders of interrupted and killed runs, by their key."""
        return states.attempts(self._layout)

    def supersede(self, published: Mapping[str, tuple[str, tuple[Any, Any] | None]]) -> None:
        """Delete the attempts that published runs replace: by key the id of each, and how far it is if not to its end.

        See `states.supersede`.
        """
        with writing(self.path):
            states.supersede(self._layout, published)

    def finished_states(self, lineage: str) -> list[tuple[dict[str, Any], Path]]:
        """What the states of finished runs of this lineage say of themselves: a longer run goes on from one."""
        return states.finished(self._layout, lineage)

    def remember(self, lineage: str, run: str) -> None:
        """Write down that a finished run has a state from which others of its lineage go on."""
        with writing(self.path):
            states.remember(self._layout, lineage, run)

    def index(self) -> Index:
        """The index that makes `runs` quick."""
        return Index(self._layout.index)

    def rebuild_index(self) -> int:
        """Forget the index, scan the folders, and return the number of runs found."""
        self.index().drop()
        with suppress(OSError):
            self._layout.table.unlink(missing_ok=True)
        return len(self.runs())

    def examine(self, reader: Callable[[StoredRun], object] = lambda run: run) -> Examination:
        """Every run looked at, each file against its checksum; changes nothing.

        `reader` says, by raising as `read` has it, whether what is in a run makes sense.
        """
        return examine(self._layout, reader)

    def health(self, reader: Callable[[StoredRun], object] = lambda run: run) -> dict[str, Any]:
        """What a report on this machine says about the store; changes nothing."""
        counts = Counter(state for state, _ in self._layout.places())
        return {
            "path": str(self.path),
            "exists": self.path.is_dir(),
            "writable": self._is_writable(),
            "runs": {state: counts[state] for state in STATES},
            "damaged": len(self.examine(reader).bad),
            "bytes": size(self.path),
            "index": self.index().state(),
        }

    def _is_writable(self) -> bool:
        """Whether the folder, or the nearest one above that exists, lets us write."""
        nearest = next(folder for folder in [self.path, *self.path.parents] if os.path.exists(folder))  # noqa: PTH110
        return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def _lookup(prefix: str, known: Sequence[Place]) -> Place:
    """The one place whose id is `prefix` or begins with it."""
    exact = [place for place in known if place[1].name == prefix]
    matches = exact or [place for place in known if prefix and place[1].name.startswith(prefix)]
    if not matches:
        raise _unknown(prefix, [folder.name for _, folder in known])
    if len(matches) > 1:
        raise _ambiguous(prefix, [folder.name for _, folder in matches])
    return matches[0]


def _unknown(prefix: str, names: Sequence[str]) -> UnknownNameError:
    close = difflib.get_close_matches(prefix, names, n=1, cutoff=0.3)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return UnknownNameError(f"unknown run {prefix!r}: {hint}See all {len(names)} with `latebloom runs list`")


def _ambiguous(prefix: str, names: Sequence[str]) -> InputError:
    shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
    return InputError(f"run id {prefix!r} is ambiguous: {len(names)} runs begin with it; type more of one of {shown}")
