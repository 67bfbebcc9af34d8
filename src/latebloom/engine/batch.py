"""What the scheduler advances: jobs of one structure, in calls short enough to listen between them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

if TYPE_CHECKING:
    from latebloom.engine.run import Run

Rows = dict[str, np.ndarray]
Emit = Callable[[int, Rows], None]  # takes the number of a job and the records that it has just made


class AbstractBatch(ABC):
    """Some jobs that are advanced together: a shard of iterations, one flow.

    `numbers` says which; `structure` which compiled programs they need (batches of one structure share them); `done`
    of `total` is for the bar, in units of the batch's kind. `seconds` is how long it has been worked on.
    """

    call_seconds: ClassVar[float] = 0.2  # how long one call should take: the latency of Ctrl-C and of the bar

    numbers: list[int]
    structure: Hashable
    total: float
    done: float = 0.0
    seconds: float = 0.0
    begun: bool = False

    @abstractmethod
    def compile(self) -> None:
        """Compiles what is not compiled yet, and stands at the start."""

    @abstractmethod
    def advance(self, seconds: float, emit: Emit) -> bool:
        """One call of about this length; hands new records to `emit`, and says whether all is over."""

    @abstractmethod
    def finish(self, emit: Emit, *, cancelled: bool) -> list[Run]:
        """The runs, in the order of `numbers`; those that are not over are interrupted."""

    @abstractmethod
    def state(self, number: int) -> Any:
        """Where a job stands: named parts, each a pytree of arrays, a number, or columns; None where there is nothing.

        With the records so far (`rows`), so that whoever goes on from it needs nothing else.
        """

    @abstractmethod
    def resume(self, number: int, state: Any) -> None:
        """Puts a job where `state` says, as if it had come there by itself; None leaves it at its start."""

    def trees(self) -> dict[str, Any]:
        """The parts of a state that are pytrees, as they are for these jobs: what a stored one must look like."""
        return {}

    def reached(self, number: int) -> tuple[float, int]:
        """How far a job is: on its clock, and in gradients."""
        return 0.0, 0

    def rows(self, number: int) -> Rows:
        """The records so far, as they were handed to `emit`; empty before the first."""
        return {}

    def params(self, number: int) -> Any:
        """The parameters where a job stands; None where it has none yet."""
        return None

    def seconds_of(self, number: int) -> float:
        """A job's share of the seconds."""
        return self.seconds / len(self.numbers)

    def at_end(self, number: int) -> bool:
        """Whether all steps are made and only the last record is missing: the state that a longer run goes on from."""
        return False

    def ready(self) -> dict[int, Run]:
        """Jobs that are over while others of the batch are not, for a batch that takes one after the other."""
        return {}

    @contextmanager
    def working(self) -> Iterator[None]:
        """Counts the seconds that are spent inside."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - started


def structure(lane: Any) -> tuple[Any, ...]:
    """What decides which compiled program a lane needs: lanes of equal structure share one."""
    leaves, tree = jax.tree.flatten(lane)
    return tree, tuple((np.shape(leaf), jnp.result_type(leaf)) for leaf in leaves)
