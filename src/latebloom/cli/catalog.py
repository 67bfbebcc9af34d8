"""`latebloom list` and `latebloom show`: what there is to reproduce."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from latebloom.cli.common import Json, StoreOption, console, print_json
from latebloom.errors import InputError


def list_experiments(as_json: Json = False, store: StoreOption = None) -> None:
    """The catalog: id, claim, cost."""
    from latebloom.catalog import EXPERIMENTS

    if as_json:
        print_json([_row(entry) for entry in EXPERIMENTS.values()])
        return
    from rich.table import Table

    table = Table("id", "claim", "seconds", box=None, pad_edge=False)
    for entry in EXPERIMENTS.values():
        table.add_row(entry.id, entry.claim, f"{entry.seconds:g}")
    console().print(table)


def show(
    experiment: Annotated[str, typer.Argument(metavar="ID", help="An id from `latebloom list`.")],
    as_json: Json = False,
    store: StoreOption = None,
) -> None:
    """Settings, claims and source of one entry."""
    from latebloom import catalog

    if experiment in catalog.PAPERS:
        raise InputError(f"{experiment!r} is a paper: see its entries with `latebloom list`, then show one of them")
    entry = catalog.get(experiment)
    if as_json:
        print_json(_details(entry))
        return
    out = console()
    out.print(f"{entry.id}  {entry.title}", style="bold", soft_wrap=True)
    out.print(f"{entry.claim}\n{catalog.PAPERS[entry.paper]}: {entry.source}.", soft_wrap=True)
    larger = "" if entry.full_seconds is None else f"; with --full {entry.cost(full=True)}"
    out.print(f"Cost: {entry.cost()}{larger}.", soft_wrap=True)
    out.print(f"Seed {entry.seed}: {entry.seed_reason}.\n", soft_wrap=True)
    for name, value in entry.settings.items():
        out.print(f"  {name:<24} {value}")
    for name, meaning in entry.choices.items():
        out.print(f"  --set {name}=…{'':<{max(17 - len(name), 0)}}{meaning}", soft_wrap=True)
    for note in entry.notes:
        out.print(f"\n{note}", soft_wrap=True)
    out.print("\nClaims:")
    for claim in entry.claims:
        verdict = "holds" if claim.documented else "fails as printed"
        verdict += {None: "", True: ", holds with --full", False: ", fails with --full"}[claim.in_full]
        share = "" if claim.rate == 1 else f", in at least {claim.rate:.0%} of draws"
        out.print(f"  {claim.id} ({verdict}{share}): {claim.text}", soft_wrap=True)
        out.print(f"      {claim.source}; expected: {claim.expected}", soft_wrap=True)


def _row(entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "paper": entry.paper,
        "figure": entry.figure,
        "claim": entry.claim,
        "seconds": entry.seconds,
    }


def _details(entry) -> dict[str, Any]:
    claims = [
        {k: getattr(claim, k) for k in ("id", "text", "source", "expected", "documented", "in_full", "rate")}
        for claim in entry.claims
    ]
    more = {"title": entry.title, "source": entry.source, "settings": dict(entry.settings), "seed": entry.seed}
    more |= {"choices": dict(entry.choices), "full_seconds": entry.full_seconds}
    return _row(entry) | more | {"seed_reason": entry.seed_reason, "notes": list(entry.notes), "claims": claims}
