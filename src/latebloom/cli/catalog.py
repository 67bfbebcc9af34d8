"""`latebloom list` and `latebloom show`: what there is to reproduce."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from latebloom.cli import complete
from latebloom.cli.common import Json, StoreOption, print_json
from latebloom.core.json import plain
from latebloom.core.tables import print_rows, print_text
from latebloom.errors import InputError, unknown_name

if TYPE_CHECKING:
    from latebloom.catalog import Entry


Papers = Annotated[
    list[str] | None,
    typer.Argument(metavar="[PAPER…]", help="Papers, e.g. geometry; all by default.", autocompletion=complete.papers),
]


def list_experiments(papers: Papers = None, as_json: Json = False, store: StoreOption = None) -> None:
    """The catalog: id, claim, cost, paper by paper."""
    from latebloom.catalog import PAPERS, REGISTERS, select

    for paper in papers or []:
        if paper.rstrip("/") not in {**PAPERS, **REGISTERS}:
            raise unknown_name("paper", paper, {**PAPERS, **REGISTERS})
    entries = select([name for paper in papers or [] for name in _names(paper.rstrip("/"))])
    if as_json:
        print_json([_row(entry) for entry in entries])
        return
    for number, paper in enumerate(dict.fromkeys(entry.paper for entry in entries)):
        print_text("\n" * bool(number) + PAPERS[paper])
        own = [entry for entry in entries if entry.paper == paper]
        print_rows([("id", "claim", "cost"), *((entry.id, entry.summary, entry.cost()) for entry in own)], indent=2)


def _names(paper: str) -> list[str]:
    """A paper; of a document that has no entries of its own (the blog post) those that check its statements."""
    from latebloom.catalog import ENTRIES, PAPERS, registers

    if paper in PAPERS:
        return [paper]
    (register,) = registers(paper)
    checked = {register.named(claim)[0] for statement in register.statements for claim in statement.claims}
    return [name for name in ENTRIES if name in checked]


def show(
    experiment: Annotated[
        str, typer.Argument(metavar="ID", help="An id from `latebloom list`.", autocompletion=complete.entries)
    ],
    as_json: Json = False,
    store: StoreOption = None,
) -> None:
    """Settings, claims with their bounds, and source of one entry."""
    from latebloom import catalog

    if experiment in catalog.PAPERS:
        raise InputError(f"{experiment!r} is a paper: `latebloom list {experiment}` has its entries, show one of them")
    entry = catalog.get(experiment)
    if as_json:
        print_json(_details(entry))
        return
    from latebloom.catalog.base import as_text

    print_text(f"{entry.id}  {entry.title}\n{entry.summary}\n{catalog.PAPERS[entry.paper]}: {entry.source}.")
    larger = f"; with --full {entry.cost(full=True)}" if entry.full else ""
    print_text(f"Cost: {entry.cost()}{larger}.\nSeed {entry.settings.seed}: {entry.seed_reason}.")
    print_text("\nSettings, each changed by --set NAME=VALUE:")
    for one in entry.settings_json():
        full = f" (with --full {as_text(one['full'])})" if "full" in one else ""
        allowed = f"  [{one['allowed']}]" if one["allowed"] else ""
        print_text(f"  {one['name']:<20} {as_text(one['default'])}{full}  {one['note']}{allowed}".rstrip(), hanging=24)
    for note in entry.notes:
        print_text(f"\n{note}")
    print_text("\nClaims:")
    for claim in entry.claims:
        verdict = "fails as printed" if claim.fails and claim.kind == "printed" else claim.verdict(claim.documented)
        share = "" if claim.rate == 1 else f", in at least {claim.rate:.0%} of draws"
        whose = "" if claim.kind == "printed" else f"{claim.kind}; "
        print_text(f"{claim.id} ({whose}{verdict}{share}): {claim.text}", indent=2, hanging=4)
        print_text(f"{claim.source}; expected: {claim.expected}", indent=6)
        if claim.full is not None:
            print_text(f"with --full: {claim.of('full').expected}", indent=6)


def coverage(
    document: Annotated[
        str | None,
        typer.Argument(metavar="[PAPER]", help="One document; all by default.", autocompletion=complete.documents),
    ] = None,
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
    states = statements.STATES
    rows = [
        (one.document, str(len(one.statements)), *(str(one.counts[state]) for state in states), f"{one.share:.0%}")
        for one in chosen
    ]
    print_rows([("document", "statements", *states, "checked of the checkable"), *rows])
    for register in chosen if document else ():
        for one in register.statements:
            reason = f" ({one.reason})" if one.reason else ""
            print_text(f"\n{one.place}: {one.text}\n  {one.state}{reason}")
            for claim in one.claims:
                print_text("/".join(register.named(claim)), indent=4)


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
