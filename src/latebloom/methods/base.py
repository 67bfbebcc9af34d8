"""What a method is: one discrete step, all state in and all state out."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from typing import Any

import jax

from latebloom.core.arrays import Params
from latebloom.core.record import Record
from latebloom.errors import CapabilityError
from latebloom.penalties import AbstractPenalty
from latebloom.problems import AbstractProblem

State = Any  # a pytree of arrays


class AbstractMethod(Record):
    """One step of a descent on `F + penalty`.

    `problem` and `penalty` are Any in `init` and `step`: what a method needs of them, its `check` has asked for.
    """

    tried_on = "sparse_recovery --penalty 'l1[1e-5]'"  # what `latebloom methods` shows it with

    @classmethod
    def instead(cls, *args: Any, **kwargs: Any) -> Any:
        """With a function for the learning rate it is the method under that schedule."""
        try:
            given = inspect.signature(cls).bind_partial(*args, **kwargs).arguments
        except TypeError:  # a wrong call is told by whoever checks the parameters
            return None
        schedule = given.get("learning_rate")
        if not callable(schedule):
            return None
        from latebloom.methods.scheduled import Scheduled

        return Scheduled(cls.build(given.pop("options", {}) | given | {"learning_rate": 1.0}), schedule)

    @abstractmethod
    def init(self, problem: Any, penalty: Any, params: Params) -> State:
        """The method's memory before the first step."""

    @abstractmethod
    def step(self, problem: Any, penalty: Any, params: Params, state: State) -> tuple[Params, State]:
        """The parameters and the memory after one step."""

    def clocks(self, state: State) -> dict[str, jax.Array]:
        """Clocks that the method keeps in its memory, e.g. `log_time`: each is a column of the run."""
        return {}

    @property
    def stable_below(self) -> float | None:
        """The largest `learning_rate · curvature` of a step that settles; None where no such number is known."""
        return None

    def check(self, problem: AbstractProblem, penalty: AbstractPenalty | None) -> None:
        """Raises `CapabilityError` if the method cannot use this problem or this penalty."""


def require_prox(penalty: AbstractPenalty | None, who: str) -> None:
    """Refuses a penalty without a prox."""
    if penalty is not None and not penalty.has_prox:
        raise CapabilityError(f"{who} needs a penalty with a prox; {penalty!r} has none: use GradientDescent instead")
