"""`latebloom reproduce` and `latebloom verify`: figures and claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from latebloom.cli import complete
from latebloom.cli.common import (
    Fresh,
    Json,
    StoreOption,
    console,
    log,
    open_store,
    print_json,
    refuse_together,
    whole,
)
from latebloom.core.tables import print_rows, short
from latebloom.errors import InputError

if TYPE_CHECKING:
    from latebloom.catalog.controls import Turned
    from latebloom.catalog.reproduction import Report

Ids = Annotated[
    list[str],
    typer.Argument(
        metavar="ID…",
        help="Ids from `latebloom list`, or a paper: beyond-l2.",
        autocompletion=complete.entries_and_papers,
    ),
]
SomeIds = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ID…]", help="Ids or papers; everything by default.", autocompletion=complete.entries_and_papers
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", parser=whole, help="Another draw than the entry's own.")]
Seeds = Annotated[
    int | None, typer.Option("--seeds", parser=whole, help="Repeat over this many draws, from 0 on, and report rates.")
]
Full = Annotated[bool, typer.Option("--full", help="The paper's full size, where the everyday one is smaller.")]
Given = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a setting of the entry, e.g. learning_rate=0.05; `latebloom show ID` lists them.",
        autocompletion=complete.settings,
    ),
]
Controls = Annotated[
    bool, typer.Option("--controls", help="Break the mechanism instead, and see whether each claim turns.")
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where figures go.")]


def reproduce(
    experiments: Ids,
    seed: Seed = None,
    seeds: Seeds = None,
    full: Full = False,
    given: Given = None,
    out: Out = Path("out"),
    fresh: Fresh = False,
    as_json: Json = False,
    store: StoreOption = None,
) -> int:
    """Reproduce figures: run what is missing, check the claims, draw."""
    changes = _settings(given or [])
    refuse_together(seed=seed, seeds=seeds)
    if "seed" in changes:
        refuse_together(**{"set seed": changes["seed"], "seed": seed, "seeds": seeds})
    if seeds == 0:
        raise InputError("--seeds 0 asks for no draw at all: give at least 1")
    reports = _reports(experiments, store, seed=seed, seeds=seeds, full=full, given=changes, out=out, fresh=fresh)
    return _finish(reports, as_json)


def verify(
    experiments: SomeIds = None,
    full: Full = False,
    controls: Controls = False,
    fresh: Fresh = False,
    as_json: Json = False,
    store: StoreOption = None,
) -> int:
    """Check all claims, without figures, in one table."""
    if controls:
        if full:
            raise InputError("--controls and --full exclude each other: controls are run at the everyday size")
        if fresh:
            raise InputError("--controls and --fresh exclude each other: compute anew with verify --fresh first")
        return _controls(experiments or [], store, as_json)
    return _finish(_reports(experiments or [], store, full=full, fresh=fresh), as_json, table_only=True)


def _reports(
    names: list[str],
    store: Path | None,
    *,
    seed: int | None = None,
    seeds: int | None = None,
    full: bool = False,
    given: dict[str, str] | None = None,
    out: Path | None = None,
    fresh: bool = False,
) -> list[Report]:
    from latebloom import catalog

    chosen = catalog.select(names)
    if full and names and not any(entry.full for entry in chosen):
        raise InputError(f"--full changes nothing here: {', '.join(names)} runs at the paper's size as it is")
    for entry in chosen:
        entry.configured(given or {}, full=full)
    kept = open_store(store)
    from latebloom.catalog.reproduction import reproduce as reproduce_one

    reports = []
    renewed: set[str] | None = set() if fresh else None  # entries share runs: each is computed anew once
    for number, entry in enumerate(chosen, start=1):
        # One draw is the entry's own, which may have been chosen; several are a sample, and start at 0.
        draws = range(seeds) if seeds else () if seed is None else (seed,)
        log(f"[{number}/{len(chosen)}] {entry.id}: {entry.title} ({entry.cost(full=full)}; less from the store)")
        settings = given or {}
        reports.append(reproduce_one(entry, store=kept, seeds=draws, full=full, out=out, renewed=renewed, **settings))
    return reports


def _controls(names: list[str], store: Path | None, as_json: bool) -> int:
    """Which claims turn when the mechanism is broken; the exit code is 1 if one does not."""
    from latebloom import catalog

    chosen, kept, turned = catalog.select(names), open_store(store), []
    from latebloom.catalog.reproduction import turn

    for number, entry in enumerate(chosen, start=1):
        log(f"[{number}/{len(chosen)}] {entry.id}: {len(entry.claims)} claims under their controls")
        turned += turn(entry, store=kept)
    share = sum(one.by is not None for one in turned) / max(len(turned), 1)
    if as_json:
        print_json({"claims": len(turned), "share_turned": share, "list": [one.to_json() for one in turned]})
    else:
        _print_turned(turned, share)
    return 0 if share == 1 else 1


def _print_turned(turned: list[Turned], share: float) -> None:
    rows = [(one.entry.id, one.claim.id, str(one.by or "NOTHING"), short(one.measured)) for one in turned]
    print_rows([("experiment", "claim", "turned by", "measured then"), *rows])
    print(f"\n{share:.1%} of {len(turned)} claims turn when the mechanism is broken")


def _settings(texts: list[str]) -> dict[str, str]:
    """`name=value` texts as a dictionary."""
    settings: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise InputError(f"cannot read --set {text!r}: write --set name=value")
        if name in settings:
            raise InputError(f"--set gives {name} twice: give it once")
        settings[name] = value
    return settings


def _finish(reports: list[Report], as_json: bool, *, table_only: bool = False) -> int:
    if as_json:
        print_json([report.to_json() for report in reports])
    else:
        _print_claims(reports, sentences=not table_only)
        if not table_only:
            _print_files(reports)
    return 0 if all(report.as_documented for report in reports) else 1


def _print_claims(reports: list[Report], *, sentences: bool) -> None:
    from latebloom.cli.claims import claim_lines, columns

    for line in claim_lines(reports, columns(), sentences=sentences):
        print(line)


def _print_files(reports: list[Report]) -> None:
    out = console()
    for report in reports:
        kept = f"{report.computed} computed, {report.served} from the store, {report.seconds:.1f} s"
        out.print(f"\n{report.entry.id}: {kept}")
        for evidence in report.evidence:
            for name, run in evidence.runs.items():
                if len(report.evidence) * len(evidence.runs) <= 8:
                    out.print(f"  {name}: {run.milestones}; {run.outcome}", soft_wrap=True)
        for path in report.figures:
            out.print(f"  {path}", soft_wrap=True)
