"""The flow of a diagonal network that classifies, exactly, at the cost of n variables instead of 2d."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from latebloom.core.progress import ProgressBar
from latebloom.core.threads import one_core
from latebloom.engine import milestones, outcome
from latebloom.engine.job import Watched
from latebloom.engine.milestones import Milestones
from latebloom.engine.provenance import provenance
from latebloom.engine.run import Run
from latebloom.errors import CapabilityError, check_count, check_number
from latebloom.flows.dual.form import DualForm
from latebloom.problems import AbstractProblem, DiagonalClassifier
from latebloom.problems.losses import loss_of_margin

ENGINE = 1  # raised when the numbers of an unchanged configuration change
DECADES = 7  # of time that are recorded before the end
TOGETHER = 32  # records whose weights, of d entries each, are in memory at a time

Rows = dict[str, np.ndarray]


@dataclass(frozen=True)
class DualFlowJob(Watched):
    """Everything that decides the numbers of one flow in dual form; `atol` is in units of the outputs at the start."""

    problem: DiagonalClassifier
    weight_decay: float
    until: float
    memorised: float = 1e-3
    generalised: float = 1e-2
    rtol: float = 1e-5
    atol: float = 1e-5
    max_gradients: int = 100_000
    records_per_decade: int = 40

    def __post_init__(self):
        require_diagonal_classifier(self.problem, "dual_flow")
        object.__setattr__(self, "weight_decay", check_number("weight_decay", self.weight_decay, least=0))
        object.__setattr__(self, "until", check_number("until", self.until, above=0, most=1e300))
        for what in ("rtol", "atol"):
            object.__setattr__(self, what, check_number(what, getattr(self, what), above=1e-14, below=1))
        check_count("max_gradients", self.max_gradients)
        check_count("records_per_decade", self.records_per_decade)

    def configuration(self) -> dict[str, Any]:
        """The run's identity, as plain JSON values."""
        return {
            "flow": f"dual-{ENGINE}",
            "problem": self.problem.text,
            "penalty": f"l2[strength={self.weight_decay:g}]",
            "weight_decay": self.weight_decay,
            "until": self.until,
            "tolerances": {"rtol": self.rtol, "atol": self.atol},
            "max_gradients": self.max_gradients,
            "thresholds": {watch.name: watch.threshold for watch in self.watches},
            "records_per_decade": self.records_per_decade,
        }

    def times(self) -> np.ndarray:
        """When records are made: zero, then log-spaced over `DECADES` decades before the end."""
        count = DECADES * self.records_per_decade
        return np.concatenate([[0.0], self.until * np.geomspace(10.0**-DECADES, 1.0, count + 1)])

    @cached_property
    def form(self) -> DualForm:
        return DualForm(self.problem, self.weight_decay)


def dual_flow(
    problem: AbstractProblem, *, weight_decay: float, until: float, progress: bool | None = None, **options: Any
) -> Run:
    """Integrates the gradient flow of a `DiagonalClassifier` with weight decay λ to time `until`, by its `DualForm`.

    The state is n numbers whatever the dimension; SciPy's LSODA steps them. Records have the loss and its logarithm,
    the errors, the network's norm, the normalised margins `min_i y_i f(x_i) / |w|_p` for p = 1 and 2, and of the
    max-margin problem (R1) the `kkt_angle` `1 - cos(θ, -∇F)` and the `slackness` (both zero at a KKT point). The
    column `dual` holds q; `DualForm.weights` gives w. Options are those of `DualFlowJob`. Milestones are bracketed by
    records. Ctrl-C returns the run so far.

    >>> import latebloom as lb
    >>> data = lb.problems.SparseSigns(dimension=200, samples=30, sparsity=1, test_samples=500)
    >>> problem = lb.problems.DiagonalClassifier(data, init_scale=1.0)
    >>> run = lb.dual_flow(problem, weight_decay=0.01, until=1000.0)
    >>> run.outcome.sentence, run.at(5.0)["test_error"] > 0.2, run.final["test_error"]
    ('finished at time 1000', np.True_, 0.0)

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", Section 3.2.3; the
    reduction is ours.
    """
    job = DualFlowJob(require_diagonal_classifier(problem, "dual_flow"), weight_decay, until, **options)
    (run,) = run_dual_flows([job], progress=progress)
    return run


def run_dual_flows(
    jobs: Sequence[DualFlowJob],
    *,
    label: str = "dual flow",
    on_records: Callable[[int, Rows], None] | None = None,
    progress: bool | None = None,
) -> list[Run]:
    """Flows in dual form, one after the other."""
    runs: list[Run] = []
    with ProgressBar(label, len(jobs), enabled=progress) as bar:
        for number, job in enumerate(jobs):
            runs.append(_run(job))
            if on_records is not None:
                on_records(number, runs[-1].columns)
            bar.update(number + 1)
    return runs


@dataclass
class _Path:
    """q at the record times that were reached, and how the integration ended."""

    times: np.ndarray
    duals: np.ndarray
    ending: outcome.Ending
    reached: float
    gradients: int


def _run(job: DualFlowJob) -> Run:
    started = clock.perf_counter()
    # A trial step may overflow: the solver then takes a shorter one.
    with one_core(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        path = _integrate(job)
        columns = measure(job.form, path.times, path.duals)
    memorised, generalised = (milestones.find(w, path.times, columns[w.column], clock="time") for w in job.watches)
    sharp = milestones.sharpness(path.times, columns["test_error"], memorised, generalised)
    measured = job.problem.has_test
    return Run(
        configuration=job.configuration(),
        columns=columns,
        params={"dual": path.duals[-1]},
        outcome=_outcome(job, path),
        milestones=Milestones(memorised, generalised if measured else None, sharp if measured else None),
        provenance=provenance(clock.perf_counter() - started, path.gradients) | {"learning_rate": None},
    )


def _integrate(job: DualFlowJob) -> _Path:
    """LSODA: an Adams method while the flow follows log t, and one of backward differences where decay takes over."""
    from scipy.integrate import LSODA

    wanted, duals = job.times(), [np.zeros(len(job.form.labels))]
    form, ending = job.form, outcome.Ending.FINISHED
    rate = form.first_rate()
    steps: dict[str, Any] = {"first_step": min(wanted[1], 0.01 / rate), "jac": form.jacobian}
    # From a large start tiny q give large outputs: an absolute tolerance in q alone would let them go.
    atol = job.atol / max(1.0, rate * len(form.labels))
    solver = LSODA(form.velocity, 0.0, duals[0], job.until, rtol=job.rtol, atol=atol, **steps)
    try:
        while len(duals) < len(wanted):
            solver.step()
            if solver.status == "failed" or not np.isfinite(solver.y).all():
                ending = outcome.Ending.NOT_FINITE
                break
            path = solver.dense_output()
            duals += [path(time) for time in wanted[len(duals) : np.searchsorted(wanted, solver.t, side="right")]]
            if solver.nfev >= job.max_gradients and len(duals) < len(wanted):
                ending = outcome.Ending.BUDGET
                break
    except KeyboardInterrupt:
        ending = outcome.Ending.INTERRUPTED
    return _Path(wanted[: len(duals)], np.array(duals), ending, float(solver.t), solver.nfev)


def _outcome(job: DualFlowJob, path: _Path) -> outcome.Outcome:
    where = f"time {path.times[-1]:.6g}"
    sentence = {
        outcome.Ending.FINISHED: f"finished at {where}",
        outcome.Ending.NOT_FINITE: f"no finite step from {where} on: use a smaller init_scale or scale the data down",
        outcome.Ending.BUDGET: f"budget of {job.max_gradients:,} gradients spent at {where}: raise max_gradients",
        outcome.Ending.INTERRUPTED: f"interrupted at {where}: what was done is kept",
    }[path.ending]
    return outcome.Outcome(path.ending, float(path.times[-1]), sentence)


def measure(form: DualForm, times: np.ndarray, duals: np.ndarray) -> Rows:
    """Every column of a run; products with X and with the test set are made for many records at a time."""
    parts = [
        _measure(form, times[start : start + TOGETHER], duals[start : start + TOGETHER])
        for start in range(0, len(times), TOGETHER)
    ]
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
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
            "norm": norm,
            "margin_l1": smallest / np.abs(weights).sum(axis=1),
            "margin_l2": smallest / np.linalg.norm(weights, axis=1),
            # θ·∇F = L Σ f_i ∂F/∂f_i, as f is homogeneous of degree L.
            "kkt_angle": 1 + degree * np.sum(slopes * outputs, axis=1) / (norm * steepness),
            "slackness": np.sum(shares * (margins / smallest[:, None] - 1), axis=1),
        }


def require_diagonal_classifier(problem: Any, who: str) -> DiagonalClassifier:
    """The problem, if it is a diagonal network that classifies."""
    if not isinstance(problem, DiagonalClassifier):
        raise CapabilityError(
            f"{who} needs a diagonal network that classifies (DiagonalClassifier); {type(problem).__name__} is none: "
            "use flow"
        )
    return problem
