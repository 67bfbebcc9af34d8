"""The slow flow: the limit λ → 0 of the flow with weight decay in slow time s = λt, at a cost without λ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from latebloom.core.arrays import to_jax
from latebloom.core.fields import count, number, own
from latebloom.core.precision import require_double
from latebloom.engine.batch import AbstractBatch, Rows
from latebloom.engine.job import AbstractJob, a_penalty, an_event, more_probes, read_parts, the_problem, threshold
from latebloom.engine.outcome import Ending, Outcome
from latebloom.engine.record_times import before_end
from latebloom.engine.storage import run
from latebloom.errors import CapabilityError, InputError, check_number, says_what_it_takes
from latebloom.flows.gradient.job import broken, ending, span, tolerance
from latebloom.flows.slow.batch import SlowBatch
from latebloom.flows.slow.steps import SlowLane
from latebloom.penalties import L2, AbstractPenalty
from latebloom.probes import AbstractProbe, TestError, TrainError
from latebloom.problems import AbstractProblem, require_least_squares
from latebloom.zero_loss.set import RESIDUAL

if TYPE_CHECKING:
    from latebloom.engine.run import Run
    from latebloom.engine.storage import Place

DECADES = 4  # of slow time that are recorded before the end: before s ≈ 1 the slow flow is at its start


@dataclass(frozen=True, eq=False)
class SlowFlowJob(AbstractJob):
    """Everything that decides one slow flow's numbers; `slow_flow` says what each field is."""

    kind: ClassVar[str] = "slow_flow"
    clock: ClassVar[str] = "slow_time"

    problem: AbstractProblem = the_problem()
    penalty: AbstractPenalty | None = a_penalty("what is preferred, smoothly; |w|²/2 by default")
    _: KW_ONLY
    slow_time: float = span("how far at most")
    metric: Any = own(default=None, note="a positive diagonal D, if the flow is preconditioned by one")
    stop_at: str | None = an_event()
    memorised_at: float = threshold("train")
    generalised_at: float = threshold("test")
    probes: Sequence[AbstractProbe] = more_probes()
    rtol: float = tolerance(1e-4, "relative")
    atol: float = tolerance(1e-9, "absolute")
    residual: float = number(default=RESIDUAL, above=1e-14, below=1e-3, note="|r| to which every step is brought back")
    max_gradients: int = count(default=10_000_000, note="the most that may be computed")
    records_per_decade: int = count(default=50, note="records between a slow time and ten times as much")

    @property
    def engine(self) -> int:
        return 3

    def __post_init__(self):
        if self.penalty is None:
            self.set(penalty=L2(1.0))
        self.check_fields()
        require_least_squares(self.problem, "slow_flow")
        require_double(self.problem, "slow_flow")
        assert self.penalty is not None
        if not self.penalty.smooth:
            raise CapabilityError(
                f"slow_flow needs a smooth penalty; {self.penalty!r} has kinks: use L2, or l1_path for the l1 norm "
                "on a linear problem"
            )
        check_number("strength of the slow flow's penalty", self.penalty.strengths[0], above=0)
        if self.metric is not None:
            self.set(metric=_check_metric(self.metric, self.problem))

    def dynamics(self) -> dict[str, Any]:
        assert self.penalty is not None
        return {
            "problem": self.problem.text,
            "penalty": self.penalty.text,
            "metric": None if self.metric is None else _shortest(self.metric),
            "rtol": self.rtol,
            "atol": self.atol,
            "residual": self.residual,
            "precision": "float64",
        }

    def budget(self) -> dict[str, Any]:
        return {"slow_time": self.slow_time, "max_gradients": self.max_gradients, "stop_at": self.stop_at}

    @classmethod
    def from_parts(cls, dynamics: Mapping[str, Any], records: Mapping[str, Any], budget: Mapping[str, Any]) -> Self:
        parts = read_parts(dynamics, records)
        metric = dynamics["metric"] if not isinstance(dynamics["metric"], list) else np.asarray(dynamics["metric"])
        how = {name: dynamics[name] for name in ("rtol", "atol", "residual")}
        return cls(**parts, **how, metric=metric, **budget)

    @classmethod
    def batches(cls, jobs: Mapping[int, Any], workers: int) -> list[AbstractBatch]:
        return [SlowBatch(number, job) for number, job in jobs.items()]

    def lane(self) -> SlowLane:
        """The job as the compiled loop takes it; refuses combinations that cannot work."""
        self.check_parts()
        rows = require_least_squares(self.problem, "slow_flow").live_residuals()
        problem, penalty, probes = jax.tree.map(to_jax, (self.problem, self.penalty, self.all_probes))
        return SlowLane(
            problem=problem,
            penalty=penalty,
            probes=probes,
            watched=(TrainError(), TestError()),
            thresholds=to_jax(np.array([watch.threshold for watch in self.watches], float)),
            stop_on=to_jax(np.array([watch.name == self.stop_at for watch in self.watches])),
            rtol=jnp.asarray(self.rtol),
            atol=jnp.asarray(self.atol),
            until=jnp.asarray(self.slow_time),
            residual=jnp.asarray(self.residual),
            metric=None if self.metric is None else to_jax(self.metric),
            rows=None if rows is None else to_jax(rows),
        )

    def times(self) -> np.ndarray:
        """When records are made."""
        return before_end(self.slow_time, DECADES, self.records_per_decade)

    def clocks(self, times: np.ndarray) -> Rows:
        """No clock beside `slow_time`: in the limit, time itself is infinite."""
        return {}

    def outcome(self, progress: Any, last: float, *, cancelled: bool) -> Outcome:
        """How a slow flow that got as far as `last` ended."""
        if bool(progress.broken):
            return broken(f"slow time {last:.6g}", last)
        if not bool(progress.arrived) and not cancelled:
            return Outcome(Ending.NO_ZERO_LOSS, last, self._no_start(progress))
        return ending(self, "slow time", last, self.slow_time, progress, cancelled=cancelled)

    def _no_start(self, progress: Any) -> str:
        """Why there was no point of zero loss to start from."""
        reached = f"the unregularised flow does not reach zero loss: |r| = {float(progress.residual):.3g}"
        if not bool(progress.stalled):
            return f"{reached} after {int(progress.gradients):,} gradients: raise max_gradients"
        count, size = (len(part) for part in (progress.here.multipliers, progress.here.flat))
        why = f" ({count} residuals, {size} parameters)" if count > size else ""
        return f"{reached} where its gradient vanishes{why}: no slow phase; use flow, another start or a wider model"


def _check_metric(metric: Any, problem: AbstractProblem) -> np.ndarray:
    """The diagonal as one positive vector with an entry a parameter; given so, as a number, or as a tree."""
    start, unravel = ravel_pytree(problem.init())
    allowed = "give positive numbers in the shape of problem.init()"
    if isinstance(metric, int | float) or (np.shape(metric) == start.shape and not isinstance(metric, list)):
        metric = unravel(jnp.broadcast_to(jnp.asarray(metric, float), start.shape))
    try:
        full = jax.tree.map(lambda w, d: jnp.broadcast_to(jnp.asarray(d, float), w.shape), unravel(start), metric)
    except (TypeError, ValueError):
        raise InputError(f"metric does not have the shape of the parameters: {allowed}") from None
    flat = np.asarray(ravel_pytree(full)[0])
    if not (np.isfinite(flat).all() and (flat > 0).all()):
        raise InputError(f"metric has entries that are not positive (smallest {flat.min():g}): {allowed}")
    return flat


def _shortest(metric: np.ndarray) -> float | list[float]:
    """The diagonal in the fewest numbers: one if they are all the same."""
    return float(metric[0]) if (metric == metric[0]).all() else metric.tolist()


@says_what_it_takes
def slow_flow(
    problem: AbstractProblem,
    penalty: AbstractPenalty | None = None,
    *,
    slow_time: float,
    metric: Any = None,
    stop_at: str | None = None,
    memorised_at: float = 1e-3,
    generalised_at: float = 1e-3,
    probes: Sequence[AbstractProbe] = (),
    rtol: float = 1e-4,
    atol: float = 1e-9,
    residual: float = RESIDUAL,
    max_gradients: int = 10_000_000,
    records_per_decade: int = 50,
    store: Place = None,
    progress: bool | None = None,
) -> Run:
    """Integrates the limit λ → 0 of `w' = -∇F(w) - λ∇h(w)` in slow time `s = λt`, to `slow_time`.

    It starts at Φ(w0), the end of the unregularised flow, and follows the Riemannian gradient flow of h on the
    zero-loss set, `w' = -P ∇h(w)` with P the orthogonal projection onto the kernel of the residuals' Jacobian.
    Memorisation is at slow time 0.

    - `penalty`: a smooth h, `|w|²/2` by default. Its strength drops out: `slow_time` is strength · time as
      strength → 0 (the first of several; the others count relative to it).
    - `slow_time`: how far at most. A budget, not an event.
    - `metric`: a positive diagonal D, in the shape of the parameters or one number each: then it is the limit of
      `w' = -D(∇F + λ∇h)`, `w' = -(D - D Jᵀ(J D Jᵀ)⁻¹ J D) ∇h(w)`.
    - `stop_at`: "memorised" or "generalised" ends the flow with the step in which that has happened.
    - `memorised_at`, `generalised_at`: the thresholds on the train and the test error that say so.
    - `probes`: what is measured beside the loss, both errors, the norms and the penalty.
    - `rtol`, `atol`: tolerances of a step.
    - `residual`: the |r| to which every step is brought back, relative to that at w0 where it is above 1.
    - `max_gradients`: the most that may be computed; a product with J and one with its transpose count as one.
    - `records_per_decade`: how many records between a slow time and ten times as much.
    - `store`: a store, its folder, or True for your own: a run that is there is not made again, one that is made is
      kept, and one that was interrupted or killed goes on where it was.
    - `progress`: a bar on standard error; by default only on a terminal, after two seconds.

    Ctrl-C and SIGTERM return the run so far; a second one raises.

    >>> import latebloom as lb
    >>> problem = lb.problems.LinearRegression([[1.0, 1.0]], [2.0], truth=[1.0, 1.0], init=[-1.0, 1.0])
    >>> run = lb.slow_flow(problem, slow_time=10.0, generalised_at=0.1)
    >>> run.outcome.sentence, round(run.t2, 2)  # w = (1, 1) + e^-s (-1, 1)
    ('finished at slow time 10', 2.3)

    Source: "A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm Minimisation",
    Proposition 2 and Eq. 6.
    """
    job = SlowFlowJob(
        problem,
        penalty,
        slow_time=slow_time,
        metric=metric,
        stop_at=stop_at,
        memorised_at=memorised_at,
        generalised_at=generalised_at,
        probes=probes,
        rtol=rtol,
        atol=atol,
        residual=residual,
        max_gradients=max_gradients,
        records_per_decade=records_per_decade,
    )
    return run(job, store=store, progress=progress)
