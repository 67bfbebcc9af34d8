"""Panels that many figures share: a run's columns as traces, theory over measurement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.figures.traces import Axis, Line, Note, Panel, Rule, Trace

if TYPE_CHECKING:
    from latebloom.engine.run import Run
    from latebloom.flows import SlowPath

STEPS = Axis("step $t$", "log", low=1)
ZERO = 1e-9  # of the largest: a true singular value below this is none


def clock_of(run: Run) -> str:
    """The column that the horizontal axis shows: the run's own clock, or the logarithm of the time if it has one."""
    return "log_time" if "log_time" in run.columns else run.clock


def clock_axis(run: Run) -> Axis:
    """A logarithmic axis of the run's own clock: steps from 1 on, or the times that were recorded.

    Of a logarithm of time it shows what is above one: a double logarithm.
    """
    many = len(run[run.clock]) > 1
    scale = "log" if many else "linear"
    if run.clock == "step":
        label = r"$\log t$" if clock_of(run) == "log_time" else "step $t$"
        return Axis(label, scale, low=1 if many else None)
    label = "time $t$" if run.clock == "time" else r"slow time $s = \lambda t$"
    return Axis(label, scale, low=float(run[run.clock][1]) if many else None)


def curve(
    run: Run,
    column: str,
    label: str = "",
    role: str = "cycle 0",
    marks: str = "",
    *,
    part: Any = None,
    name: str = "",
    **look: Any,
) -> Line:
    """A column of a run against its clock; `part` are the entries to show of a vector."""
    values = run[column] if part is None else run[column][:, part]
    return Line(
        run[clock_of(run)], values, label, role, marks, name=name or ("" if label else column.replace("_", " ")), **look
    )


def milestones(run: Run, *, scale: float = 1.0) -> list[Rule]:
    """Thin vertical rules at the memorised and the generalised moment, named above the panel.

    `scale` is what the clock of the axis is in units of the run's.
    """
    marks = ((run.milestones.memorised, "$t_1$", "train"), (run.milestones.generalised, "$t_2$", "test"))
    return [
        Rule(scale * when, name, role, measured=True)
        for milestone, name, role in marks
        if (when := _moment(milestone))  # neither none nor at the start, which a log axis does not show
    ]


def _moment(milestone: Any) -> float | None:
    """When, on the clock that the axis shows; None if never, or before it begins."""
    when = None if milestone is None else milestone.when if milestone.log_time is None else milestone.log_time
    return when if when and when > 0 else None


def thresholds(run: Run) -> list[Rule]:
    """The errors at which the milestones are taken."""
    both = ((run.milestones.memorised, "train", "t1"), (run.milestones.generalised, "test", "t2"))
    return [
        Rule(milestone.threshold, "", role, name=f"threshold of {name}", across="y", width=0.6, opacity=0.6)
        for milestone, role, name in both
        if milestone is not None
    ]


def predictions(named: Mapping[str, float], role: str = "theory") -> list[Rule]:
    """Where theory says it happens: vertical rules, named above the panel; what never happens has none."""
    return [Rule(step, name, role) for name, step in named.items() if np.isfinite(step)]


@dataclass(frozen=True)
class SlowFlow:
    """The exact slow flow on the axis of steps: a slow time s is the step `s / pace`, `pace` being αβ."""

    path: SlowPath
    pace: float

    def line(self, values: np.ndarray, label: str = "slow flow") -> Line:
        """A quantity along the flow: dashed, over the measurement, which alone decides what the axes show."""
        after = self.path.slow_times > 0
        return Line(self.path.slow_times[after] / self.pace, values[after], label, "theory", fits=False)


def withheld(runs: Iterable[Run]) -> list[Note]:
    """Why theory is not drawn, where some run's gradient is not sound; nothing where all are."""
    sentence = next(filter(None, (run.unsound for run in runs)), None)
    return [] if sentence is None else [Note(sentence, 0.02, 0.02, panel=True)]


def errors(
    run: Run,
    *more: Trace,
    log: bool = True,
    test: str = "recovery error",
    label: str = "relative error",
    low: float | None = None,
    high: float | None = None,
    **panel: Any,
) -> Panel:
    """Train and test error against the step, with t1 and t2 and the thresholds that define them marked.

    `low` and `high` are the ends of the errors' axis.
    """
    curves = [curve(run, "train_error", "train error", "train"), curve(run, "test_error", test, "test")]
    traces = [*more, *curves, *(thresholds(run) if log else []), *milestones(run)]
    return Panel(traces, clock_axis(run), Axis(label, "log" if log else "linear", low, high), **panel)


def ratio(run: Run, *more: Trace, **panel: Any) -> Panel:
    """Which force drives: the gradient ratio, with the level 1."""
    level = Rule(1.0, "1: the forces are equal", across="y")
    traces = [curve(run, "gradient_ratio", "", "norm"), level, *milestones(run), *more]
    return Panel(traces, clock_axis(run), Axis(r"gradient ratio $|G|\,/\,(\beta|H|)$", "log"), **panel)


def norm(run: Run, column: str, label: str, *more: Trace, log: bool = False, **panel: Any) -> Panel:
    """A norm against the step; `more` is where theory says that it ends."""
    traces, axis = [curve(run, column, "", "norm"), *more, *milestones(run)], Axis(label, "log" if log else "linear")
    return Panel(traces, clock_axis(run), axis, **panel)


def components(run: Run, truth: np.ndarray, **panel: Any) -> Panel:
    """Every component of the vector: the support coloured with its true values as levels, the rest grey."""
    off = np.flatnonzero(truth == 0)
    look: dict[str, Any] = {"width": 0.4, "opacity": 0.5, "part": off, "name": "component off the support"}
    traces: list[Trace] = [curve(run, "components", "off the support", "grey", **look)]
    for place, index in enumerate(np.flatnonzero(truth)):
        named = {"name": f"component {index}", "width": 1.1, "part": index}
        told = ("on the support", "true value") if place == 0 else ("", "")
        traces.append(curve(run, "components", told[0], f"cycle {place}", **named))
        traces.append(Rule(float(truth[index]), told[1], f"cycle {place}", name=f"true component {index}", across="y"))
    return Panel([*traces, *milestones(run)], clock_axis(run), Axis("components $a_i$"), **panel)


def along(run: Run, across: str, up: str, role: str = "norm") -> list[Trace]:
    """A run in the plane of two columns, with the decades of its clock and t1, t2 marked on it.

    A decade is written where it is a twelfth of the path's extent away from the last that was.
    """
    points, clock = np.column_stack([run[across], run[up]]), run[run.clock]
    traces: list[Trace] = [Line(*points.T, role=role, name="path", width=1.0)]
    last, reach = np.full(2, np.inf), np.ptp(points, axis=0).max() or 1.0
    decades = points[np.searchsorted(clock, 10.0 ** np.arange(int(np.floor(np.log10(clock[-1]))) + 1))]
    traces.append(Line(decades[:, 0], decades[:, 1], "decade", role, "points", size=2.2))
    for power, here in enumerate(decades):
        if np.linalg.norm(here - last) > reach / 12:
            traces.append(Note(rf"  $10^{{{power}}}$", *map(float, here), role="grey", align="left"))
            last = here
    for moment, name, colour in ((run.t1, "$t_1$", "train"), (run.t2, "$t_2$", "test")):
        if moment:
            u, v = points[np.searchsorted(clock, moment).clip(max=len(clock) - 1)]
            traces.append(Line(u, v, name, colour, "points", size=4.5, hollow=True, above=2))
    return traces


def shade_of(place: int, count: int) -> float:
    """The shade of one in a family: 0 is dark, 1 light."""
    return place / max(count - 1, 1)


def family(
    runs: Mapping[str, Run], *more: Trace, column: str = "test_error", behind: str = "train_error"
) -> list[Trace]:
    """A column of several runs, dark to light in their order, with another behind it in the same shade, and t2."""
    traces: list[Trace] = [*more]
    for place, (label, run) in enumerate(runs.items()):
        shade = shade_of(place, len(runs))
        traces.append(curve(run, column, label, shade=shade))
        traces.append(curve(run, behind, marks="behind", shade=shade, name=f"{label}, {behind.replace('_', ' ')}"))
        traces += crossing(run, column, label, shade=shade)
    return traces


def crossing(run: Run, column: str, label: str, **look: Any) -> list[Line]:
    """The point at which a column crosses the threshold of t2; nothing if it does not, or if t2 is not told by it."""
    found = run.milestones.generalised
    if found is None or found.column != column or (when := _moment(found)) is None:
        return []
    return [Line(when, found.threshold, name=f"{label}, t2", marks="points", size=3.2, above=1, **look)]


def family_key(labels: Iterable[str], behind: str = "", dots: str = "$t_2$") -> list[Line]:
    """What the shades of a family stand for, where several panels share it: the `key` of a figure.

    `behind` is what the thin curves are, `dots` what the points on the curves are.
    """
    labels = list(labels)
    shades = [Line([], [], label, shade=shade_of(place, len(labels))) for place, label in enumerate(labels)]
    thin = [Line([], [], f"{behind} (thin)", "grey", "behind")] if behind else []
    return [*shades, *thin, *([Line([], [], dots, "grey", "points", size=3.2)] if dots else [])]


def key_of(panel: Panel) -> list[Line]:
    """The named lines of a panel without their points, where other panels share the names: the `key` of a figure."""
    return [replace(trace, x=[], y=[]) for trace in panel.traces if isinstance(trace, Line) and trace.label]


def family_errors(runs: Mapping[str, Run], *more: Trace, low: float | None = None, **panel: Any) -> Panel:
    """Test errors of several runs with their train errors behind; `low` is where their axis begins."""
    look: dict[str, Any] = {"legend": "lower left", "legend_title": "recovery (thin: train, dot: $t_2$)"} | panel
    axis = clock_axis(next(iter(runs.values())))
    return Panel([*family(runs), *more], axis, Axis("relative error", "log", low), **look)


COUNT_LABELS = (
    "train error at the end",
    "recovery error at the end",
    "memorisation step $t_1$",
    "generalisation step $t_2$",
)
SYMBOLS = "os^DvPX*"


EMPTY = (
    "no run has come to its end",
    "no run has come to its end",
    "no run memorised: none has a training error below the threshold of $t_1$",
    "no run generalised: none has a recovery error below the threshold of $t_2$",
)


def against_count(
    counts: Sequence[int], families: Mapping[str, Sequence[Sequence[float | None]]], **panel: Any
) -> list[Panel]:
    """Final train and test error, t1 and t2 against the number of measurements, a panel each; None is left out.

    A family, by its label, has a sequence of values for each of the four panels.
    """
    margin = 0.05 * (max(counts) - min(counts))
    low, high = (min(counts) - margin, max(counts) + margin) if margin else (None, None)  # also where none is shown
    return [
        Panel(
            [
                Line(
                    counts, [np.nan if value is None else value for value in columns[number]], label,
                    f"cycle {place}", "linked", symbol=SYMBOLS[place % len(SYMBOLS)],
                )
                for place, (label, columns) in enumerate(families.items())
            ],
            Axis("measurements $N$", low=low, high=high),
            Axis(name, "log"),
            empty=EMPTY[number],
            **panel,
        )
        for number, name in enumerate(COUNT_LABELS)
    ]  # fmt: skip


def singular_values(
    run: Run,
    truth_values: np.ndarray,
    *more: Trace,
    log: bool = False,
    marked: bool = True,
    label: str = r"singular values $\sigma_i(A)$",
    axis: Axis | None = None,
    **panel: Any,
) -> Panel:
    """Every singular value against the clock: as many as the truth has coloured, theirs as levels, the others grey.

    `truth_values` are the singular values of the truth; zeros among them are ignored. `log` shows how the small ones
    go to zero, and leaves out what is exactly zero.
    """
    truth = np.sort(np.asarray(truth_values, dtype=float))[::-1]
    truth = truth[truth > ZERO * truth[0]]
    rank = len(truth)
    rest = np.arange(rank, run["singular_values"].shape[1])
    look: dict[str, Any] = {"width": 0.6, "opacity": 0.7, "part": rest, "name": "singular value beyond the rank"}
    traces: list[Trace] = [curve(run, "singular_values", "beyond the rank", "grey", **look)]
    for index, value in enumerate(truth):
        named = {"name": f"singular value {index + 1}", "width": 1.1, "part": index}
        told = ("up to the rank", "true value") if index == 0 else ("", "")
        traces.append(curve(run, "singular_values", told[0], f"cycle {index}", **named))
        equal = np.flatnonzero(np.isclose(truth, value))
        turn = (int(index - equal[0]), len(equal)) if len(equal) > 1 else None
        name = f"true singular value {index + 1}"
        traces.append(Rule(float(value), told[1], f"cycle {index}", name=name, across="y", turn=turn))
    marks = milestones(run) if marked else []
    vertical = Axis(label, "log" if log else "linear", low=None if log else 0)
    return Panel([*traces, *marks, *more], axis or clock_axis(run), vertical, **panel)


def in_rows(panels: Sequence[Panel], columns: int) -> list[list[Panel | None]]:
    """Panels in reading order, so many per row."""
    filled = [*panels, *[None] * (-len(panels) % columns)]
    return [filled[start : start + columns] for start in range(0, len(filled), columns)]
