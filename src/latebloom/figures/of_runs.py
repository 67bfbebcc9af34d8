"""Several runs in one figure: their errors on the left, their norms on the right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from latebloom.errors import InputError
from latebloom.figures import panels
from latebloom.figures.traces import Axis, Figure, Panel, Trace

if TYPE_CHECKING:
    from latebloom.engine.run import Run


def comparison(runs: Mapping[str, Run]) -> Figure:
    """Test and train errors, and l2 norms, of runs by name against the clock that they share."""
    clocks = {name: panels.clock_of(run) for name, run in runs.items()}
    if len(set(clocks.values())) > 1:
        told = ", ".join(f"{name} has {clock.replace('_', ' ')}s" for name, clock in clocks.items())
        raise InputError(f"these runs share no clock ({told}): draw runs of one kind together")
    shades = {name: panels.shade_of(place, len(runs)) for place, name in enumerate(runs)}
    norms: list[Trace] = [panels.curve(run, "l2_norm", name, shade=shades[name]) for name, run in runs.items()]
    axis = panels.clock_axis(next(iter(runs.values())))
    errors = panels.family_errors(runs, legend_title="test error")
    return Figure([[errors, Panel(norms, axis, Axis(r"norm $|w|_2$"))]])
