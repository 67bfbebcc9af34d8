"""The vocabulary of the catalog: experiments, their runs, and the papers' sentences as executable checks.

Nothing here opens a file or imports JAX: a catalog module is a description, and `latebloom list`
reads all of them in well under a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.flows import DualFlowJob, FlowJob, SlowFlowJob
    from latebloom.run import Run
    from latebloom.training import Job


@dataclass(frozen=True)
class Request:
    """Which version of an experiment is wanted: the seed, and the paper's full size or the everyday one."""

    seed: int
    full: bool = False


@dataclass(frozen=True)
class Study:
    """A computation that is not a run (oracles, constants): its identity and a function that gives columns."""

    name: str
    configuration: Mapping[str, Any]
    compute: Callable[[], dict[str, np.ndarray]]


@dataclass(frozen=True)
class Evidence:
    """What a reproduction has in hand when claims are checked and figures drawn."""

    request: Request
    jobs: Mapping[str, Job | FlowJob | SlowFlowJob | DualFlowJob]
    runs: Mapping[str, Run]
    tables: Mapping[str, Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class Measured:
    """The number a claim was judged by, and the verdict."""

    value: Any
    holds: bool


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper (or its correction), and how to measure it.

    `documented` is the verdict we have measured and stand by: a claim that fails as printed has
    `documented=False`, with the corrected claim beside it. `rate` is the share of draws in which a
    claim that depends on the draw holds at least; 1 means always.
    """

    id: str
    text: str
    source: str
    expected: str
    check: Callable[[Evidence], Measured]
    documented: bool = True
    rate: float = 1.0


@dataclass(frozen=True)
class Experiment:
    """A published figure or theorem: settings, runs, claims, figure and cost in seconds on two cores.

    `jobs` are the runs it needs, by name; `studies` what it computes besides. Entries that ask for the same
    job share the run.
    """

    id: str
    title: str
    claim: str
    source: str
    seconds: float
    settings: Mapping[str, Any]
    claims: Sequence[Claim]
    draw: Callable[[Evidence], Figure]
    jobs: Callable[[Request], Mapping[str, Job | FlowJob | SlowFlowJob | DualFlowJob]] = lambda request: {}
    studies: Callable[[Request], Sequence[Study]] = lambda request: ()
    seed: int = 0
    seed_reason: str = "the first draw"
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def paper(self) -> str:
        return self.id.partition("/")[0]

    @property
    def figure(self) -> str:
        return self.id.partition("/")[2]


def within(value: float | None, low: float, high: float) -> Measured:
    """Holds if the value exists and lies in [low, high]."""
    return Measured(value, value is not None and bool(low <= value <= high))


def at_most(value: float | None, bound: float) -> Measured:
    """Holds if the value exists and is at most the bound."""
    return Measured(value, value is not None and bool(value <= bound))


def at_least(value: float | None, bound: float) -> Measured:
    """Holds if the value exists and is at least the bound."""
    return Measured(value, value is not None and bool(value >= bound))
