"""Panels that many figures share: traces of a run on an axis, theory dashed over measurement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.figures.look import GREY, NORM, TEST, THEORY, TRAIN, shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from latebloom.engine.run import Run
    from latebloom.flows import SlowPath

STEP_LABEL = "step $t$"


def log_steps(axis: Axes, label: str = STEP_LABEL) -> None:
    """A logarithmic step axis from step 1 on."""
    axis.set_xscale("log")
    axis.set_xlabel(label)
    axis.set_xlim(left=1)


def shown_clock(run: Run) -> str:
    """The column that the horizontal axis shows: the run's own clock, or the logarithm of the time if it has one."""
    return "log_time" if "log_time" in run.columns else run.clock


def log_clock(axis: Axes, run: Run) -> None:
    """A logarithmic axis of the run's own clock: steps from 1 on, or the times that were recorded.

    Of a logarithm of time it shows what is above one: a double logarithm.
    """
    if len(run[run.clock]) > 1:
        log_steps(axis, r"$\log t$" if shown_clock(run) == "log_time" else STEP_LABEL)
    if run.clock != "step":
        axis.set_xlabel("time $t$" if run.clock == "time" else r"slow time $s = \lambda t$")
        if len(run[run.clock]) > 1:
            axis.set_xlim(left=float(run[run.clock][1]))


def errors(
    axis: Axes,
    run: Run,
    *,
    log: bool = True,
    legend: bool = True,
    test: str = "recovery error",
    label: str = "relative error",
) -> None:
    """Train and test error against the step, with t1 and t2 and the thresholds that define them marked."""
    axis.plot(run[shown_clock(run)], run["train_error"], color=TRAIN, label="train error")
    axis.plot(run[shown_clock(run)], run["test_error"], color=TEST, label=test)
    for milestone, colour in ((run.milestones.memorised, TRAIN), (run.milestones.generalised, TEST)):
        if log and milestone is not None:
            axis.axhline(milestone.threshold, color=colour, linewidth=0.6, linestyle=":", alpha=0.6)
    if log:
        axis.set_yscale("log")
    log_clock(axis, run)
    axis.set_ylabel(label)
    mark_milestones(axis, run)
    if legend:
        axis.legend(loc="best")


def mark_milestones(axis: Axes, run: Run, *, names: bool = True) -> None:
    """Thin vertical lines at the memorised and generalised steps."""
    marks = ((run.milestones.memorised, "$t_1$", TRAIN), (run.milestones.generalised, "$t_2$", TEST))
    for milestone, name, colour in marks:
        when = None if milestone is None else milestone.when if milestone.log_time is None else milestone.log_time
        if not when or when < 0:  # none, or before the first step, which a log axis does not show
            continue
        axis.axvline(when, color=colour, linewidth=0.8, alpha=0.5)
        if names:
            place = axis.get_xaxis_transform()
            axis.text(when, 1.0, name, transform=place, ha="center", va="bottom", color=colour, fontsize=7)


def mark_predictions(axis: Axes, predictions: Mapping[str, float]) -> None:
    """Where theory says it happens: dashed vertical lines, named in the legend; what never happens has none."""
    for (name, step), style in zip(predictions.items(), ("--", "-.", ":"), strict=False):
        if np.isfinite(step):
            axis.axvline(step, color=THEORY, linestyle=style, linewidth=0.9, label=name)


def withheld(axis: Axes, runs: Iterable[Run]) -> bool:
    """Whether some run's gradient is not sound, so that theory is not drawn; then the panel says why."""
    sentence = next(filter(None, (run.unsound for run in runs)), None)
    if sentence is not None:
        axis.text(0.02, 0.02, sentence, transform=axis.transAxes, fontsize=6)
    return sentence is not None


def slow_flow(axis: Axes, path: SlowPath, values: np.ndarray, pace: float, label: str = "slow flow") -> None:
    """A quantity along the slow flow at the steps `s / (αβ)`, `pace` being αβ: dashed, over the measurement."""
    after, limits = path.slow_times > 0, axis.get_ylim()
    axis.plot(path.slow_times[after] / pace, values[after], "--", color=THEORY, linewidth=0.9, label=label)
    axis.set_ylim(limits)  # those of the measurement: the end of an exact path is at rounding
    axis.legend(loc="lower right")


def ratio(axis: Axes, run: Run) -> None:
    """Which force drives: the gradient ratio, with the level 1 dashed."""
    axis.plot(run[shown_clock(run)], run["gradient_ratio"], color=NORM)
    axis.axhline(1.0, color=THEORY, linestyle="--", linewidth=0.9)
    axis.set_yscale("log")
    log_clock(axis, run)
    axis.set_ylabel(r"gradient ratio $|G|\,/\,(\beta|H|)$")
    mark_milestones(axis, run)


def norm(axis: Axes, run: Run, column: str, label: str, limits: Sequence[tuple[float, str]] = ()) -> None:
    """A norm against the step, with where theory says it ends dashed."""
    axis.plot(run[shown_clock(run)], run[column], color=NORM)
    for value, name in limits:
        axis.axhline(value, color=THEORY, linestyle="--", linewidth=0.9, label=name)
    log_clock(axis, run)
    axis.set_ylabel(label)
    mark_milestones(axis, run)
    if limits:
        axis.legend(loc="best")


def components(axis: Axes, run: Run, truth: np.ndarray) -> None:
    """Every component of the vector: the support coloured with its true value dashed, the rest grey."""
    support = np.flatnonzero(truth)
    off = np.flatnonzero(truth == 0)
    axis.plot(run[shown_clock(run)], run["components"][:, off], color=GREY, linewidth=0.4, alpha=0.5)
    for index in support:
        (line,) = axis.plot(run[shown_clock(run)], run["components"][:, index], linewidth=1.1)
        axis.axhline(truth[index], color=line.get_color(), linestyle="--", linewidth=0.7)
    log_clock(axis, run)
    axis.set_ylabel("components $a_i$")
    mark_milestones(axis, run)


def family(axis: Axes, runs: Mapping[str, Run]) -> None:
    """Test errors of several runs, dark to light in their order, with the train errors dotted in the same colour."""
    for (label, run), colour in zip(runs.items(), shades(len(runs)), strict=True):
        axis.plot(run[shown_clock(run)], run["test_error"], color=colour, label=label)
        axis.plot(run[shown_clock(run)], run["train_error"], color=colour, linewidth=0.7, linestyle=":")
    axis.set_yscale("log")
    log_clock(axis, next(iter(runs.values())))
    axis.set_ylabel("relative error")


def family_legend(axis: Axes, **options: Any) -> None:
    """The legend of a `family`, small and out of the curves' way."""
    axis.legend(loc="lower left", fontsize=5, title="recovery (train dotted)", title_fontsize=5, **options)


def against_count(
    axes: Sequence[Axes], counts: Sequence[int], label: str, columns: Sequence[Sequence[float | None]]
) -> None:
    """Final train and test error, t1 and t2 against the number of measurements, a panel each; None is left out."""
    names = (
        "train error at the end",
        "recovery error at the end",
        "memorisation step $t_1$",
        "generalisation step $t_2$",
    )
    markers = "os^DvP*X"
    for axis, name, values in zip(axes, names, columns, strict=True):
        heights = [np.nan if value is None else value for value in values]
        axis.plot(counts, heights, marker=markers[(len(axis.lines)) % len(markers)], label=label)
        axis.set_yscale("log")
        axis.set_xlabel("measurements $N$")
        axis.set_ylabel(name)
