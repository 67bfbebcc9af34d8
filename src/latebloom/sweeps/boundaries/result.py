"""A boundary: where half of the runs cross, how surely, and which runs say so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from latebloom.engine.grid import short_names
from latebloom.errors import InputError
from latebloom.laws.search import Search
from latebloom.store import Store

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Canvas

    from latebloom.figures import Figure


ENDS = ("crossing", "low", "high")


@dataclass(frozen=True)
class Try:
    """A run that was asked: at which value of the axis, its id, and whether it crossed."""

    at: int
    id: str
    values: Mapping[str, Any]
    crossed: bool
    oracle: bool | None = None


@dataclass(frozen=True, eq=False)
class Found:
    """What was found on one line: at one value of the other axis, if there is one."""

    value: Any
    search: Search
    tries: tuple[Try, ...]
    asked: Search | None = None
    theory: float | None = None

    @property
    def is_there(self) -> bool:
        """Whether the crossing is on the axis, as far as the runs say."""
        return bool(self.tries) and self.search.why not in ("all", "none")

    @property
    def crossing(self) -> float:
        return self.search.middle if self.is_there else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        return self.search.interval if self.is_there else (math.nan, math.nan)

    @property
    def oracle(self) -> tuple[float, float, float] | None:
        """The oracle's crossing with its interval, from its answers to the same cells; None if it is off the axis."""
        if self.asked is None or not self.asked.runs or self.asked.known.inside() < 0.5:
            return None
        return (self.asked.middle, *self.asked.interval)

    def to_json(self) -> dict[str, Any]:
        """Plain values, null where nothing was found."""
        numbers = {"crossing": self.crossing, "low": self.interval[0], "high": self.interval[1]}
        told: dict[str, Any] = {name: None if math.isnan(value) else value for name, value in numbers.items()}
        told |= {"why": self.search.why or "interrupted", "runs": len(self.tries), "grid_runs": self.search.grid_runs}
        told |= {"crossed": sum(one.crossed for one in self.tries)}
        if self.is_there:
            told |= {"rises": self.search.known.rises >= 0.5}
        if self.asked is not None:
            told["oracle"] = None if self.oracle is None else dict(zip(ENDS, self.oracle, strict=True))
            told["oracle_agrees"] = sum(one.oracle == one.crossed for one in self.tries)
        return told | ({} if self.theory is None else {"theory": self.theory})


@dataclass(frozen=True, eq=False)
class Boundary:
    """Where half of the runs cross along an axis, for each value of the other axis if there is one."""

    name: str
    crosses: str
    along: str
    other: str | None
    lines: tuple[Found, ...]
    store: Store = field(repr=False)
    computed: int = 0
    failed: Mapping[str, str] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def line(self) -> Found:
        """The only line; an error where there are several."""
        if len(self.lines) != 1:
            raise InputError(f"there are {len(self.lines)} boundaries, one per {self.other}: see lines, or table()")
        return next(iter(self.lines))

    @property
    def crossing(self) -> float:
        """The value at which half of the runs cross: the median of its posterior; NaN where all do, or none."""
        return self.line.crossing

    @property
    def interval(self) -> tuple[float, float]:
        """The crossing is in here with a probability of 95 %."""
        return self.line.interval

    @property
    def runs(self) -> int:
        """How many runs were asked, computed now or before."""
        return sum(len(line.tries) for line in self.lines)

    @property
    def grid_runs(self) -> int:
        """How many the full grid has, to which the interval is compared."""
        return sum(line.search.grid_runs for line in self.lines)

    @property
    def found(self) -> bool:
        """Whether some line has its crossing on the axis."""
        return any(line.is_there for line in self.lines)

    @property
    def interruption(self) -> str:
        """What Ctrl-C left, in a line."""
        return f"interrupted with {self.runs:,} runs in the store; the same call goes on from there"

    @property
    def sentence(self) -> str:
        """What was found, in a sentence per line."""
        return "\n".join(self._sentence(line) for line in self.lines)

    def _sentence(self, line: Found) -> str:
        name = short_names([self.along])[self.along]
        where = "" if self.other is None else f"{short_names([self.other])[self.other]} = {_word(line.value)}: "
        low, high = (f"{line.search.values[end]:g}" for end in (0, -1))
        count = len(line.tries)
        if line.search.why in ("all", "none"):
            runs = f"{sum(one.crossed for one in line.tries)} of {count} runs with {name} from {low} to {high}"
            return f"{where}{self.crosses} in {runs}: look below {low} or beyond {high}, or ask for something else"
        if not line.tries:
            return f"{where}no run was made"
        side = "from" if line.search.known.rises >= 0.5 else "up to"
        from_, to = (f"{end:.4g}" for end in line.interval)
        told = f"{where}{self.crosses} in half of the runs {side} {name} = {line.crossing:.4g} (95 %: {from_} to {to})"
        cost = f"{told}; {count:,} runs in place of the grid's {line.search.grid_runs:,}"
        after = {"spent": ", all that was allowed", "impossible": ", all that can be", "": ", interrupted"}.get(
            line.search.why, ""
        )
        oracle = "" if line.oracle is None else f"; the oracle's is at {line.oracle[0]:.4g}"
        return cost + after + oracle + ("" if line.theory is None else f"; theory's at {line.theory:.4g}")

    def frame(self) -> pd.DataFrame:
        """A row per run: the values of its axes, whether it crossed, then what it says of itself."""
        import pandas as pd

        stored = self.store.frame_of([one.id for line in self.lines for one in line.tries])
        told = {row["id"]: row for row in stored.to_dict("records")}
        rows = []
        for one in (one for line in self.lines for one in line.tries):
            shown = short_names(list(one.values))
            row = {shown[path]: _plain(value) for path, value in one.values.items()} | {"crossed": one.crossed}
            rows.append(row | ({} if one.oracle is None else {"oracle": one.oracle}) | told.get(one.id, {}))
        return pd.DataFrame(rows)

    def table(self) -> pd.DataFrame:
        """A row per line: the value of the other axis, the crossing and its interval, the runs, and why it ended."""
        import pandas as pd

        rows = []
        for line in self.lines:
            told = line.to_json()
            oracle = told.pop("oracle", None)
            beside = {} if line.asked is None else {"oracle": math.nan if oracle is None else oracle["crossing"]}
            rows.append(({} if self.other is None else {self.other: _plain(line.value)}) | told | beside)
        return pd.DataFrame(rows)

    def figure(self) -> Figure:
        """The boundary as data of a picture."""
        from latebloom.sweeps.boundaries.picture import picture

        return picture(self)

    def plot(self) -> Canvas:
        """The probability along the axis with the runs that were asked; with two axes the phase diagram."""
        from latebloom.figures import draw

        return draw(self.figure())

    def to_json(self) -> dict[str, Any]:
        """Everything in plain values."""
        told = {"name": self.name, "crosses": self.crosses, "along": self.along, "other": self.other}
        lines = [({} if self.other is None else {"value": _plain(line.value)}) | line.to_json() for line in self.lines]
        counts = {"runs": self.runs, "grid_runs": self.grid_runs, "computed": self.computed}
        end = {"failed": dict(self.failed), "interrupted": self.interrupted, "sentence": self.sentence}
        single = {} if self.other is not None else {name: lines[0][name] for name in ENDS}
        ids = [one.id for line in self.lines for one in line.tries]
        return told | single | {"lines": lines} | counts | end | {"ids": ids}

    def __repr__(self) -> str:
        return f"<Boundary {self.name}: {self.sentence}>"


def _plain(value: Any) -> Any:
    return getattr(value, "text", value)


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(_plain(value))
