"""The vocabulary of the catalog: entries, their settings, their runs, and the papers' sentences as executable checks.

Nothing here opens a file or imports JAX: a catalog module is a description, and `latebloom list` reads all of them in
well under a second.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self, TypeVar, dataclass_transform

from latebloom.catalog.bounds import AbstractBound
from latebloom.catalog.claims import FULL, Claim, Fails, Reads
from latebloom.core.fields import SPECIFIERS, check_all, describe, seed
from latebloom.core.reading import items, read_value, split
from latebloom.errors import InputError, LatebloomError, unknown_name

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from latebloom.catalog.controls import AbstractControl
    from latebloom.engine.run import Run
    from latebloom.figures import Figure

F = TypeVar("F", bound=Callable[..., Any])
_BARE: Any = {"kw_only": True, "init": False, "repr": False, "eq": False}


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=SPECIFIERS)
@dataclass(**_BARE)
class Settings:
    """What can be set of an entry; a subclass declares its own by the helpers of `core.fields`.

    >>> from latebloom.core.fields import number, numbers
    >>> class Mine(Settings):
    ...     learning_rate: float = number(default=0.1, above=0, note="α")
    ...     strengths: tuple[float, ...] = numbers(default=(1e-5, 2e-5), note="β")
    >>> Mine().but(learning_rate="0.05", strengths="1e-6,3e-6").text
    'seed=0 learning_rate=0.05 strengths=1e-06,3e-06'
    """

    seed: int = seed(default=0, note="the draw")

    # What dataclass would write for each of a hundred classes is written here once for all: compiling it, and the
    # signatures that it takes for docstrings, were a quarter of the time of `latebloom list`.
    def __init_subclass__(cls) -> None:
        cls.__doc__ = cls.__doc__ or "What can be set of an entry."  # else dataclass writes one, from a signature
        dataclass(**_BARE)(cls)

    def __init__(self, **given: Any):
        known = self.__dataclass_fields__
        if unknown := given.keys() - known.keys():
            raise unknown_name("setting", min(unknown), known)
        self.__dict__.update({name: given.get(name, one.default) for name, one in known.items()})
        check_all(self)

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"settings stay as they are: settings.but({name}=…) are others")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.values == other.values  # type: ignore[union-attr]

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.values.items())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.values.items())})"

    def but(self, **changes: Any) -> Self:
        """The same settings with other values for some; texts, as on the command line, are read."""
        known = {one.name: one for one in describe(type(self))}
        for name in changes:
            if name not in known:
                raise unknown_name("setting", name, known)
        return replace(self, **{name: _read(value, known[name].kind) for name, value in changes.items()})

    def changed(self, default: Settings) -> dict[str, Any]:
        """What differs from other settings of the class."""
        return {name: value for name, value in self.values.items() if value != default.values[name]}

    @property
    def values(self) -> dict[str, Any]:
        """Every setting by its name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def text(self) -> str:
        """All settings, as one would type them."""
        return " ".join(f"{name}={as_text(value)}" for name, value in self.values.items())


def _read(value: Any, kind: str) -> Any:
    """A setting written as text, by the kind of its field."""
    if not isinstance(value, str) or kind in ("text", "choice"):
        return value
    if kind == "numbers":
        inside = items(value)
        return tuple(read_value(item) for item in (split(value, ",") if inside is None else inside))
    return read_value(value)


def as_text(value: Any) -> str:
    """A setting as one would type it: `1e-05`, `1e-06,3e-06`."""
    if isinstance(value, tuple):
        return ",".join(as_text(item) for item in value)
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value)


@dataclass(frozen=True)
class Study:
    """A computation that is not a run (oracles, constants): its identity and a function that gives columns."""

    name: str
    configuration: Mapping[str, Any]
    compute: Callable[[], dict[str, np.ndarray]]


@contextmanager
def any_draw() -> Iterator[None]:
    """A row of a matrix that is never observed is part of the experiment: no warning."""
    import latebloom as lb

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.problems.UnobservedWarning)
        yield


@lru_cache(maxsize=256)
def _cached(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


@dataclass(frozen=True)
class Evidence:
    """What a reproduction has in hand when claims are checked and figures drawn: `e["l1"]` is a run."""

    settings: Any  # of the entry's own class
    jobs: Mapping[str, Any]
    runs: Mapping[str, Run]
    tables: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Run:
        return self.runs[name]

    def job(self, name: str | None = None) -> Any:
        """The job of a run; without a name the first one."""
        return self.jobs[next(iter(self.jobs)) if name is None else name]

    def problem(self, name: str | None = None) -> Any:
        """The problem that a run was made on; without a name that of the first one."""
        return self.job(name).problem

    def cached(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The function's answer, computed once for several claims and the figure; records compare by their text."""
        return _cached(function, *arguments)

    def table(self, **columns: Callable[[Run], Any]) -> pd.DataFrame:
        """A row per cell of a grid: its axes, and what each function reads off the run."""
        import pandas as pd

        cells: Mapping[str, Mapping[str, Any]] = self.jobs.cells  # type: ignore[attr-defined]
        rows = [
            {**cell, **{column: read(self.runs[name]) for column, read in columns.items()}}
            for name, cell in cells.items()
        ]
        return pd.DataFrame(rows, index=list(cells))


@dataclass(frozen=True, eq=False)
class Entry:
    """A published figure or theorem: settings, runs, claims, figure and cost in seconds on two cores.

    Its functions are given by decorators: `runs` (from the settings the jobs it needs, by name), `studies` (what it
    computes besides), `claim` and `figure` (from the evidence). Entries that ask for the same job share the run. `full`
    are the settings of the paper's size where the everyday ones are smaller, and `full_seconds` its cost, None where
    that was not measured or there is none. `controls` are tried before those that every entry has (`catalog.controls`).
    """

    id: str
    title: str
    summary: str
    source: str
    seconds: float
    settings: Settings
    full: Mapping[str, Any] = field(default_factory=dict)
    full_seconds: float | None = None
    seed_reason: str = "the first draw"
    notes: Sequence[str] = ()
    controls: Sequence[AbstractControl] = ()
    claims: list[Claim] = field(default_factory=list, init=False)
    parts: dict[str, Callable[..., Any]] = field(default_factory=dict, init=False)

    @property
    def paper(self) -> str:
        return self.id.partition("/")[0]

    @property
    def figure_id(self) -> str:
        return self.id.partition("/")[2]

    def _part(self, name: str, function: F) -> F:
        if name in self.parts:
            raise TypeError(f"{self.id} has its {name} already")
        self.parts[name] = function
        return function

    def runs(self, function: F) -> F:
        """Declares what the entry runs: from the settings, jobs by name."""
        return self._part("runs", function)

    def studies(self, function: F) -> F:
        """Declares what the entry computes besides: from the settings, a list of studies."""
        return self._part("studies", function)

    def figure(self, function: F) -> F:
        """Declares the figure: from the evidence, a `Figure`."""
        return self._part("figure", function)

    def claim(
        self,
        bound: AbstractBound,
        quantity: str = "",
        *,
        id: str | None = None,
        text: str | None = None,
        source: str | None = None,
        kind: str = "printed",
        rate: float = 1.0,
        fails: str | None = None,
        outside: str | None = None,
        full: AbstractBound | Fails | None = None,
        control: AbstractControl | None = None,
        reads: Reads | None = None,
    ) -> Callable[[F], F]:
        """Declares a claim: a function from the evidence to a number, under a bound; its docstring is the sentence.

        The function is returned as it is, so that one serves several entries of a family. Its name is the claim's id
        (`id` where it cannot be), the entry's source the claim's, unless another is given; the rest is as in `Claim`.
        """

        def declare(function: F) -> F:
            sentence = text or " ".join((function.__doc__ or "").split())
            name = id or function.__name__.replace("_", "-")
            if not sentence:
                raise TypeError(f"the claim {name} of {self.id} has no sentence: give it a docstring")
            if name in {claim.id for claim in self.claims}:
                raise TypeError(f"{self.id} has two claims called {name}")
            options = {"rate": rate, "fails": fails, "outside": outside, "full": full}
            options |= {"control": control, "reads": reads}
            told = (name, sentence, source or self.source, quantity, bound, function, kind)
            self.claims.append(Claim(*told, **options))
            return function

        return declare

    def configured(self, changes: Mapping[str, Any], *, full: bool = False) -> Settings:
        """The entry's settings, or those of its full size, with some changes."""
        chosen = self.settings.but(**self.full) if full else self.settings
        known = chosen.values
        for name in changes:
            if name not in known:
                raise unknown_name(f"setting of {self.id}", name, known)
        return chosen.but(**changes)

    def preset(self, settings: Settings) -> str | None:
        """Which documented settings these are, on any draw: "default", "full", or None."""
        for name, changes in (("default", {}), (FULL, self.full)):
            if settings.but(seed=self.settings.seed) == self.settings.but(**changes):
                return name
        return None

    def jobs(self, settings: Settings) -> Mapping[str, Any]:
        """The jobs, by name."""
        if "runs" not in self.parts:
            return {}
        with any_draw():
            return self._built("runs", settings)

    def study_list(self, settings: Settings) -> list[Study]:
        """What is computed besides."""
        return list(self._built("studies", settings)) if "studies" in self.parts else []

    def _built(self, part: str, settings: Settings) -> Any:
        """What a part makes of the settings; settings of the user's own may not fit (a list that is too short)."""
        try:
            return self.parts[part](settings)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            if isinstance(error, LatebloomError) or self.preset(settings) is not None:
                raise
            told = " ".join(f"{name}={as_text(value)}" for name, value in settings.changed(self.settings).items())
            raise InputError(
                f"{self.id} cannot be run with {told} ({type(error).__name__}: {error}): keep to lists as long as "
                f"those that `latebloom show {self.id}` prints, and to sizes that go together"
            ) from error

    def draw(self, evidence: Evidence) -> Figure:
        """The figure as data, its settings in the caption."""
        from latebloom.catalog.captions import caption

        return replace(self.parts["figure"](evidence), caption=caption(self.id, evidence.settings))

    def cost(self, *, full: bool = False) -> str:
        """How long it takes, in words."""
        seconds = self.full_seconds if full and self.full else self.seconds
        if seconds is None:
            return "cost at the paper's size not measured"
        return f"about {seconds:g} s" if seconds < 180 else f"about {seconds / 60:.0f} min"

    def settings_json(self) -> list[dict[str, Any]]:
        """Every setting with its kind, default, range and note, and its value at the paper's size."""
        full = self.settings.but(**self.full).values
        shown = []
        for one in describe(type(self.settings)):
            default = getattr(self.settings, one.name)
            told = {"name": one.name, "type": one.kind, "default": default, "allowed": one.allowed, "note": one.note}
            shown.append(told | ({"full": full[one.name]} if full[one.name] != default else {}))
        return shown


def claim_of(*entries: Entry) -> Callable[..., Callable[[F], F]]:
    """Declares one claim in several entries of a family: `@claim_of(fig8, fig23)(at_most(0.85), "…")`."""

    def told(*bound: Any, **options: Any) -> Callable[[F], F]:
        def declare(function: F) -> F:
            for entry in entries:
                entry.claim(*bound, **options)(function)
            return function

        return declare

    return told


def entries_of(*modules: Any) -> tuple[Entry, ...]:
    """The entries that modules declare, in their order."""
    return tuple(value for module in modules for value in vars(module).values() if isinstance(value, Entry))
