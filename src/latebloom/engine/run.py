"""What happened: configuration, records, outcome, milestones, provenance."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.engine import summary as summary_module
from latebloom.engine.milestones import Crossing, Milestone, Milestones, Watch, find, first_crossing, sharpness
from latebloom.engine.outcome import NOT_BEGUN, Outcome
from latebloom.engine.summary import Summary
from latebloom.errors import InputError, check_number, unknown_name

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    from matplotlib.figure import Figure

    from latebloom.store import Store


CLOCKS = ("step", "time", "slow_time", "log_time")
CLOCK_OF = {"train": "step", "flow": "time", "slow_flow": "slow_time"}
BARE = "params"  # the name of parameters that are one array; a path in a tree begins with a bracket or a dot


@dataclass(frozen=True, repr=False, eq=False)
class Run:
    """One simulation: every number in it is evaluated at the recorded step, the last record at `params`.

    `t1` and `t2` are when it memorised and generalised, on the run's own clock. `columns` holds `step`,
    `time = step · learning_rate`, `slow_time = strength · time` (one strength) and a column for every probe; vector
    probes are matrices with a row per record. A flow has `step = time / learning_rate` only if it was told a learning
    rate; a slow flow has `slow_time` only. A method whose time overflows (LogLossDescent) has `log_time`, the natural
    logarithm of its time, instead of `time`.
    """

    configuration: dict[str, Any]
    columns: dict[str, np.ndarray]
    params: Any
    outcome: Outcome
    milestones: Milestones
    provenance: dict[str, Any]

    @property
    def clock(self) -> str:
        """What the run counts: "step" for an iteration, "time" for a flow, "slow_time" for a slow flow."""
        return CLOCK_OF[self.configuration["kind"]]

    @property
    def t1(self) -> float | None:
        """When it memorised, on the run's own clock; None if it did not."""
        return None if self.milestones.memorised is None else self.milestones.memorised.when

    @property
    def t2(self) -> float | None:
        """When it generalised, on the run's own clock; None if it did not, or nothing says so."""
        return None if self.milestones.generalised is None else self.milestones.generalised.when

    def __getitem__(self, column: str) -> np.ndarray:
        if column not in self.columns:
            raise unknown_name("column", column, self.columns)
        return self.columns[column]

    @property
    def final(self) -> dict[str, float]:
        """The last record of every scalar column."""
        return {name: float(values[-1]) for name, values in self.columns.items() if values.ndim == 1}

    def at(
        self,
        column: str,
        *,
        step: float | None = None,
        time: float | None = None,
        slow_time: float | None = None,
        log_time: float | None = None,
    ) -> Any:
        """A column between two records: `run.at("test_error", time=10.0)`; a vector for a vector probe.

        It is linear in the logarithm of the clock named (`step`, `time`, `slow_time`), or in `log_time` itself; before
        the first record after zero and after the last one it is constant.
        """
        clock, moment = self._moment("at", step, time, slow_time, log_time)
        values = self[column][1:]
        if not len(values):
            raise InputError(f"{column} has one record, and nothing to interpolate: look at run.record({clock}=…)")
        times = self[clock][1:] if clock == "log_time" else np.log(self[clock][1:])
        where = moment if clock == "log_time" else np.log(check_number(clock, moment, above=0))
        if values.ndim == 1:
            return float(np.interp(where, times, values))
        return np.array([np.interp(where, times, part) for part in values.T])

    def record(
        self,
        *,
        step: float | None = None,
        time: float | None = None,
        slow_time: float | None = None,
        log_time: float | None = None,
    ) -> dict[str, Any]:
        """The last record at or before a moment: `run.record(step=100)`."""
        clock, moment = self._moment("record", step, time, slow_time, log_time)
        row = int(np.searchsorted(self[clock], moment, side="right")) - 1
        return {name: values[max(row, 0)] for name, values in self.columns.items()}

    def first(self, condition: np.ndarray) -> float | None:
        """The run's clock at the first record at which a condition holds: `run.first(run["gradient_ratio"] < 1)`."""
        hits = np.flatnonzero(condition)
        if not len(hits):
            return None
        return self[self.clock][hits[0]].item()

    def crossing(self, column: str, *, below: float | None = None, above: float | None = None) -> Crossing | None:
        """When a column first was at or below (or above) a level: `run.crossing("test_error", below=0.02)`.

        It is the first such record on the run's clock, and its bracket begins at the record before: where between the
        two it was, records do not say. At the threshold of `t1` or `t2` it is the milestone itself, pinned. None if it
        never was; if it was from the first record on, it is `at_most` that.
        """
        level = above if below is None else below
        if level is None or None not in (below, above):
            raise InputError(f"run.crossing needs one level: write run.crossing({column!r}, below=0.02) or above=…")
        values, level = self[column], check_number("level", level)
        if values.ndim > 1:
            raise InputError(f"{column} has {values.shape[1]} numbers a record: a crossing needs a column of one")
        if above is not None:
            return first_crossing(self[self.clock], values >= level)
        for known in (self.milestones.memorised, self.milestones.generalised):
            if known is not None and (known.column, known.threshold) == (column, level):
                return known.first
        return first_crossing(self[self.clock], values <= level)

    def milestones_at(self, *, memorised: float | None = None, generalised: float | None = None) -> Milestones:
        """The milestones at other thresholds, from the records: `run.milestones_at(generalised=0.02).generalised.when`.

        Those at the run's own thresholds are as they are; the others have the bracket of `run.crossing`.
        """
        asked = {"memorised": memorised, "generalised": generalised}
        found = {name: self._milestone_at(name, level) for name, level in asked.items()}
        sharp = None
        if found["memorised"] is not None and found["generalised"] is not None:
            test = self[found["generalised"].column]
            sharp = sharpness(self[self.clock], test, found["memorised"], found["generalised"])
        return Milestones(found["memorised"], found["generalised"], sharp)

    def _milestone_at(self, name: str, level: float | None) -> Milestone | None:
        known: Milestone | None = getattr(self.milestones, name)
        if level is None or (known is not None and known.threshold == level):
            return known
        if known is None:
            raise InputError(f"this run measures nothing that says when it was {name}: leave {name}={level!r} out")
        return find(Watch(name, known.column, level), self[self.clock], self[known.column], clock=self.clock)

    def _moment(self, who: str, *moments: float | None) -> tuple[str, float]:
        """The one clock that was named, and its value."""
        given = [(clock, moment) for clock, moment in zip(CLOCKS, moments, strict=True) if moment is not None]
        if len(given) != 1:
            clocks = " or ".join(f"{clock}=…" for clock in CLOCKS if clock in self.columns)
            raise InputError(f"run.{who} needs one clock: give {clocks}")
        return given[0]

    def save(self, store: Store | str | PathLike[str] | None = None) -> str:
        """Keeps the run in a store or its folder (yours by default) and returns its id, for `lb.load`."""
        from latebloom.engine.storage import save

        return save(self, store)

    def to_frame(self) -> pd.DataFrame:
        """The records as a pandas table; vector probes become columns `name[i]`."""
        import pandas as pd

        flat: dict[str, np.ndarray] = {}
        for name, values in self.columns.items():
            flat |= {name: values} if values.ndim == 1 else {f"{name}[{i}]": v for i, v in enumerate(values.T)}
        return pd.DataFrame(flat)

    def plot(self) -> Figure:
        """Errors and norm against the step, with the milestones marked."""
        from latebloom.figures import draw, overview

        return draw(overview(self))

    @property
    def unsound(self) -> str | None:
        """Why what theory says of the gradient says nothing of this run, in a sentence; None if it does."""
        from latebloom.engine.diagnosis import unhealthy

        return unhealthy(self)

    def __repr__(self) -> str:
        return f"<Run of {self.configuration['dynamics']['problem']}: {self.outcome}; {self.milestones}>"

    def to_stored(self) -> tuple[dict[str, np.ndarray], dict[str, Any], dict[str, np.ndarray]]:
        """Columns, JSON summary and parameter arrays, as the store keeps them."""
        summary = Summary(self.outcome, self.milestones, self.final, self.provenance)
        return self.columns, summary.to_stored(), params_by_path(self.params)


def params_by_path(params: Any) -> dict[str, np.ndarray]:
    """Parameters by their paths, as the store keeps them."""
    import jax

    leaves = jax.tree_util.tree_leaves_with_path(params)
    return {jax.tree_util.keystr(path) or BARE: np.asarray(leaf) for path, leaf in leaves}


def not_begun(configuration: dict[str, Any]) -> Run:
    """The run of a job whose turn did not come: no records, no milestones."""
    provenance = {"seconds": 0.0, "gradients": 0, "learning_rate": None}
    return Run(configuration, {}, None, NOT_BEGUN, Milestones(None, None, None), provenance)


def from_stored(
    configuration: Mapping[str, Any],
    columns: Mapping[str, np.ndarray],
    summary: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> Run:
    """The run that `to_stored` wrote; parameters come back as an array, a dictionary, or by their path (`[0]`)."""
    told = summary_module.from_stored(summary)
    if configuration["kind"] not in CLOCK_OF:
        raise ValueError(f"no kind of run is called {configuration['kind']!r}")
    return Run(
        configuration=dict(configuration),
        columns=dict(columns),
        params=params_of(arrays),
        outcome=told.outcome,
        milestones=told.milestones,
        provenance=told.provenance,
    )


def params_of(arrays: Mapping[str, np.ndarray]) -> Any:
    """Parameters from their arrays by path."""
    return arrays[BARE] if set(arrays) == {BARE} else _tree(arrays)


def _tree(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The dictionary whose paths, `['deep']['a']`, the names are; as it is if some name is no such path."""
    paths = {name: re.findall(r"\['([^']*)'\]", name) for name in arrays}
    if any("".join(f"['{key}']" for key in keys) != name for name, keys in paths.items()):
        return dict(arrays)
    tree: dict[str, Any] = {}
    for name, (*above, last) in paths.items():
        branch = tree
        for key in above:
            branch = branch.setdefault(key, {})
        branch[last] = arrays[name]
    return tree
