"""What Figures 4, 6, 26 and 29 share: runs over a grid of learning rates α and strengths β."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.catalog.base import Evidence, Measured, Request, at_least, at_most, within
from latebloom.catalog.measures import log_slope
from latebloom.figures import panels
from latebloom.figures.look import THEORY, canvas, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.engine.training import TrainJob
    from latebloom.flows import SlowPath
    from latebloom.theory import Prediction


@dataclass(frozen=True)
class RateGrid:
    """Every pair of a learning rate and a strength, each run for the same slow time αβ·steps.

    `job(seed, α, β, steps)` makes a run; `delay(job, α, β)` is the generalisation time of the figure's caption,
    written as `delay_label` in the figure. `path(problem)` is the slow flow that predicts t2.
    """

    learning_rates: np.ndarray
    strengths: np.ndarray
    slow_time: float
    job: Callable[[int, float, float, int], TrainJob]
    delay: Callable[[Any, float, float], Prediction]
    delay_label: str
    path: Callable[[Any], SlowPath]

    def name_of(self, learning_rate: float, strength: float) -> str:
        return f"α={learning_rate:.3g}, β={strength:.2g}"

    def jobs(self, request: Request) -> dict[str, TrainJob]:
        return {
            self.name_of(a, b): self.job(request.seed, float(a), float(b), int(self.slow_time / (a * b)))
            for a in self.learning_rates
            for b in self.strengths
        }

    def table(self, evidence: Evidence) -> dict[str, np.ndarray]:
        """One row a cell that generalised: learning rate, strength, t2, and the error at the end."""
        rows = [
            (a, b, run.t2, run.final["test_error"])
            for a in self.learning_rates
            for b in self.strengths
            if (run := evidence.runs[self.name_of(a, b)]).t2 is not None
        ]
        columns = np.array(rows, dtype=float).reshape(-1, 4).T
        return dict(zip(("learning_rate", "strength", "t2", "error"), columns, strict=True))

    def slope(self, evidence: Evidence, tolerance: float) -> Measured:
        """The slope of log t2 in log αβ, -1 within the tolerance."""
        table = self.table(evidence)
        if len(table["t2"]) < len(self.strengths):
            return Measured(None, False)
        slope = log_slope(table["learning_rate"] * table["strength"], table["t2"])
        return within(slope, -1 - tolerance, -1 + tolerance)

    def spread(self, evidence: Evidence, most: float) -> Measured:
        """The largest over the smallest αβ·t2."""
        table = self.table(evidence)
        slow = table["learning_rate"] * table["strength"] * table["t2"]
        return at_most(float(slow.max() / slow.min()) if len(slow) else None, most)

    def caption_constant(self, evidence: Evidence) -> Measured:
        """The median of t2 over the caption's time."""
        table = self.table(evidence)
        predicted = [
            self.delay(evidence.jobs[self.name_of(a, b)], a, b).step
            for a, b in zip(table["learning_rate"], table["strength"], strict=True)
        ]
        return within(float(np.median(table["t2"] / predicted)) if predicted else None, 0.9, 1.1)

    def slow_time_at(self, evidence: Evidence) -> float | None:
        """The slow time at which the slow flow falls to the threshold of t2: the constant of the law, predicted."""
        job: Any = next(iter(evidence.jobs.values()))
        return self.path(job.problem).crossing(np.asarray(job.problem.truth), job.generalised_at)

    def predicted(self, evidence: Evidence, tolerance: float) -> Measured:
        """The largest |predicted / measured t2 - 1| over the cells; of cells without t2, whether none was predicted."""
        slow_time, table = self.slow_time_at(evidence), self.table(evidence)
        if not len(table["t2"]):
            return Measured(slow_time, slow_time is None or slow_time > (1 - tolerance) * self.slow_time)
        if slow_time is None:
            return Measured(None, False)
        ratios = slow_time / (table["learning_rate"] * table["strength"] * table["t2"])
        return at_most(float(np.abs(ratios - 1).max()), tolerance)

    def error_exponent(self, evidence: Evidence, axis: str, *, others: str) -> float | None:
        """The exponent of the final error in one of (learning_rate, strength), the other held fixed."""
        table = self.table(evidence)
        slopes = []
        for value in np.unique(table[others]):
            here = table[others] == value
            if here.sum() >= 3:
                slopes.append(log_slope(table[axis][here], table["error"][here]))
        return float(np.median(slopes)) if slopes else None

    def depends_on_strength(self, evidence: Evidence, most: float) -> Measured:
        """The exponents of the final error: next to none in α (at most `most` in size), and more in β."""
        in_rate = self.error_exponent(evidence, "learning_rate", others="strength")
        in_strength = self.error_exponent(evidence, "strength", others="learning_rate")
        if in_rate is None or in_strength is None:
            return Measured(None, False)
        return Measured({"in α": in_rate, "in β": in_strength}, abs(in_rate) <= most and in_strength > abs(in_rate))

    def faster_with_more(self, evidence: Evidence) -> Measured:
        """The share of neighbouring cells in which the larger α (or β) generalises earlier."""
        steps = np.array(
            [[evidence.runs[self.name_of(a, b)].t2 or np.inf for b in self.strengths] for a in self.learning_rates]
        )
        earlier = [steps[1:] < steps[:-1], steps[:, 1:] < steps[:, :-1]]
        return at_least(float(np.mean(np.concatenate([part.ravel() for part in earlier]))), 1.0)

    def plateau(self, evidence: Evidence, least: float) -> Measured:
        """The final error at the largest over that at the smallest strength, at the middle learning rate."""
        rate = self.learning_rates[len(self.learning_rates) // 2]
        ends = [evidence.runs[self.name_of(rate, b)].final["test_error"] for b in self.strengths]
        return at_least(ends[-1] / ends[0], least)

    def all_memorise(self, evidence: Evidence) -> Measured:
        """The share of cells that memorise within 1000 steps."""
        first = [run.t1 for run in evidence.runs.values()]
        return at_least(float(np.mean([step is not None and step < 1000 for step in first])), 1.0)

    def draw_times(self, evidence: Evidence) -> Figure:
        """t2 and the final error against αβ."""
        table = self.table(evidence)
        figure, (left, right) = canvas(1, 2, height=2.5)
        products = table["learning_rate"] * table["strength"]
        for number, (strength, colour) in enumerate(zip(self.strengths, shades(len(self.strengths)), strict=True)):
            here = table["strength"] == strength
            label = rf"$\beta$ = {strength:.1e}"
            # Open rings of growing size: cells of one αβ lie on each other.
            ring = {"markerfacecolor": "none", "markersize": 3 + 1.3 * number}
            left.plot(products[here], table["t2"][here], "o", color=colour, label=label, **ring)
            right.plot(products[here], table["error"][here], "o", color=colour, label=label)
        if len(products):
            line = np.geomspace(products.min(), products.max(), 50)
            slow_time = self.slow_time_at(evidence)
            constant = float(np.exp(np.mean(np.log(products * table["t2"])))) if slow_time is None else slow_time
            name = r"fit $c/(\alpha\beta)$" if slow_time is None else r"slow flow, $s/(\alpha\beta)$"
            left.plot(line, constant / line, "--", color=THEORY, linewidth=0.9, label=name)
            printed = self.delay(next(iter(evidence.jobs.values())), 1.0, 1.0).step
            left.plot(line, printed / line, ":", color=THEORY, label=self.delay_label)
        for axis, label in ((left, "generalisation step $t_2$"), (right, "final recovery error")):
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_xlabel(r"$\alpha\beta$")
            axis.set_ylabel(label)
        left.legend(fontsize=6)
        return figure

    def draw_curves(self, evidence: Evidence, rows: int = 2, columns: int = 3) -> Figure:
        """Errors over time, a panel for every learning rate."""
        figure, axes = canvas(rows, columns, height=1.9)
        for axis, rate in zip(axes, self.learning_rates, strict=False):
            panels.family(axis, {rf"$\beta$ = {b:.1e}": evidence.runs[self.name_of(rate, b)] for b in self.strengths})
            axis.set_title(rf"$\alpha$ = {rate:.3g}")
        spare = axes[len(self.learning_rates) :]
        for axis in spare:
            axis.set_axis_off()
        if spare:
            handles, labels = axes[0].get_legend_handles_labels()
            spare[0].legend(handles, labels, loc="center", title="recovery (train dotted)")
        else:
            panels.family_legend(axes[0])
        return figure
