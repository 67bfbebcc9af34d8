"""The figure of any run: errors on the left, norm on the right, and below what was run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from latebloom.figures import panels
from latebloom.figures.traces import Figure, Panel, Rule

if TYPE_CHECKING:
    from latebloom.engine.run import Run


def overview(run: Run) -> Figure:
    """Errors and l2 norm against the run's clock, milestones marked."""
    norm = panels.norm(run, "l2_norm", r"norm $|w|_2$")
    return Figure([[errors(run), norm]], caption=caption(run))


def errors(run: Run) -> Panel:
    """Both errors. Along the slow flow the training error is what its projection leaves: a level, and no data."""
    shown = panels.errors(run, test="test error", label="error")
    if run.configuration["kind"] != "slow_flow":
        return shown
    most = float(run["train_error"].max())
    level = Rule(most, f"train error: at most {most:.0e}, what projection leaves", "train", across="y", width=0.9)
    kept = [trace for trace in shown.traces if getattr(trace, "role", "") != "train"]
    return replace(shown, traces=[*kept, level] if most > 0 else kept)


def caption(run: Run) -> str:
    """Problem, method or solver, penalty and how far, as one would type them."""
    dynamics, kind = run.configuration["dynamics"], run.configuration["kind"].replace("_", " ")
    told = [dynamics.get("problem"), dynamics.get("method"), dynamics.get("penalty")]
    text = " · ".join(part.replace(",", ", ") for part in told if part)
    return f"{kind} of {text} · {run.outcome.sentence}"
