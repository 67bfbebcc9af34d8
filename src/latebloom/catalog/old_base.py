"""The vocabulary of the catalog: experiments, their runs, and the papers' sentences as executable checks.

Nothing here opens a file or imports JAX: a catalog module is a description, and `latebloom list`
reads all of them in well under a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.errors import InputError, unknown_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.engine.run import Run


@dataclass(frozen=True)
class Request:
    """Which version of an experiment is wanted: the seed, the paper's full size or the everyday one, what was set."""

    seed: int
    full: bool = False
    given: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> str:
        """ "full" or "everyday", the words of the settings."""
        return "full" if self.full else "everyday"

    def choice(self, name: str, default: str) -> str:
        """What `--set name=value` has given, or the default.

        >>> Request(0, given=(("data", "faces.npz"),)).choice("data", "digits")
        'faces.npz'
        """
        return dict(self.given).get(name, default)


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
    jobs: Mapping[str, Any]
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
    `documented=False`, with the corrected claim beside it. `in_full` is the verdict with `--full`, where that
    is another. `rate` is the share of draws in which a claim that depends on the draw holds at least; 1 means always.
    """

    id: str
    text: str
    source: str
    expected: str
    check: Callable[[Evidence], Measured]
    documented: bool = True
    rate: float = 1.0
    in_full: bool | None = None

    def of(self, request: Request) -> Claim:
        """The claim with the verdict documented for the size of a request."""
        return replace(self, documented=self.in_full) if request.full and self.in_full is not None else self


@dataclass(frozen=True)
class Experiment:
    """A published figure or theorem: settings, runs, claims, figure and cost in seconds on two cores.

    `jobs` are the runs it needs, by name; `studies` what it computes besides. Entries that ask for the same
    job share the run. `choices` are what `--set name=value` can change, each with a sentence. `full_seconds` is
    the cost of `--full`, None where that was not measured or there is no larger size.
    """

    id: str
    title: str
    claim: str
    source: str
    seconds: float
    settings: Mapping[str, Any]
    claims: Sequence[Claim]
    draw: Callable[[Evidence], Figure]
    jobs: Callable[[Request], Mapping[str, Any]] = lambda request: {}
    studies: Callable[[Request], Sequence[Study]] = lambda request: ()
    seed: int = 0
    seed_reason: str = "the first draw"
    notes: Sequence[str] = field(default_factory=tuple)
    choices: Mapping[str, str] = field(default_factory=dict)
    full_seconds: float | None = None

    def check_choices(self, names: Iterable[str]) -> None:
        """Refuses to set what is not one of `choices`."""
        for name in names:
            if not self.choices:
                raise InputError(f"{self.id} has nothing to set: leave --set {name}=… out")
            if name not in self.choices:
                raise unknown_name(f"setting of {self.id}", name, self.choices)

    def cost(self, *, full: bool = False) -> str:
        """How long it takes, in words."""
        seconds = self.full_seconds if full else self.seconds
        if seconds is None:
            return "cost at the paper's size not measured"
        return f"about {seconds:g} s" if seconds < 180 else f"about {seconds / 60:.0f} min"

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


def to_entry(experiment: Experiment):
    """The entry that an experiment of the old form stands for."""
    from latebloom.catalog import base, bounds
    from latebloom.core.fields import flag, text

    class OldSettings(base.Settings):
        paper_size: bool = flag(default=False, note="the paper's size")
        data: str = text(default="", note="the data")

    def request_of(settings: Any) -> Request:
        return Request(settings.seed, settings.paper_size, (("data", settings.data),) if settings.data else ())

    def as_old(e: Any) -> Evidence:
        return Evidence(request_of(e.settings), e.jobs, e.runs, e.tables)

    entry = base.Entry(
        experiment.id, experiment.title, summary=experiment.claim, source=experiment.source,
        seconds=experiment.seconds, settings=OldSettings(seed=experiment.seed), full={"paper_size": True},
        full_seconds=experiment.full_seconds, seed_reason=experiment.seed_reason, notes=experiment.notes,
    )  # fmt: skip
    entry.runs(lambda s: experiment.jobs(request_of(s)))
    entry.studies(lambda s: list(experiment.studies(request_of(s))))
    entry.figure(lambda e: experiment.draw(as_old(e)))

    def measure_of(claim: Claim) -> Callable[[Any], Any]:
        def measure(e: Any) -> Any:
            found = claim.check(as_old(e))
            return found.value, found.holds

        return measure

    for claim in experiment.claims:
        words, _, reason = claim.expected.replace("{", "{{").replace("}", "}}").partition("; fails: ")
        entry.claim(
            bounds.holds(words), id=claim.id, text=claim.text, source=claim.source, rate=claim.rate,
            fails=None if claim.documented else reason or words,
            full=base.Fails("as documented") if claim.in_full is False else None,
        )(measure_of(claim))  # fmt: skip
    return entry
