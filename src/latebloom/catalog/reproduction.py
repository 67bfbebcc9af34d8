"""From an entry to its report: missing runs, the store, the claims, the figure."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom import catalog, figures
from latebloom.catalog.base import Entry, Evidence, Settings, Study, as_text
from latebloom.catalog.bounds import AbstractBound
from latebloom.catalog.claims import FULL, Claim, Measured
from latebloom.core.json import plain
from latebloom.core.programs import release_programs
from latebloom.core.tables import lay_out, short
from latebloom.engine.run import Run
from latebloom.engine.storage import Place, opened, require_complete, run_stored
from latebloom.errors import InputError, unknown_name
from latebloom.store import Store, run_key

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as MatplotlibFigure

    from latebloom.catalog.controls import Turned


@dataclass(frozen=True)
class Verdict:
    """A claim with what was measured: on one draw, or on several with the share in which it held.

    `holds` is None on draws that the claim does not speak of: they count neither way, in `held` and `of`, too.
    `documented` is None with settings that nobody has documented.
    """

    claim: Claim
    measured: Any
    holds: bool | None
    held: int
    of: int
    documented: bool | None
    draws: int = 1

    @property
    def id(self) -> str:
        """The claim's."""
        return self.claim.id

    @property
    def text(self) -> str:
        """The sentence of the claim."""
        return self.claim.text

    @property
    def bound(self) -> AbstractBound:
        """What the measured value must be, as data; `expected` says it in words."""
        return self.claim.bound

    @property
    def expected(self) -> str:
        """What the measured value must be, in words."""
        return self.claim.expected

    @property
    def verdict(self) -> str:
        """The word for what came out: see `word`."""
        return self.word

    @property
    def as_documented(self) -> bool:
        return self.documented is None or self.holds is None or self.holds == self.documented

    @property
    def word(self) -> str:
        """ "holds", "fails", "premise not met" or "not applicable"."""
        return self.claim.verdict(self.holds)

    def to_json(self) -> dict[str, Any]:
        shown = {
            "id": self.claim.id,
            "kind": self.claim.kind,
            "text": self.claim.text,
            "source": self.claim.source,
            "measured": plain(self.measured),
            "expected": self.claim.expected,
            "holds": self.holds,
            "verdict": self.word,
            "documented": self.documented,
        }
        rate = self.held / self.of if self.of else None
        return shown | {"held": self.held, "of": self.of, "rate": rate} if self.draws > 1 else shown


@dataclass(frozen=True)
class Report:
    """What `reproduce` found out about one entry: `runs`, `claims`, `figure()`, `frame()`."""

    entry: Entry
    evidence: Sequence[Evidence]
    verdicts: Sequence[Verdict]
    figures: Sequence[Path]
    seconds: float
    computed: int
    served: int

    @property
    def settings(self) -> Settings:
        """Those of the first draw."""
        return self.evidence[0].settings

    @property
    def runs(self) -> dict[str, Run]:
        """The runs by name; of several draws with the seed in front: `seed 3: l1`."""
        one = len(self.evidence) == 1
        return {
            name if one else f"seed {item.settings.seed}: {name}": run
            for item in self.evidence
            for name, run in item.runs.items()
        }

    @property
    def claims(self) -> Sequence[Verdict]:
        """Every claim with its `id`, `text`, `measured` value, `expected`, `bound`, `verdict`, `documented`."""
        return self.verdicts

    def figure(self) -> MatplotlibFigure:
        """The figure of the first draw, drawn by Matplotlib; `out=` of `reproduce` writes it to files."""
        return figures.draw(self.entry.draw(self.evidence[0]))

    def frame(self, run: str | None = None) -> pd.DataFrame:
        """A row per claim; with the name of a run, a row per record of it."""
        import pandas as pd

        if run is not None:
            if run not in self.runs:
                raise unknown_name(f"run of {self.entry.id}", run, self.runs)
            return self.runs[run].to_frame()
        columns = ("id", "measured", "expected", "verdict", "documented", "text")
        return pd.DataFrame([{name: getattr(one, name) for name in columns} for one in self.verdicts])

    def __repr__(self) -> str:
        told = " ".join(f"{name}={as_text(value)}" for name, value in _changes(self.entry, self.settings).items())
        seeds = ", ".join(str(item.settings.seed) for item in self.evidence)
        where = f"{told or 'documented settings'}, seed {seeds}"
        rows = [(one.id, short(one.measured), one.expected, one.verdict) for one in self.verdicts]
        table = lay_out([("claim", "measured", "expected", "verdict"), *rows], indent=2)
        made = "\n".join(f"  {name}: {run.milestones}; {run.outcome}" for name, run in self.runs.items())
        return f"{self.entry.id}: {self.entry.title} ({where})\n{table}\n{made}"

    @property
    def as_documented(self) -> bool:
        """Whether every verdict is as documented; with other settings, whether every run came to its end."""
        if self.entry.preset(self.settings) is None:
            return not any(run.outcome.failed for run in self.runs.values())
        return all(verdict.as_documented for verdict in self.verdicts)

    @property
    def gradients(self) -> int:
        return sum(run.provenance["gradients"] for run in self.runs.values())

    def to_json(self) -> dict[str, Any]:
        seeds = [evidence.settings.seed for evidence in self.evidence]
        return {
            "experiment": self.entry.id,
            "seed": seeds[0],
            "seeds": seeds,
            "set": plain(_changes(self.entry, self.settings)),
            "settings": plain(self.settings.values),
            "seconds": self.seconds,
            "gradients": self.gradients,
            "computed": self.computed,
            "from_store": self.served,
            "runs": [run_json(name, run) for name, run in self.runs.items()],
            "claims": [verdict.to_json() for verdict in self.verdicts],
            "figures": [str(path) for path in self.figures],
        }


def reproduce(
    entry: Entry | str,
    *,
    store: Place = None,
    seeds: Sequence[int] = (),
    full: bool = False,
    out: Path | str | None = None,
    renewed: set[str] | None = None,
    **changes: Any,
) -> Report:
    """Runs what the store does not have, checks every claim, and draws the figure into `out` if given.

    `entry` is one of the catalog or its id, e.g. "beyond-l2/fig3"; `store` a store or its folder, yours by default;
    `seeds` are the draws, the entry's own by default; `full` is the paper's size; with a set `renewed` everything is
    computed anew, but the runs it names, to which it adds; everything else is a setting of the entry, which
    `lb.catalog[id].settings` shows: `lb.reproduce("beyond-l2/fig3", learning_rate=0.05, seed=3)`.
    """
    started = time.perf_counter()
    if len(seeds) and "seed" in changes:
        raise InputError(f"seed={changes['seed']} and seeds={list(seeds)} exclude each other: give one of them")
    entry = catalog.get(entry) if isinstance(entry, str) else entry
    store = opened(store)
    settings = entry.configured(changes, full=full)
    draws = [settings.but(seed=seed) for seed in seeds] or [settings]
    evidence, computed = gather(entry, draws, store, renewed)
    preset = entry.preset(settings)
    verdicts = [judge(claim.of(preset), evidence, documented=preset is not None) for claim in entry.claims]
    paths = [] if out is None else _save(entry, evidence[0], Path(out))
    asked = sum(len(item.runs) + len(item.tables) for item in evidence)
    seconds = time.perf_counter() - started
    return Report(entry, evidence, verdicts, paths, seconds, computed, asked - computed)


def gather(
    entry: Entry, draws: Sequence[Settings], store: Store, renewed: set[str] | None = None
) -> tuple[list[Evidence], int]:
    """Runs and studies for every draw, from the store where they are there; and how many were computed."""
    jobs = [entry.jobs(draw) for draw in draws]
    wanted = [job for group in jobs for job in group.values()]
    made, computed = run_stored(wanted, store, label=entry.id, renewed=renewed)
    require_complete(made)
    runs = iter(made)
    studies = [
        [study if entry.preset(draw) else _apart(study, entry, draw) for study in entry.study_list(draw)]
        for draw in draws
    ]
    tables, studied = _tables([study for group in studies for study in group], store, renewed)
    evidence = [
        Evidence(draw, group, {name: next(runs) for name in group}, {study.name: next(tables) for study in asked})
        for draw, group, asked in zip(draws, jobs, studies, strict=True)
    ]
    return evidence, computed + studied


def turn(entry: Entry | str, *, store: Place = None) -> list[Turned]:
    """Every claim of an entry under its controls, at the everyday size: by which change of the mechanism it turns."""
    from latebloom.catalog.controls import Workshop, try_controls

    entry = catalog.get(entry) if isinstance(entry, str) else entry
    store = opened(store)

    def runs(jobs: Mapping[str, Any]) -> dict[str, Run]:
        made, _ = run_stored(list(jobs.values()), store, label=f"{entry.id}, broken")
        require_complete(made)
        return dict(zip(jobs, made, strict=True))

    def evidence(settings: Settings) -> Evidence:
        return gather(entry, [settings], store)[0][0]

    return try_controls(entry, evidence(entry.settings), Workshop(runs, evidence))


def _apart(study: Study, entry: Entry, settings: Settings) -> Study:
    """The study under the user's own settings, whichever of them its identity names."""
    changes = plain(_changes(entry, settings), lossless=True)
    return replace(study, configuration={**study.configuration, "set": changes})


def _changes(entry: Entry, settings: Settings) -> dict[str, Any]:
    """What was set of an entry, beside the draw."""
    return {name: value for name, value in settings.changed(entry.settings).items() if name != "seed"}


def _save(entry: Entry, evidence: Evidence, out: Path) -> list[Path]:
    """The figure's files, which say what they show: version, settings, runs."""
    from importlib.metadata import version

    name = file_name(entry, evidence.settings)
    ids = " ".join(run_key(run.configuration) for run in evidence.runs.values())
    told = {"title": f"{entry.id}: {entry.title}", "settings": evidence.settings.text, "runs": ids}
    return figures.save(entry.draw(evidence), out, name, told | {"software": f"latebloom {version('latebloom')}"})


def file_name(entry: Entry, settings: Settings) -> str:
    """The entry's id; another draw, the full size or another setting has a name of its own."""
    name, changes = entry.id.replace("/", "-"), settings.changed(entry.settings)
    marks = [f"seed{changes.pop('seed')}"] if "seed" in changes else []
    if entry.preset(settings) == FULL:
        return "-".join([name, *marks, "full"])
    return "-".join([name, *marks, *(f"{key}={_mark(as_text(value))}" for key, value in changes.items())])


def _mark(value: str) -> str:
    """A setting as a part of a file's name: of a path the file and its folder, and a digest of what is left out.

    >>> _mark("./faces.npz"), _mark("my faces/old.npz"), _mark("1e-06,3e-06")
    ('faces.npz', 'my_faces_old.npz-93cf6e', '1e-06,3e-06')
    """
    path = Path(value)
    readable = re.sub(r"[^A-Za-z0-9.,-]+", "_", "/".join(path.parts[-2:]))[-32:]
    if readable == path.as_posix():
        return readable
    return f"{readable}-{hashlib.sha256(os.fsencode(path.as_posix())).hexdigest()[:6]}"


def judge(claim: Claim, evidence: Sequence[Evidence], *, documented: bool = True) -> Verdict:
    """The claim's verdict: on one draw as it is, on several by the share in which it held.

    A claim documented to hold does so if it held in the documented share of the draws that it speaks of; a claim
    documented to fail holds if it held in half of them.
    """
    measured = [_check(claim, item, documented=documented) for item in evidence]
    asked = [item.holds for item in measured if item.holds is not None]
    held, said = sum(asked), claim.documented if documented else None
    if len(measured) == 1:
        return Verdict(claim, measured[0].value, measured[0].holds, held, len(asked), said)
    needed = claim.rate if claim.documented else 0.5
    holds = held >= needed * len(asked) if asked else None
    return Verdict(claim, [item.value for item in measured], holds, held, len(asked), said, len(measured))


def _check(claim: Claim, evidence: Evidence, *, documented: bool) -> Measured:
    """The claim's number. With settings of the user's own it may have none (a grid of one cell has no slope)."""
    if documented:
        return claim.check(evidence)
    try:
        return claim.check(evidence)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return Measured(f"not measurable with these settings ({type(error).__name__}: {error})", False)


def _tables(
    studies: Sequence[Study], store: Store, renewed: set[str] | None
) -> tuple[Iterator[Mapping[str, np.ndarray]], int]:
    """The columns of every study, from the store where they are there; and how many were computed."""
    found: list[dict[str, np.ndarray]] = []
    computed = 0
    for study in studies:
        configuration = {"study": study.name, **study.configuration}
        key, is_renewed = run_key(configuration), renewed is not None
        stored = store.find(configuration) if renewed is None or key in renewed else None
        if stored is None:
            computed += 1
            release_programs()
            columns = study.compute()
            with store.begin(configuration) as live:
                stored = live.finish(columns, {"complete": True}, {}, replace=is_renewed)
            if renewed is not None:
                renewed.add(key)
        found.append(dict(stored.columns))
    return iter(found), computed


def run_json(name: str, run: Run) -> dict[str, Any]:
    """A run as `reproduce --json` shows it."""
    return {
        "name": name,
        "id": run_key(run.configuration),
        "configuration": run.configuration,
        "outcome": run.outcome.ending.value,
        "sentence": run.outcome.sentence,
        "final": plain(run.final),
        "milestones": run.milestones.to_json(run.provenance["learning_rate"]),
    }
