"""What a sweep gave: its runs in a store, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from latebloom.engine.grid import name_of_cell, short_names
from latebloom.engine.run import Run
from latebloom.engine.storage import load
from latebloom.store import Store
from latebloom.sweeps.axes import values_at
from latebloom.sweeps.dataset import POINTS, dataset_of
from latebloom.sweeps.picture import scatter

if TYPE_CHECKING:
    pass


if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure as MatplotlibFigure


@dataclass(frozen=True, eq=False)
class SweepResult:
    """The runs of a sweep, cell by cell; nothing is read from the store before it is asked for.

    `ids` has None where there is no run: an impossible cell, one that failed, one that is still to be computed.
    """

    name: str
    axes: Mapping[str, Sequence[Any]]
    ids: Sequence[str | None]
    store: Store = field(repr=False)
    impossible: Mapping[int, str] = field(default_factory=dict)
    failed: Mapping[int, str] = field(default_factory=dict)
    wanted: Sequence[str | None] = ()  # the ids of all cells that are possible, there or not
    found: int = 0  # that were in the store already
    interrupted: bool = False

    @property
    def computed(self) -> int:
        """How many cells were computed for this, by this process or by another one at once."""
        return sum(key is not None for key in self.ids) - self.found

    @property
    def interruption(self) -> str:
        """What Ctrl-C left, in a line; empty if it was not heard."""
        if not self.interrupted:
            return ""
        possible, done = len(self.ids) - len(self.impossible), sum(key is not None for key in self.ids)
        text = f"interrupted with {done:,} of {possible:,} runs in the store, {possible - done:,} left"
        return f"{text}; what was begun is kept, and the same call goes on from there"

    def values(self, number: int) -> dict[str, Any]:
        """The values of a cell by the paths of the axes."""
        return values_at(self.axes, number)

    def frame(self) -> pd.DataFrame:
        """A row per cell: its values, then what its run says of itself; nothing of a run that is not there.

        `t1_low` and `t1_high` are the records around t1; where it did not happen by the end, t1 is NaN, low the end and
        high infinite. `outcome` is "impossible" or "failed" where there can be no run, "missing" where there is none
        yet.
        """
        import numpy as np
        import pandas as pd

        told = self.store.frame_of([key for key in self.ids if key is not None])
        rows = told.drop(columns="id").set_index(told["id"]).reindex([str(key) for key in self.ids])
        rows = rows.reset_index(drop=True)
        rows.insert(0, "id", pd.Series(list(self.ids), dtype=object))
        rows["outcome"] = rows["outcome"].astype(object).where(rows["outcome"].notna(), self._absent())
        cells = np.unravel_index(np.arange(len(self)), [len(values) for values in self.axes.values()])
        axes = {
            name: pd.Series(list(self.axes[path])).iloc[places].to_numpy()
            for (path, name), places in zip(self.columns(rows).items(), cells, strict=True)
        }
        return pd.concat([pd.DataFrame(axes), rows.drop(columns=[name for name in axes if name in rows])], axis=1)

    def columns(self, rows: Iterable[str] = ()) -> dict[str, str]:
        """What the axes are called in the frame, by their paths: `seed`, or `method_seed` where others have one."""
        there = set(rows)
        full = {path: path.replace(".", "_") for path in self.axes}
        short = short_names(list(self.axes))
        return {path: full[path] if full[path] in there or "." in short[path] else short[path] for path in self.axes}

    def _absent(self) -> list[str]:
        """Why each cell has no run, if it has none."""
        whys = ((number in self.impossible, number in self.failed) for number in range(len(self)))
        return ["impossible" if never else "failed" if failed else "missing" for never, failed in whys]

    def dataset(self, columns: Sequence[str] | None = None, *, points: int = POINTS) -> xr.Dataset:
        """An xarray dataset, the axes as dimensions: milestones, last values, and curves (`columns`, or all).

        Curves are on a common logarithmic clock of so many points, and NaN beyond the end of their run. It needs the
        extra `query`.
        """
        return dataset_of(self, columns, points)

    def plot(self, column: str = "t2", *, x: str, hue: str | None = None) -> MatplotlibFigure:
        """A column of the frame against a formula in others, `x="learning_rate*strength"`, a series per `hue`.

        A milestone that was not reached is a hollow triangle at the end of its run.
        """
        from latebloom.figures import draw

        return draw(scatter(self.frame(), column, x, hue))

    @property
    def runs(self) -> Mapping[str, Run]:
        """The runs by the names of their cells, each loaded when it is asked for."""
        return _Runs(self)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        there = sum(one is not None for one in self.ids)
        return f"<SweepResult {self.name}: {there:,} of {len(self):,} runs in {self.store.path}>"


class _Runs(Mapping[str, Run]):
    """The runs of a result, loaded one by one."""

    def __init__(self, result: SweepResult):
        self._store = result.store
        self._ids = {name_of_cell(result.values(number)): key for number, key in enumerate(result.ids) if key}

    def __getitem__(self, name: str) -> Run:
        return load(self._ids[name], self._store)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)
