"""`latebloom list` and `latebloom show`: what there is to reproduce."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from latebloom.cli.common import Json, StoreOption, console, print_json
from latebloom.core.json import plain
from latebloom.errors import InputError

if TYPE_CHECKING:
    from latebloom.catalog import Entry


def list_experiments(as_json: Json = False, store: StoreOption = None) -> None:
    """The catalog: id, claim, cost."""
    from latebloom.catalog import ENTRIES

    if as_json:
        print_json([_row(entry) for entry in ENTRIES.values()])
        return
    from rich.table import Table

    table = Table("id", "claim", "seconds", box=None, pad_edge=False)
    for entry in ENTRIES.values():
        table.add_row(entry.id, entry.summary, f"{entry.seconds:g}")
    console().print(table)


def show(
    experiment: Annotated[str, typer.Argument(metavar="ID", help="An id from `latebloom list`.")],
    as_json: Json = False,
    store: StoreOption = None,
) -> None:
    """Settings, claims with their bounds, and source of one entry."""
    from latebloom import catalog

    if experiment in catalog.PAPERS:
        raise InputError(f"{experiment!r} is a paper: see its entries with `latebloom list`, then show one of them")
    entry = catalog.get(experiment)
    if as_json:
        print_json(_details(entry))
        return
    from latebloom.catalog.base import as_text

    out = console()
    out.print(f"{entry.id}  {entry.title}", style="bold", soft_wrap=True)
    out.print(f"{entry.summary}\n{catalog.PAPERS[entry.paper]}: {entry.source}.", soft_wrap=True)
    larger = f"; with --full {entry.cost(full=True)}" if entry.full else ""
    out.print(f"Cost: {entry.cost()}{larger}.", soft_wrap=True)
    out.print(f"Seed {entry.settings.seed}: {entry.seed_reason}.", soft_wrap=True)
    out.print("\nSettings, each changed by --set NAME=VALUE:")
    for one in entry.settings_json():
        full = f" (with --full {as_text(one['full'])})" if "full" in one else ""
        out.print(f"  {one['name']:<20} {as_text(one['default'])}{full}  {one['note']}".rstrip(), soft_wrap=True)
    for note in entry.notes:
        out.print(f"\n{note}", soft_wrap=True)
    out.print("\nClaims:")
    for claim in entry.claims:
        verdict = "fails as printed" if claim.fails and claim.kind == "printed" else claim.verdict(claim.documented)
        share = "" if claim.rate == 1 else f", in at least {claim.rate:.0%} of draws"
        whose = "" if claim.kind == "printed" else f"{claim.kind}; "
        out.print(f"  {claim.id} ({whose}{verdict}{share}): {claim.text}", soft_wrap=True)
        out.print(f"      {claim.source}; expected: {claim.expected}", soft_wrap=True)
        if claim.full is not None:
            out.print(f"      with --full: {claim.of('full').expected}", soft_wrap=True)


def coverage(
    document: Annotated[str | None, typer.Argument(metavar="[PAPER]", help="One document; all by default.")] = None,
    as_json: Json = False,
    store: StoreOption = None,
) -> None:
    """Statements of the documents, and the claims that check them."""
    from latebloom import catalog
    from latebloom.catalog import statements

    chosen = catalog.registers(document)
    if as_json:
        print_json([register.to_json() for register in chosen])
        return
    from rich.table import Table

    out, states = console(), statements.STATES
    table = Table("document", "statements", *states, "checked of the checkable", box=None, pad_edge=False)
    for register in chosen:
        counts = [str(register.counts[state]) for state in states]
        table.add_row(register.document, str(len(register.statements)), *counts, f"{register.share:.0%}")
    out.print(table)
    for register in chosen if document else ():
        for one in register.statements:
            reason = f" ({one.reason})" if one.reason else ""
            out.print(f"\n{one.place}: {one.text}\n  {one.state}{reason}", soft_wrap=True)
            for claim in one.claims:
                out.print(f"    {'/'.join(register.named(claim))}", soft_wrap=True)


def _row(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "paper": entry.paper,
        "figure": entry.figure_id,
        "claim": entry.summary,
        "seconds": entry.seconds,
    }


def _details(entry: Entry) -> dict[str, Any]:
    more = {"title": entry.title, "source": entry.source, "settings": plain(entry.settings_json())}
    more |= {"full": plain(dict(entry.full)), "full_seconds": entry.full_seconds, "seed": entry.settings.seed}
    more |= {"seed_reason": entry.seed_reason, "notes": list(entry.notes)}
    return _row(entry) | more | {"claims": [claim.to_json() for claim in entry.claims]}
