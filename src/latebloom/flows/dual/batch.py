"""The flow of diagonal networks that classify, exactly, at the cost of n variables instead of 2d.

SciPy's LSODA steps the n numbers of a `DualForm`. Records have the loss and its logarithm, the errors, the network's
norm, the normalised margins `min_i y_i f(x_i) / |w|_p` for p = 1 and 2, and of the max-margin problem (R1) the
`kkt_angle` `1 - cos(θ, -∇F)` and the `slackness`, both zero at a KKT point; the column `dual` holds the n numbers.
"""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from latebloom.engine import milestones
from latebloom.engine.batch import AbstractBatch, Emit, Rows
from latebloom.engine.milestones import Milestones
from latebloom.engine.outcome import Ending, Outcome
from latebloom.engine.provenance import provenance
from latebloom.engine.record_times import before_end
from latebloom.engine.run import Run, not_begun
from latebloom.errors import CapabilityError
from latebloom.flows.dual.form import DualForm
from latebloom.penalties import L2
from latebloom.problems import DiagonalClassifier
from latebloom.problems.losses import loss_of_margin

if TYPE_CHECKING:
    from latebloom.flows.gradient.job import FlowJob

ENGINE = 1  # raised when the numbers of an unchanged configuration change
DEFAULTS: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5, "max_gradients": 100_000, "records_per_decade": 40}
DECADES = 7  # of time that are recorded before the end
TOGETHER = 32  # records whose weights, of d entries each, are in memory at a time


def check(job: FlowJob) -> None:
    """Refuses what the dual form cannot do."""
    if not isinstance(job.problem, DiagonalClassifier):
        raise CapabilityError(
            f"solver='dual' needs a diagonal network that classifies (DiagonalClassifier); "
            f"{type(job.problem).__name__} is none: use solver='rkc'"
        )
    if not (job.penalty is None or isinstance(job.penalty, L2)):
        raise CapabilityError(f"solver='dual' needs weight decay or nothing; {job.penalty!r} is none: use solver='rkc'")
    if job.probes or job.learning_rate is not None:
        raise CapabilityError("solver='dual' has columns of its own, no probes and no steps: use solver='rkc'")


def form_of(job: FlowJob) -> DualForm:
    """The dual form of a job's flow."""
    assert isinstance(job.problem, DiagonalClassifier)
    return DualForm(job.problem, 0.0 if job.penalty is None else float(job.penalty.strengths[0]))


class DualBatch(AbstractBatch):
    """Flows in dual form, one after the other: LSODA is for one problem at a time.

    LSODA has no state to save: a flow that is resumed begins anew, which takes seconds.
    """

    call_seconds: ClassVar[float] = 0.2
    structure = "dual flow"

    def __init__(self, jobs: Mapping[int, FlowJob]):
        self.numbers = list(jobs)
        self.waiting = list(jobs.items())[::-1]
        self.jobs = dict(jobs)
        self.total = float(len(jobs))
        self.path: DualPath | None = None
        self.runs: dict[int, Run] = {}

    def compile(self) -> None:
        self._next()

    def _next(self) -> None:
        self.path = DualPath(*self.waiting.pop()) if self.waiting else None

    def advance(self, seconds: float, emit: Emit) -> bool:
        assert self.path is not None
        if self.path.advance(seconds, emit):
            self.runs[self.path.number] = self.path.finish(emit, cancelled=False)
            self._next()
        self.done = len(self.runs) + (0.0 if self.path is None else self.path.share)
        return self.path is None

    def finish(self, emit: Emit, *, cancelled: bool) -> list[Run]:
        if self.path is not None:
            self.runs[self.path.number] = self.path.finish(emit, cancelled=cancelled)
        return [self.runs.get(number) or not_begun(job.configuration()) for number, job in self.jobs.items()]

    def state(self, number: int) -> Any:
        return None

    def resume(self, number: int, state: Any) -> None:
        """It begins anew."""

    def ready(self) -> dict[int, Run]:
        return self.runs


class DualPath:
    """One flow in dual form: LSODA's steps, q at the record times, and the columns measured there."""

    def __init__(self, number: int, job: FlowJob):
        from scipy.integrate import LSODA

        self.number, self.job, self.form = number, job, form_of(job)
        self.times = np.concatenate([[0.0], before_end(job.time, DECADES, job.records_per_decade)])
        self.duals = [np.zeros(len(self.form.labels))]
        self.tables: list[Rows] = []
        self.ending: Ending | None = None
        self.seconds = 0.0
        rate = self.form.first_rate()
        steps: dict[str, Any] = {"first_step": min(self.times[1], 0.01 / rate), "jac": self.form.jacobian}
        # From a large start tiny q give large outputs: an absolute tolerance in q alone would let them go.
        atol = job.atol / max(1.0, rate * len(self.form.labels))
        # An Adams method while the flow follows log t, and one of backward differences where decay takes over.
        self.solver = LSODA(self.form.velocity, 0.0, self.duals[0], job.time, rtol=job.rtol, atol=atol, **steps)

    @property
    def share(self) -> float:
        """How much of the records is made."""
        return len(self.duals) / len(self.times)

    def advance(self, seconds: float, emit: Emit) -> bool:
        """Steps for so many seconds; says whether the flow is over."""
        started = clock.perf_counter()
        # A trial step may overflow: the solver then takes a shorter one.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            while self.ending is None and clock.perf_counter() - started < seconds:
                self._step()
                self._measure(emit, whole=False)
        self.seconds += clock.perf_counter() - started
        return self.ending is not None

    def _step(self) -> None:
        solver, times, duals = self.solver, self.times, self.duals
        solver.step()
        if solver.status == "failed" or not np.isfinite(solver.y).all():
            self.ending = Ending.NOT_FINITE
            return
        path = solver.dense_output()
        duals += [path(time) for time in times[len(duals) : np.searchsorted(times, solver.t, side="right")]]
        if len(duals) == len(times):
            self.ending = Ending.FINISHED
        elif solver.nfev >= self.job.max_gradients:
            self.ending = Ending.BUDGET

    def _measure(self, emit: Emit, *, whole: bool) -> None:
        """Columns of the records made since the last time: blocks of `TOGETHER`, and what is left if `whole`."""
        begin = sum(len(table["time"]) for table in self.tables)
        while begin < len(self.duals) and (whole or len(self.duals) - begin >= TOGETHER):
            block = slice(begin, min(begin + TOGETHER, len(self.duals)))
            self.tables.append(measure(self.form, self.times[block], np.array(self.duals[block])))
            self._stop()
            emit(self.number, self.tables[-1])
            begin = block.stop

    def _stop(self) -> None:
        """Cuts the last table at the record at which what was asked for has happened."""
        watch = next((watch for watch in self.job.watches if watch.name == self.job.stop_at), None)
        hits = [] if watch is None else np.flatnonzero(self.tables[-1][watch.column] <= watch.threshold)
        if len(hits) and self.ending is not Ending.STOPPED:
            end = int(hits[0]) + 1
            kept = sum(len(table["time"]) for table in self.tables[:-1]) + end
            self.tables[-1] = {name: values[:end] for name, values in self.tables[-1].items()}
            del self.duals[kept:]
            self.ending = Ending.STOPPED

    def finish(self, emit: Emit, *, cancelled: bool) -> Run:
        """The run so far; every column is evaluated at the records, the last of which is the end."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self._measure(emit, whole=True)
        job = self.job
        columns = {name: np.concatenate([table[name] for table in self.tables]) for name in self.tables[0]}
        times = columns["time"]
        memorised, generalised = (milestones.find(w, times, columns[w.column], clock="time") for w in job.watches)
        sharp = milestones.sharpness(times, columns["test_error"], memorised, generalised)
        measured = job.problem.has_test
        return Run(
            configuration=job.configuration(),
            columns=columns,
            params=np.concatenate(self.form.layers(columns["dual"][-1:], times[-1:])),
            outcome=self._outcome(float(times[-1]), cancelled=cancelled),
            milestones=Milestones(memorised, generalised if measured else None, sharp if measured else None),
            provenance=provenance(self.seconds, self.solver.nfev) | {"learning_rate": None},
        )

    def _outcome(self, last: float, *, cancelled: bool) -> Outcome:
        where, job = f"time {last:.6g}", self.job
        ending = Ending.INTERRUPTED if cancelled or self.ending is None else self.ending
        late = ending is Ending.FINISHED and job.stop_at is not None
        sentences = {
            Ending.FINISHED: f"finished at {where}",
            Ending.STOPPED: f"stopped at {where}: {job.stop_at}, as asked",
            Ending.NOT_FINITE: f"no finite step from {where} on: use a smaller init_scale or scale the data down",
            Ending.BUDGET: f"budget of {job.max_gradients:,} gradients spent at {where}: raise max_gradients",
            Ending.INTERRUPTED: f"interrupted at {where}: what was done is kept",
        }
        if late:
            return Outcome(Ending.BUDGET, last, f"{where} reached, not {job.stop_at} yet: give more time")
        return Outcome(ending, last, sentences[ending])


def measure(form: DualForm, times: np.ndarray, duals: np.ndarray) -> Rows:
    """Every column at some records; products with X and with the test set are made for all of them together."""
    rows = _measure(form, times, duals)
    return {"time": times, "slow_time": form.weight_decay * times} | rows | {"dual": duals}


def _measure(form: DualForm, times: np.ndarray, duals: np.ndarray) -> Rows:
    from scipy.special import logsumexp

    weights, (u, v) = form.weights(duals, times), form.layers(duals, times)
    outputs, loss, degree = weights @ form.inputs.T, loss_of_margin(form.problem.loss_kind), form.problem.depth
    margins = outputs * form.labels
    slopes = form.slopes(outputs)
    pull = slopes @ form.inputs
    steepness = degree * np.sqrt(np.sum(pull**2 * (u ** (2 * degree - 2) + v ** (2 * degree - 2)), axis=1))
    norm = np.sqrt(np.sum(u**2 + v**2, axis=1))
    smallest, shares = margins.min(axis=1), np.abs(slopes) / np.abs(slopes).sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return {
            "train_loss": np.asarray(loss.value(outputs, form.labels)).mean(axis=1),
            "log_train_loss": logsumexp(loss.log_value(outputs, form.labels), axis=1) - np.log(len(form.labels)),
            "train_error": np.mean(margins <= 0, axis=1),
            "test_error": form.problem.data.test_errors(weights),
            "l2_norm": norm,
            "margin_l1": smallest / np.abs(weights).sum(axis=1),
            "margin_l2": smallest / np.linalg.norm(weights, axis=1),
            # θ·∇F = L Σ f_i ∂F/∂f_i, as f is homogeneous of degree L.
            "kkt_angle": 1 + degree * np.sum(slopes * outputs, axis=1) / (norm * steepness),
            "slackness": np.sum(shares * (margins / smallest[:, None] - 1), axis=1),
        }
