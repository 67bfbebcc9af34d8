"""`latebloom runs`: list, show, export, delete, recover, resume what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from latebloom.cli.common import Json, StoreOption, console, open_store, print_json

if TYPE_CHECKING:
    from latebloom.engine.milestones import Milestones

app = typer.Typer(
    help="List, show, export, delete, recover, resume what is stored.", no_args_is_help=True, rich_markup_mode=None
)
Id = Annotated[str, typer.Argument(metavar="ID", help="An id from `latebloom runs list`, or its first digits.")]


@app.command("list")
def list_runs(as_json: Json = False, store: StoreOption = None) -> None:
    """What is stored."""
    stored = open_store(store).runs()
    if as_json:
        print_json([_document(item) for item in stored])
        return
    from rich.table import Column, Table

    table = Table("id", "state", Column("what", overflow="fold"), "t1", "t2", "outcome", box=None, pad_edge=False)
    for item in stored:
        times = [_first_step(item.summary, name) for name in ("memorised", "generalised")]
        table.add_row(item.id, item.state, _title(item.configuration), *times, _sentence(item.summary))
    console().print(table)


@app.command()
def show(run: Id, as_json: Json = False, store: StoreOption = None) -> None:
    """One stored run: configuration, outcome, milestones, last record."""
    item = open_store(store).get(run)
    document = _document(item)
    if as_json:
        print_json(document)
        return
    out = console()
    out.print(f"{item.id}  {item.state}  {item.folder}", soft_wrap=True)
    if "milestones" in item.summary:
        out.print(f"{document['sentence']}; {_milestones(item.summary)}", soft_wrap=True)
    for part in ("configuration", "final"):
        out.print(f"\n{part}")
        for name, value in _flat(document[part] or {}):
            out.print(f"  {name:<26} {value}", soft_wrap=True)


@app.command()
def export(
    run: Id,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv, .parquet or .json file.")],
    as_json: Json = False,
    store: StoreOption = None,
) -> None:
    """Write one run to a .csv, .parquet or .json file."""
    written = open_store(store).export(run, path)
    _say("exported", str(written), as_json)


@app.command()
def delete(run: Id, as_json: Json = False, store: StoreOption = None) -> None:
    """Delete one run."""
    _say("deleted", open_store(store).delete(run), as_json)


@app.command()
def recover(run: Id, as_json: Json = False, store: StoreOption = None) -> None:
    """Keep what a killed run had recorded, as a partial run."""
    _say("recovered", open_store(store).recover(run).id, as_json)


@app.command()
def resume(run: Id, as_json: Json = False, store: StoreOption = None) -> int:
    """Go on with an interrupted or killed run to its end."""
    from latebloom.catalog.reproduction import run_json
    from latebloom.engine.storage import resume as go_on

    job, made = go_on(run, open_store(store))
    if as_json:
        print_json(run_json(job.problem.name(), made))
    else:
        print(f"{job.key}  {made.outcome}\n{made.milestones}")
    return 1 if made.outcome.failed else 0


def _say(what: str, value: str, as_json: bool) -> None:
    print_json({what: value}) if as_json else print(f"{what} {value}")


def _document(item) -> dict[str, Any]:
    """A stored run in the same words as `reproduce --json` has; what is not a run has nulls."""
    from latebloom.core.json import plain

    summary = item.summary
    document = {"id": item.id, "state": item.state, "configuration": plain(item.configuration)}
    if "milestones" not in summary:
        return document | dict.fromkeys(("milestones", "outcome", "sentence", "final"))
    rate = summary["provenance"]["learning_rate"]
    return document | {
        "milestones": plain(_milestones(summary).to_json(rate)),
        "outcome": summary["outcome"]["ending"],
        "sentence": summary["outcome"]["sentence"],
        "final": plain(summary["final"]),
    }


def _milestones(summary: dict[str, Any]) -> Milestones:
    from latebloom.engine.milestones import from_stored

    return from_stored(summary["milestones"])


def _flat(values: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The entries of a dictionary, those of dictionaries inside it by their path."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield above + name, value


def _title(configuration: dict[str, Any]) -> str:
    if "study" in configuration:
        return f"study: {configuration['study']} ({configuration.get('experiment', '')})"
    dynamics = configuration.get("dynamics", {})
    return " ".join(str(dynamics[part]) for part in ("problem", "method", "penalty") if dynamics.get(part))


def _first_step(summary: dict[str, Any], name: str) -> str:
    milestone = (summary.get("milestones") or {}).get(name) or {}
    if not milestone.get("first"):
        return ""
    when = milestone["first"]["step"]
    clock = milestone.get("clock", "step").replace("_", " ")
    return f"{when:,}" if clock == "step" else f"{clock} {when:.4g}"


def _sentence(summary: dict[str, Any]) -> str:
    outcome = summary.get("outcome")
    return str(outcome.get("sentence", "")) if isinstance(outcome, dict) else ""
