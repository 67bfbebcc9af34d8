"""A run of which a kill left the records, and perhaps a state, as a `Run`."""

from __future__ import annotations

from typing import Any

import numpy as np

from latebloom.engine import milestones, run
from latebloom.engine.batch import Rows
from latebloom.engine.diagnosis import learning_rate_of
from latebloom.engine.job import AbstractJob
from latebloom.engine.keeping import PARAMS
from latebloom.engine.milestones import Milestones, Watch
from latebloom.engine.outcome import Ending, Outcome
from latebloom.engine.run import CLOCK_OF, Run
from latebloom.engine.shard import clocks_of
from latebloom.errors import InputError, LatebloomError
from latebloom.store import DamagedError, StoredRun, states


def salvaged(stored: StoredRun) -> Run:
    """The run so far: milestones as its records show them, parameters where its state is, if it has one."""
    columns, about, params = _kept(stored)
    clock = CLOCK_OF[stored.configuration["kind"]]
    if not len(columns.get(clock, ())):
        raise InputError(f"{stored.id} has no record yet: run it again, or remove it with `runs delete {stored.id}`")
    last = columns[clock][-1].item()
    at = about.get("at")
    when = f"{clock.replace('_', ' ')} {last:,.10g}"
    where = "" if at in (None, last) else f", with the parameters of {clock.replace('_', ' ')} {at:,.10g}"
    goes_on = "the same call goes on from there" if about else "the same call starts anew"
    clocks, rate = _clocks(stored.configuration, columns)
    return Run(
        configuration=stored.configuration,
        columns=clocks | {name: values for name, values in columns.items() if name not in clocks},
        params=params,
        outcome=Outcome(Ending.INTERRUPTED, last, f"killed, recovered at {when}{where}: {goes_on}"),
        milestones=_milestones(stored.configuration, columns, clock),
        provenance={"seconds": about.get("seconds"), "gradients": about.get("gradients"), "learning_rate": rate},
    )


def _kept(stored: StoredRun) -> tuple[Rows, dict[str, Any], Any]:
    """Columns, what the state says of itself, parameters; the state's own records if there is no stream."""
    try:
        state = states.read_state(stored.folder) if states.has_state(stored.folder) else None
    except DamagedError:
        state = None
    if state is None:
        return dict(stored.columns), {}, None
    named = {name.removeprefix(PARAMS): array for name, array in state.arrays.items() if name.startswith(PARAMS)}
    rows = {name.removeprefix("rows."): array for name, array in state.arrays.items() if name.startswith("rows.")}
    return dict(stored.columns) or rows, state.about, run.params_of(named) if named else None


def _clocks(
    configuration: dict[str, Any], columns: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], float | None]:
    """Every clock of an iteration, whose stream has steps only, and its learning rate; none if it cannot be read."""
    if configuration["kind"] != "train":
        return {}, configuration["records"].get("learning_rate")
    try:
        job: Any = AbstractJob.read(configuration)
    except LatebloomError:  # with functions or arrays of the user's own
        return {}, None
    return clocks_of(columns, job), None if "log_time" in columns else learning_rate_of(job.method)


def _milestones(configuration: dict[str, Any], columns: Rows, clock: str) -> Milestones:
    records = configuration["records"]
    watches = {
        "train_error": Watch("memorised", "train_error", records["memorised_at"]),
        "test_error": Watch("generalised", "test_error", records["generalised_at"]),
    }
    times = columns[clock]
    found = {name: milestones.find(watch, times, columns[name], clock=clock) for name, watch in watches.items()}
    measured = not np.isnan(columns["test_error"]).all()  # without a test there is nothing to generalise to
    sharp = milestones.sharpness(times, columns["test_error"], *found.values()) if measured else None
    return Milestones(found["train_error"], found["test_error"] if measured else None, sharp)
