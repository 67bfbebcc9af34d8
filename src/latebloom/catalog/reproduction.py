"""From an experiment to its report: missing runs, the store, the claims, the figure."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from latebloom import catalog, figures
from latebloom.catalog import Claim, Evidence, Experiment, Request, Study
from latebloom.core.json import plain
from latebloom.engine.run import Run
from latebloom.engine.storage import Place, opened, require_complete, run_stored
from latebloom.figures.look import style
from latebloom.store import Store, run_key


@dataclass(frozen=True)
class Verdict:
    """A claim with what was measured: on one draw, or on several with the share in which it held."""

    claim: Claim
    measured: Any
    holds: bool
    held: int
    of: int

    @property
    def as_documented(self) -> bool:
        return self.holds == self.claim.documented

    def to_json(self) -> dict[str, Any]:
        shown = {
            "id": self.claim.id,
            "text": self.claim.text,
            "source": self.claim.source,
            "measured": plain(self.measured),
            "expected": self.claim.expected,
            "holds": self.holds,
            "documented": self.claim.documented,
        }
        return shown if self.of == 1 else shown | {"held": self.held, "of": self.of, "rate": self.held / self.of}


@dataclass(frozen=True)
class Report:
    """What `reproduce` found out about one experiment."""

    experiment: Experiment
    evidence: Sequence[Evidence]
    verdicts: Sequence[Verdict]
    figures: Sequence[Path]
    seconds: float
    computed: int
    served: int

    @property
    def as_documented(self) -> bool:
        return all(verdict.as_documented for verdict in self.verdicts)

    @property
    def gradients(self) -> int:
        return sum(run.provenance["gradients"] for evidence in self.evidence for run in evidence.runs.values())

    def to_json(self) -> dict[str, Any]:
        seeds = [evidence.request.seed for evidence in self.evidence]
        return {
            "experiment": self.experiment.id,
            "seed": seeds[0],
            "seeds": seeds,
            "set": dict(self.evidence[0].request.given),
            "seconds": self.seconds,
            "gradients": self.gradients,
            "computed": self.computed,
            "from_store": self.served,
            "runs": [
                run_json(name if len(seeds) == 1 else f"seed {evidence.request.seed}: {name}", run)
                for evidence in self.evidence
                for name, run in evidence.runs.items()
            ],
            "claims": [verdict.to_json() for verdict in self.verdicts],
            "figures": [str(path) for path in self.figures],
        }


def reproduce(
    experiment: Experiment | str,
    *,
    store: Place = None,
    seeds: Sequence[int] = (),
    full: bool = False,
    given: Mapping[str, str] | None = None,
    out: Path | None = None,
) -> Report:
    """Runs what the store does not have, checks every claim, and draws the figure into `out` if given.

    `experiment` is an entry or its id, e.g. "beyond-l2/fig3"; `store` a store or its folder, yours by default; `seeds`
    are the draws, the entry's own by default; `full` is the paper's size; `given` sets some of the entry's `choices`.
    """
    started = time.perf_counter()
    experiment = catalog.get(experiment) if isinstance(experiment, str) else experiment
    store = opened(store)
    experiment.check_choices(given or {})
    chosen = tuple(sorted((given or {}).items()))
    requests = [Request(seed, full, chosen) for seed in (seeds or (experiment.seed,))]
    jobs = [dict(experiment.jobs(request)) for request in requests]
    made, computed = run_stored([job for group in jobs for job in group.values()], store, label=experiment.id)
    require_complete(made)
    runs = iter(made)
    studies = [list(experiment.studies(request)) for request in requests]
    tables, studied = _tables([study for group in studies for study in group], store)
    evidence = [
        Evidence(
            request,
            group,
            {name: next(runs) for name in group},
            {study.name: next(tables) for study in wanted},
        )
        for request, group, wanted in zip(requests, jobs, studies, strict=True)
    ]
    verdicts = [judge(claim.of(requests[0]), evidence) for claim in experiment.claims]
    paths: list[Path] = []
    if out is not None:
        with style():
            paths = figures.save(experiment.draw(evidence[0]), out, _file_name(experiment, requests[0]))
    asked = sum(len(group) for group in jobs) + sum(len(group) for group in studies)
    seconds = time.perf_counter() - started
    return Report(experiment, evidence, verdicts, paths, seconds, computed + studied, asked - computed - studied)


def _file_name(experiment: Experiment, request: Request) -> str:
    """The entry's id; another draw, the full size or another setting has a name of its own."""
    marks = ([f"seed{request.seed}"] if request.seed != experiment.seed else []) + (["full"] if request.full else [])
    marks += [_mark(value) for _, value in request.given]
    return "-".join([experiment.id.replace("/", "-"), *marks])


def _mark(value: str) -> str:
    """A setting as a part of a file's name: of a path the file and its folder, and a digest of what is left out.

    >>> _mark("./faces.npz"), _mark("my faces/old.npz")
    ('faces.npz', 'my_faces_old.npz-93cf6e')
    """
    path = Path(value)
    readable = re.sub(r"[^A-Za-z0-9.-]+", "_", "/".join(path.parts[-2:]))[-32:]
    if readable == path.as_posix():
        return readable
    return f"{readable}-{hashlib.sha256(os.fsencode(path.as_posix())).hexdigest()[:6]}"


def judge(claim: Claim, evidence: Sequence[Evidence]) -> Verdict:
    """The claim's verdict: on one draw as it is, on several by the share in which it held.

    A claim documented to hold does so if it held in the documented share of draws; a claim documented
    to fail holds if it held in half of them.
    """
    measured = [claim.check(item) for item in evidence]
    held = sum(bool(item.holds) for item in measured)
    if len(measured) == 1:
        return Verdict(claim, measured[0].value, bool(measured[0].holds), held, 1)
    needed = claim.rate if claim.documented else 0.5
    values = [item.value for item in measured]
    return Verdict(claim, values, held >= needed * len(measured), held, len(measured))


def _tables(studies: Sequence[Study], store: Store):
    """The columns of every study, from the store where they are there; and how many were computed."""
    found: list[dict[str, np.ndarray]] = []
    computed = 0
    for study in studies:
        configuration = {"study": study.name, **study.configuration}
        stored = store.find(configuration)
        if stored is None:
            computed += 1
            columns = study.compute()
            with store.begin(configuration) as live:
                stored = live.finish(columns, {"complete": True}, {})
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
