"""Gradient flow: the limit of small steps, at a cost that grows with the square root of the stiffness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.arrays import to_jax
from latebloom.core.fields import choice, count, number
from latebloom.core.precision import in_precision, require_double
from latebloom.engine.batch import AbstractBatch, Rows
from latebloom.engine.job import (
    EVENTS,
    AbstractJob,
    a_penalty,
    an_event,
    more_probes,
    preferred,
    read_parts,
    the_problem,
    threshold,
)
from latebloom.engine.outcome import Ending, Outcome
from latebloom.engine.record_times import before_end
from latebloom.engine.storage import run
from latebloom.errors import CapabilityError, says_what_it_takes
from latebloom.flows.dual import batch as dual
from latebloom.flows.gradient.batch import FlowBatch
from latebloom.flows.gradient.chebyshev import RungeKuttaChebyshev, most_stages
from latebloom.flows.gradient.steps import FlowLane
from latebloom.penalties import L2, AbstractPenalty
from latebloom.probes import AbstractProbe, TestError, TrainError
from latebloom.problems import AbstractProblem, DiagonalClassifier

if TYPE_CHECKING:
    from latebloom.engine.run import Run
    from latebloom.engine.storage import Place

ENGINE = 3  # raised when the numbers of an unchanged configuration change
SOLVERS: dict[str, type[diffrax.AbstractSolver]] = {
    "rkc": RungeKuttaChebyshev,
    "heun": diffrax.Heun,
    "bosh3": diffrax.Bosh3,
    "tsit5": diffrax.Tsit5,
    "dopri5": diffrax.Dopri5,
    "dopri8": diffrax.Dopri8,
    "kvaerno3": diffrax.Kvaerno3,
    "kvaerno4": diffrax.Kvaerno4,
    "kvaerno5": diffrax.Kvaerno5,
}
AUTO, DUAL = "auto", "dual"
DEFAULTS: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-7, "max_gradients": 10_000_000, "records_per_decade": 50}
DECADES = 9  # of time that are recorded before the end


def span(note: str) -> Any:
    """The field of a flow that says how far it goes."""
    return number(above=0, most=1e300, note=note)


def tolerance(default: float | None, kind: str) -> Any:
    """The field of a flow that holds a tolerance of a step."""
    return number(default=default, above=1e-14, below=1, note=f"the {kind} tolerance of a step")


@dataclass(frozen=True, eq=False)
class FlowJob(AbstractJob):
    """Everything that decides one flow's numbers; `flow` says what each field is.

    What is left out is resolved when the job is made: `solver` is never "auto" on a job, and no tolerance is None.
    """

    kind: ClassVar[str] = "flow"
    clock: ClassVar[str] = "time"

    problem: AbstractProblem = the_problem()
    penalty: AbstractPenalty | None = a_penalty("what is preferred, smoothly")
    _: KW_ONLY
    time: float = span("how far at most")
    stop_at: str | None = an_event()
    memorised_at: float = threshold("train")
    generalised_at: float = threshold("test")
    probes: Sequence[AbstractProbe] = more_probes()
    solver: str = choice((AUTO, DUAL, *SOLVERS), default=AUTO, note="the integrator")
    rtol: Any = tolerance(None, "relative")
    atol: Any = tolerance(None, "absolute")
    max_gradients: Any = count(default=None, note="the most that may be computed")
    records_per_decade: Any = count(default=None, note="records between a time and ten times as much")
    learning_rate: float | None = number(default=None, above=0, note="that of the iteration whose limit this is")

    @property
    def engine(self) -> int:
        return dual.ENGINE if self.solver == DUAL else ENGINE

    def __post_init__(self):
        self.check_fields()
        if self.solver == AUTO:
            self.set(solver=self._resolved())
        defaults = dual.DEFAULTS if self.solver == DUAL else DEFAULTS
        self.set(**{name: value for name, value in defaults.items() if getattr(self, name) is None})
        if self.penalty is not None and not self.penalty.smooth:
            raise CapabilityError(
                f"a flow needs a smooth penalty; {self.penalty!r} has kinks: use L2, or train with ProximalGradient"
            )
        if self.solver == DUAL:
            dual.check(self)
        elif self.solver != "rkc":
            require_double(self.problem, f"solver={self.solver!r}")

    def _resolved(self) -> str:
        """The quickest solver that gives what is asked for: the dual one has columns of its own and no probes."""
        plain = self.penalty is None or isinstance(self.penalty, L2)
        asked = bool(self.probes) or self.learning_rate is not None
        return DUAL if isinstance(self.problem, DiagonalClassifier) and plain and not asked else "rkc"

    def dynamics(self) -> dict[str, Any]:
        return {
            "problem": self.problem.text,
            "penalty": None if self.penalty is None else self.penalty.text,
            "solver": self.solver,
            "rtol": self.rtol,
            "atol": self.atol,
            "precision": self.precision,
        }

    def records(self) -> dict[str, Any]:
        own = {"probes": []} if self.solver == DUAL else {}  # it has columns of its own
        return super().records() | {"learning_rate": self.learning_rate} | own

    def budget(self) -> dict[str, Any]:
        return {"time": self.time, "max_gradients": self.max_gradients, "stop_at": self.stop_at}

    @classmethod
    def from_parts(cls, dynamics: Mapping[str, Any], records: Mapping[str, Any], budget: Mapping[str, Any]) -> Self:
        how = {name: dynamics[name] for name in ("solver", "rtol", "atol")}
        return cls(**read_parts(dynamics, records), **how, learning_rate=records["learning_rate"], **budget)

    @classmethod
    def batches(cls, jobs: Mapping[int, Any], workers: int) -> list[AbstractBatch]:
        """One a flow; flows in dual form are one batch, because LSODA is for one problem at a time."""
        reduced = {number: job for number, job in jobs.items() if job.solver == DUAL}
        flows: list[AbstractBatch] = [FlowBatch(number, jobs[number]) for number in jobs if number not in reduced]
        return [*flows, dual.DualBatch(reduced)] if reduced else flows

    def lane(self) -> FlowLane:
        """The job as the compiled loop takes it; refuses combinations that cannot work."""
        self.check_parts()
        # Python numbers would be constants of the program: as arrays, another seed or strength compiles nothing.
        return FlowLane(
            problem=in_precision(self.problem, self.precision),
            penalty=in_precision(self.penalty, self.precision),
            probes=jax.tree.map(to_jax, self.all_probes),
            watched=(TrainError(), TestError()),
            thresholds=to_jax(np.array([watch.threshold for watch in self.watches], float)),
            stop_on=to_jax(np.array([watch.name == self.stop_at for watch in self.watches])),
            rtol=jnp.asarray(self.rtol),
            atol=jnp.asarray(self.atol),
            stages=to_jax(np.array(most_stages(self.rtol, float(jnp.finfo(self.precision).eps)), float)),
            solver=self._solver(),
        )

    def _solver(self) -> diffrax.AbstractSolver:
        kind = SOLVERS[self.solver]
        if issubclass(kind, diffrax.AbstractImplicitSolver):
            return kind(root_finder=diffrax.VeryChord(self.rtol, self.atol))  # pyright: ignore[reportCallIssue]
        return kind()

    def times(self) -> np.ndarray:
        """When records are made."""
        return before_end(self.time, DECADES, self.records_per_decade)

    def clocks(self, times: np.ndarray) -> Rows:
        """The clocks beside `time`."""
        clocks = {} if self.learning_rate is None else {"step": times / self.learning_rate}
        if self.penalty is not None and len(self.penalty.strengths) == 1:
            clocks["slow_time"] = times * self.penalty.strengths[0]
        return clocks

    def outcome(self, progress: Any, last: float, *, cancelled: bool) -> Outcome:
        """How a flow that got as far as `last` ended."""
        if bool(progress.broken):
            return broken(f"time {last:.6g}", last)
        return ending(self, "time", last, self.time, progress, cancelled=cancelled)


def broken(where: str, last: float) -> Outcome:
    """There is no finite step any more."""
    return Outcome(Ending.NOT_FINITE, last, f"no finite step from {where} on: look at train_loss, scale the data down")


def ending(job: Any, clock: str, last: float, end: float, progress: Any, *, cancelled: bool) -> Outcome:
    """The outcome of a flow that did not break down."""
    where = f"{clock} {last:.6g}"
    if job.stop_at is not None and bool(progress.below[EVENTS.index(job.stop_at)]):
        return Outcome(Ending.STOPPED, last, f"stopped at {where}: {job.stop_at}, as asked")
    if last >= end and job.stop_at is not None:
        return Outcome(Ending.BUDGET, last, f"{where} reached, not {job.stop_at} yet: give more {clock}")
    if last >= end:
        return Outcome(Ending.FINISHED, last, f"finished at {where}")
    if cancelled:
        return Outcome(Ending.INTERRUPTED, last, f"interrupted at {where}: what was done is kept")
    advice = "raise max_gradients or the tolerances"
    return Outcome(Ending.BUDGET, last, f"budget of {job.max_gradients:,} gradients spent at {where}: {advice}")


@says_what_it_takes
def flow(
    problem: AbstractProblem,
    penalty: AbstractPenalty | None = None,
    *,
    time: float,
    weight_decay: float = 0.0,
    stop_at: str | None = None,
    memorised_at: float = 1e-3,
    generalised_at: float = 1e-3,
    probes: Sequence[AbstractProbe] = (),
    solver: str = AUTO,
    rtol: float | None = None,
    atol: float | None = None,
    max_gradients: int | None = None,
    records_per_decade: int | None = None,
    learning_rate: float | None = None,
    store: Place = None,
    progress: bool | None = None,
) -> Run:
    """Integrates the gradient flow `w' = -∇F(w) - ∇h(w)` to `time` and returns what happened.

    Where `train` makes `time / α` steps of the paper's iteration, the flow is its limit of small learning rates α.

    - `penalty`: a smooth h; `weight_decay=λ` is short for `L2(λ)`.
    - `time`: how far at most. A budget, not an event.
    - `stop_at`: "memorised" or "generalised" ends the flow with the step in which that has happened.
    - `memorised_at`, `generalised_at`: the thresholds on the train and the test error that say so. When they are
      crossed is located on the solver's dense output.
    - `probes`: what is measured beside the loss, both errors, the norms and the penalty.
    - `solver`: "rkc", the stabilised one, or a diffrax solver by name ("tsit5", "kvaerno5", …). "dual" is the exact
      reduction of a `DiagonalClassifier` to a number a point (`flows.DualForm`), in which milestones are bracketed by
      records; "auto" takes it where it applies and nothing is asked for that it has not, and "rkc" elsewhere.
    - `rtol`, `atol`: tolerances of a step; by default 1e-4 and 1e-7 (dual: 1e-5, 1e-5).
    - `max_gradients`: the most that may be computed; by default 1e7 (dual: 1e5).
    - `records_per_decade`: how many records between a time and ten times as much; by default 50 (dual: 40).
    - `learning_rate`: that of the iteration whose limit this is, if there is one: it turns times into steps.
    - `store`: a store, its folder, or True for your own: a run that is there is not made again, one that is made is
      kept, and one that was interrupted or killed goes on where it was.
    - `progress`: a bar on standard error; by default only on a terminal, after two seconds.

    Ctrl-C and SIGTERM return the run so far; a second one raises.

    >>> import latebloom as lb
    >>> problem = lb.problems.LinearRegression([[1.0, 1.0]], [2.0], truth=[1.0, 1.0], init=[-1.0, 1.0])
    >>> run = lb.flow(problem, weight_decay=0.01, time=1e3, memorised_at=2e-2, generalised_at=2e-2)
    >>> run.outcome.sentence, round(run.t2)
    ('finished at time 1000', 395)
    """
    job = FlowJob(
        problem,
        preferred(weight_decay, penalty),
        time=time,
        stop_at=stop_at,
        memorised_at=memorised_at,
        generalised_at=generalised_at,
        probes=probes,
        solver=solver,
        rtol=rtol,
        atol=atol,
        max_gradients=max_gradients,
        records_per_decade=records_per_decade,
        learning_rate=learning_rate,
    )
    return run(job, store=store, progress=progress)
