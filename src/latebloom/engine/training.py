"""The discrete iteration of the papers: what `train` is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from latebloom.core.fields import count, own
from latebloom.core.precision import in_precision
from latebloom.core.record import parse
from latebloom.engine.batch import AbstractBatch
from latebloom.engine.descent import Lane
from latebloom.engine.diagnosis import warn_unstable
from latebloom.engine.job import (
    AbstractJob,
    a_penalty,
    an_event,
    more_probes,
    preferred,
    read_parts,
    the_problem,
    threshold,
)
from latebloom.engine.record_times import PER_DECADE
from latebloom.engine.shard import shards
from latebloom.engine.storage import run
from latebloom.errors import says_what_it_takes
from latebloom.methods import TABLE, AbstractMethod
from latebloom.methods.optax import as_method
from latebloom.penalties import AbstractPenalty
from latebloom.probes import AbstractProbe, TestError, TrainError
from latebloom.problems import AbstractProblem

if TYPE_CHECKING:
    from optax import GradientTransformation

    from latebloom.engine.run import Run
    from latebloom.engine.storage import Place


@dataclass(frozen=True, eq=False)
class TrainJob(AbstractJob):
    """Everything that decides the numbers of one iteration; `train` says what each field is."""

    kind: ClassVar[str] = "train"
    clock: ClassVar[str] = "step"
    extends: ClassVar[str | None] = "steps"

    problem: AbstractProblem = the_problem()
    method: AbstractMethod = own(as_method, kind="record", base=AbstractMethod, note="how one step is made")
    penalty: AbstractPenalty | None = a_penalty()
    _: KW_ONLY
    steps: int = count(least=0, most=2**62, note="how many at most")
    stop_at: str | None = an_event()
    memorised_at: float = threshold("train")
    generalised_at: float = threshold("test")
    probes: Sequence[AbstractProbe] = more_probes()
    records_per_decade: int = count(default=PER_DECADE, note="records between a step and ten times as many")

    @property
    def engine(self) -> int:
        return 2

    def __post_init__(self):
        self.check_fields()

    def dynamics(self) -> dict[str, Any]:
        return {
            "problem": self.problem.text,
            "method": self.method.text,
            "penalty": None if self.penalty is None else self.penalty.text,
            "precision": self.precision,
        }

    def budget(self) -> dict[str, Any]:
        return {"steps": self.steps, "stop_at": self.stop_at}

    @classmethod
    def from_parts(cls, dynamics: Mapping[str, Any], records: Mapping[str, Any], budget: Mapping[str, Any]) -> Self:
        parts = read_parts(dynamics, records) | {"method": parse(dynamics["method"], TABLE, "method")}
        return cls(**parts, **budget)

    @classmethod
    def batches(cls, jobs: Mapping[int, Any], workers: int) -> list[AbstractBatch]:
        for job in jobs.values():
            warn_unstable(job)
        return shards(jobs, workers)

    def lane(self) -> Lane:
        """The job as the compiled loop takes it, on the host; refuses combinations that cannot work."""
        self.method.check(self.problem, self.penalty)
        self.check_parts()
        return Lane(
            problem=in_precision(self.problem, self.precision, on_host=True),
            method=in_precision(self.method, self.precision, on_host=True),
            penalty=in_precision(self.penalty, self.precision, on_host=True),
            probes=self.all_probes,
            watched=(TrainError(), TestError()),
            thresholds=np.asarray([watch.threshold for watch in self.watches]),
            stop_on=np.asarray([watch.name == self.stop_at for watch in self.watches]),
        )


@says_what_it_takes
def train(
    problem: AbstractProblem,
    method: AbstractMethod | GradientTransformation,
    penalty: AbstractPenalty | None = None,
    *,
    steps: int,
    weight_decay: float = 0.0,
    stop_at: str | None = None,
    memorised_at: float = 1e-3,
    generalised_at: float = 1e-3,
    probes: Sequence[AbstractProbe] = (),
    records_per_decade: int = PER_DECADE,
    store: Place = None,
    progress: bool | None = None,
) -> Run:
    """Makes `steps` steps of `method` on `problem` with `penalty`, and returns what happened.

    - `method`: one of ours (`lb.methods`), or an optimiser of optax as it is.
    - `steps`: how many at most. A budget, not an event.
    - `weight_decay`: λ is short for the penalty `L2(λ)`, the gradient term `λ w`.
    - `stop_at`: "memorised" or "generalised" ends the run at the first record at which that has happened.
    - `memorised_at`, `generalised_at`: the thresholds on the train and the test error that say so.
    - `probes`: what is measured beside the loss, both errors, the norms and the penalty.
    - `records_per_decade`: how many records between a step and ten times as many.
    - `store`: a store, its folder, or True for your own: a run that is there is not made again, one that is made is
      kept, and one that was interrupted or killed goes on where it was.
    - `progress`: a bar on standard error; by default only on a terminal, after two seconds.

    Ctrl-C and SIGTERM return the run so far; a second one raises.

    >>> import latebloom as lb
    >>> problem = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12, seed=1)
    >>> run = lb.train(problem, lb.GradientDescent(0.1), lb.L1(1e-4), steps=30_000)
    >>> run.outcome.sentence
    'finished after 30,000 steps'
    """
    job = TrainJob(
        problem,
        method,  # type: ignore[arg-type]  # what is no record becomes one
        preferred(weight_decay, penalty),
        steps=steps,
        stop_at=stop_at,
        memorised_at=memorised_at,
        generalised_at=generalised_at,
        probes=probes,
        records_per_decade=records_per_decade,
    )
    return run(job, store=store, progress=progress)
