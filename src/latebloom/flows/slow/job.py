"""The slow flow: the limit λ → 0 of the flow with weight decay in slow time s = λt, at a cost without λ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from latebloom.core.precision import require_double
from latebloom.core.record import fingerprint
from latebloom.engine import outcome
from latebloom.engine.job import Probed
from latebloom.engine.run import Run
from latebloom.errors import CapabilityError, InputError, check_number
from latebloom.flows.gradient.job import PER_DECADE, Rows, check_job, ending, run_flows
from latebloom.flows.slow.steps import SlowLane
from latebloom.penalties import L2, AbstractPenalty
from latebloom.probes import AbstractProbe, TestError, TrainError
from latebloom.problems import AbstractProblem, require_least_squares
from latebloom.zero_loss.set import RESIDUAL

ENGINE = 3  # raised when the numbers of an unchanged configuration change
DECADES = 4  # of slow time that are recorded before the end: before s ≈ 1 the slow flow is at its start


@dataclass(frozen=True)
class SlowFlowJob(Probed):
    """Everything that decides one slow flow's numbers.

    The penalty's strength drops out: `slow_time` is strength · time as strength → 0 (the first of several; the others
    count relative to it). `metric` is a positive diagonal D, in the shape of the parameters or one number each.
    `residual` is the |r| to which every step is brought back, relative to that at w0 where it is above 1.
    """

    problem: AbstractProblem
    penalty: AbstractPenalty | None
    until: float
    probes: Sequence[AbstractProbe] = ()
    memorised: float = 1e-3
    generalised: float = 1e-3
    rtol: float = 1e-4
    atol: float = 1e-9
    max_gradients: int = 10_000_000
    records_per_decade: int = PER_DECADE
    residual: float = RESIDUAL
    metric: Any = None

    clock: ClassVar[str] = "slow_time"

    def __post_init__(self):
        if self.penalty is None:
            object.__setattr__(self, "penalty", L2(1.0))
        check_job(self)
        require_least_squares(self.problem, "slow_flow")
        require_double(self.problem, "slow_flow")
        assert self.penalty is not None
        if not self.penalty.smooth:
            raise CapabilityError(
                f"slow_flow needs a smooth penalty; {self.penalty!r} has kinks: use L2, or l1_path for the l1 norm "
                "on a linear problem"
            )
        check_number("strength of the slow flow's penalty", self.penalty.strengths[0], above=0)
        object.__setattr__(self, "residual", check_number("residual", self.residual, above=1e-14, below=1e-3))
        if self.metric is not None:
            object.__setattr__(self, "metric", _check_metric(self.metric, self.problem))

    def configuration(self) -> dict[str, Any]:
        """The run's identity, as plain JSON values."""
        assert self.penalty is not None
        return {
            "slow_flow": ENGINE,
            "problem": self.problem.text,
            "penalty": self.penalty.text,
            "metric": None if self.metric is None else fingerprint(self.metric),
            "until": self.until,
            "tolerances": {"rtol": self.rtol, "atol": self.atol, "residual": self.residual},
            "max_gradients": self.max_gradients,
            "probes": sorted(probe.text for probe in self.all_probes),
            "thresholds": {watch.name: watch.threshold for watch in self.watches},
            "records_per_decade": self.records_per_decade,
            "precision": "float64",
        }

    def lane(self) -> SlowLane:
        """The job as the compiled loop takes it; refuses combinations that cannot work."""
        self.check_parts()
        rows = require_least_squares(self.problem, "slow_flow").live_residuals()
        problem, penalty, probes = jax.tree.map(jnp.asarray, (self.problem, self.penalty, self.all_probes))
        return SlowLane(
            problem=problem,
            penalty=penalty,
            probes=probes,
            watched=(TrainError(), TestError()),
            thresholds=jnp.asarray([watch.threshold for watch in self.watches]),
            rtol=jnp.asarray(self.rtol),
            atol=jnp.asarray(self.atol),
            until=jnp.asarray(self.until),
            residual=jnp.asarray(self.residual),
            metric=None if self.metric is None else jnp.asarray(self.metric),
            rows=None if rows is None else jnp.asarray(rows),
        )

    def times(self) -> np.ndarray:
        """When records are made: log-spaced over `DECADES` decades before the end."""
        return self.until * np.geomspace(10.0**-DECADES, 1.0, DECADES * self.records_per_decade + 1)

    def clocks(self, times: np.ndarray) -> Rows:
        """No clock beside `slow_time`: in the limit, time itself is infinite."""
        return {}

    def outcome(self, progress: Any, last: float, *, cancelled: bool) -> outcome.Outcome:
        """How a slow flow that got as far as `last` ended."""
        where = f"slow time {last:.6g}"
        if bool(progress.broken):
            sentence = f"no finite step from {where} on: look at train_loss, scale the data down"
            return outcome.Outcome(outcome.Ending.NOT_FINITE, last, sentence)
        if not bool(progress.arrived) and not cancelled:
            return outcome.Outcome(outcome.Ending.NO_ZERO_LOSS, last, self._no_start(progress))
        return ending(self, where, last, cancelled=cancelled)

    def _no_start(self, progress: Any) -> str:
        """Why there was no point of zero loss to start from."""
        reached = f"the unregularised flow does not reach zero loss: |r| = {float(progress.residual):.3g}"
        if not bool(progress.stalled):
            return f"{reached} after {int(progress.gradients):,} gradients: raise max_gradients"
        count, size = (len(part) for part in (progress.here.multipliers, progress.here.flat))
        why = f" ({count} residuals, {size} parameters)" if count > size else ""
        return f"{reached} where its gradient vanishes{why}: no slow phase; use flow, another start or a wider model"


def _check_metric(metric: Any, problem: AbstractProblem) -> np.ndarray:
    """The diagonal as one positive vector with an entry a parameter."""
    start, unravel = ravel_pytree(problem.init())
    allowed = "give positive numbers in the shape of problem.init()"
    try:
        full = jax.tree.map(lambda w, d: jnp.broadcast_to(jnp.asarray(d, float), w.shape), unravel(start), metric)
    except (TypeError, ValueError):
        raise InputError(f"metric does not have the shape of the parameters: {allowed}") from None
    flat = np.asarray(ravel_pytree(full)[0])
    if not (np.isfinite(flat).all() and (flat > 0).all()):
        raise InputError(f"metric has entries that are not positive (smallest {flat.min():g}): {allowed}")
    return flat


def slow_flow(
    problem: AbstractProblem,
    penalty: AbstractPenalty | None = None,
    *,
    until: float,
    progress: bool | None = None,
    **options: Any,
) -> Run:
    """Integrates the limit λ → 0 of `w' = -∇F(w) - λ∇h(w)` in slow time `s = λt`, to slow time `until`.

    It starts at Φ(w0), the end of the unregularised flow, and follows the Riemannian gradient flow of h on the
    zero-loss set, `w' = -P ∇h(w)` with P the orthogonal projection onto the kernel of the residuals' Jacobian. h is
    `|w|²/2`, or the penalty given. With a `metric` D it is the limit of `w' = -D(∇F + λ∇h)`:
    `w' = -(D - D Jᵀ(J D Jᵀ)⁻¹ J D) ∇h(w)`. Options are those of `SlowFlowJob`: `probes`, thresholds, tolerances
    `rtol`, `atol` and `residual`, `max_gradients` (a product with J and one with its transpose count as one),
    `records_per_decade`, `metric`. Memorisation is at slow time 0. Ctrl-C returns the run so far.

    >>> import latebloom as lb
    >>> problem = lb.problems.LinearRegression([[1.0, 1.0]], [2.0], truth=[1.0, 1.0], init=[-1.0, 1.0])
    >>> run = lb.slow_flow(problem, until=10.0, generalised=0.1)
    >>> run.outcome.sentence, round(run.milestones.generalised.when, 2)  # w = (1, 1) + e^-s (-1, 1)
    ('finished at slow time 10', 2.3)

    Source: "A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm Minimisation",
    Proposition 2 and Eq. 6.
    """
    (run,) = run_flows([SlowFlowJob(problem, penalty, until, **options)], label="slow flow", progress=progress)
    if run is None:
        raise KeyboardInterrupt
    return run
