"""`latebloom runs`: list, show, plot, export, delete, check, recover, resume what is stored."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from latebloom.cli.common import Json, StoreOption, console, log, open_store, print_json, refuse_together
from latebloom.cli.selection import Selection
from latebloom.cli.stored import flat, print_lines, told
from latebloom.cli.table import named_columns, ordered, print_table
from latebloom.errors import InputError

if TYPE_CHECKING:
    from latebloom.store import Store

app = typer.Typer(
    help="List, show, plot, export, delete, check, recover, resume what is stored.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
FILE_HELP = "A .csv, .parquet or .json file; - is standard output."
ID_HELP = "An id from `latebloom runs list`, or its first digits."
Id = Annotated[str, typer.Argument(metavar="ID", help=ID_HELP)]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help=ID_HELP)]
SomeIds = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help=ID_HELP)]
Where = Annotated[
    str | None,
    typer.Option("--where", metavar="SQL", help='A condition, "strength < 1e-4 and t2 is null" (extra: query).'),
]
DATE = "a date (2026-11-18) or an age (7d, 12h, 30m)"


@app.command("list")
def list_runs(
    limit: Annotated[int | None, typer.Option("--limit", min=0, help="At most so many, the first of the list.")] = None,
    problem: Annotated[str | None, typer.Option("--problem", help="What the problem's text contains.")] = None,
    outcome: Annotated[str | None, typer.Option("--outcome", help="E.g. finished, diverged, interrupted.")] = None,
    since: Annotated[str | None, typer.Option("--since", help=f"Made at or after {DATE}.")] = None,
    before: Annotated[str | None, typer.Option("--before", help=f"Made before {DATE}.")] = None,
    where: Where = None,
    sort: Annotated[str | None, typer.Option("--sort", metavar="COL[,-COL]", help="By columns; - is falling.")] = None,
    columns: Annotated[str | None, typer.Option("--columns", metavar="COL,COL", help="Of the table of runs.")] = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="The table of runs, all columns or those of --columns.")
    ] = False,
    as_json: Json = False,
    store: StoreOption = None,
) -> None:
    """What is stored, a line a run, newest first."""
    refuse_together(csv=as_csv or None, json=as_json or None)
    place = open_store(store)
    rows, total = Selection(problem, outcome, since, before, where=where).of(place)
    rows = ordered(rows, sort)
    if columns is not None or as_csv:
        count = print_table(rows.slice(0, limit), columns, as_csv=as_csv, as_json=as_json)
    else:
        runs = list(islice(place.read_rows(rows, told), limit))
        count = len(runs)
        print_json([run.to_json() for run in runs]) if as_json else print_lines(runs)
    if count < total and not as_json:
        log(f"{count} of {total} runs")


@app.command()
def show(
    run: Id,
    memorised_at: Annotated[float | None, typer.Option(help="t1 at this threshold, from the records.")] = None,
    generalised_at: Annotated[float | None, typer.Option(help="t2 at this threshold, from the records.")] = None,
    as_json: Json = False,
    store: StoreOption = None,
) -> None:
    """One stored run: configuration, outcome, milestones, last record."""
    item = told(open_store(store).get(run))
    asked = memorised_at is not None or generalised_at is not None
    milestones = None if item.summary is None else item.summary.milestones
    document = item.to_json()
    if asked:
        from latebloom.engine.storage import revive

        made = revive(item.stored)
        milestones = made.milestones_at(memorised=memorised_at, generalised=generalised_at)
        document["milestones"] = milestones.to_json(made.provenance["learning_rate"])
    if as_json:
        print_json(document)
        return
    out = console()
    out.print(f"{item.stored.id}  {item.stored.state}  {item.stored.folder}", soft_wrap=True)
    if milestones is not None:
        out.print(f"{document['sentence'] or item.outcome}; {milestones}", soft_wrap=True)
    for part in ("configuration", "final"):
        out.print(f"\n{part}")
        for name, value in flat(document[part] or {}):
            out.print(f"  {name:<26} {value}", soft_wrap=True)


@app.command()
def plot(
    runs: Ids,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="A .png, .pdf or .svg (default: ID.png).")] = None,
    as_json: Json = False,
    store: StoreOption = None,
) -> None:
    """Draw one run, or several in one figure."""
    from latebloom.engine.storage import load
    from latebloom.figures import comparison, overview, save_as

    place = open_store(store)
    made = {item.id[:8]: load(item.id, place) for item in map(place.get, runs)}
    figure = overview(*made.values()) if len(made) == 1 else comparison(made)
    _say("drawn", str(save_as(figure, out or Path(f"{'-'.join(made)}.png"))), as_json)


@app.command()
def export(
    run: Annotated[str, typer.Argument(metavar="ID", help=f"{ID_HELP} Left out with --where.")],
    path: Annotated[Path | None, typer.Argument(metavar="FILE", help=FILE_HELP)] = None,
    where: Where = None,
    columns: Annotated[str | None, typer.Option("--columns", metavar="COL,COL", help="With --where: these.")] = None,
    kind: Annotated[str | None, typer.Option("--format", help="csv (default), parquet or json.")] = None,
    as_json: Json = False,
    store: StoreOption = None,
) -> None:
    """Write the records of one run to a file, or with --where the table of runs, a row each; - is standard output."""
    place, target = open_store(store), _target(run, path, where, columns)
    if str(target) == "-" and as_json:
        raise InputError("--json and - both want standard output: give a file, or leave --json out (--format json?)")
    from latebloom.store import export

    what: Any
    if where is None:
        what, write, dump = place.get(run), export.export_run, export.export_bytes
    else:
        what, write, dump = place.frame(where, named_columns(columns)), export.export_frame, export.frame_bytes
    if str(target) == "-":
        sys.stdout.buffer.write(dump(what, kind or "csv"))
        sys.stdout.flush()
    else:
        _say("exported", str(write(what, target.expanduser(), kind)), as_json)


def _target(run: str, path: Path | None, where: str | None, columns: str | None) -> Path:
    """Where an export goes: the second word, or the only one with a condition in place of an id."""
    if where is None and columns is not None:
        raise InputError("--columns are those of the table of runs: give --where, too, e.g. --where true")
    if where is not None and path is not None:
        raise InputError(f"runs export takes an id or --where, not both: leave {run} out, or --where")
    if where is None and path is None:
        raise InputError(f"runs export needs a file: write runs export {run} run.csv, or - for standard output")
    return path or Path(run)


@app.command()
def delete(
    runs: SomeIds = None,
    partial: Annotated[bool, typer.Option("--partial", help="Those that were interrupted or killed.")] = False,
    older_than: Annotated[str | None, typer.Option(help=f"Those made before {DATE}.")] = None,
    where: Where = None,
    damaged: Annotated[bool, typer.Option("--damaged", help="What was moved aside because it is damaged.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
    store: StoreOption = None,
) -> None:
    """Delete runs: by id, the unfinished ones, the old ones, those of a condition, the damaged ones."""
    place = open_store(store)
    some = partial or older_than is not None or where is not None
    asked = {"ids": runs, "--partial, --older-than or --where": some, "--damaged": damaged}
    if sum(map(bool, asked.values())) != 1:
        raise InputError(f"runs delete needs one selection: give {', or '.join(asked)}; see `latebloom runs list`")
    if runs:
        chosen = [place.id_of(run) for run in runs]
    else:
        chosen = (
            place.damaged() if damaged else _not_live(place, Selection(None, None, None, older_than, partial, where))
        )
    ask = len(chosen) > 1 and not yes and sys.stdin.isatty()
    if ask and not typer.confirm(f"delete {len(chosen)} runs for good?", err=True):
        chosen = []
    gone = place.delete_damaged(chosen) if damaged else place.delete_all(chosen, gone_is_fine=not runs)
    if as_json:
        print_json({"deleted": gone})
    else:
        print("\n".join(f"deleted {name}" for name in gone) or "nothing deleted")


@app.command()
def check(as_json: Json = False, store: StoreOption = None) -> int:
    """Compare every file with its checksum; exit code 1 if a run is damaged. Nothing is changed."""
    examination = open_store(store).examine(told)
    if as_json:
        print_json(examination.to_json())
        return 1 if examination.bad else 0
    for finding in examination.findings:
        if finding.why:
            print(f"{finding.id}  {finding.condition}: {finding.why}")
    counts = ", ".join(f"{count} {condition}" for condition, count in sorted(examination.counts.items()))
    print(f"{len(examination.findings)} runs" + (f": {counts}" if counts else ""))
    return 1 if examination.bad else 0


@app.command()
def recover(run: Id, as_json: Json = False, store: StoreOption = None) -> None:
    """Keep what a killed run had recorded, as a partial run."""
    _say("recovered", open_store(store).recover(run).id, as_json)


@app.command()
def resume(run: Id, as_json: Json = False, store: StoreOption = None) -> int:
    """Go on with an interrupted or killed run to its end."""
    import latebloom as lb
    from latebloom.catalog.reproduction import run_json
    from latebloom.engine.storage import resume as go_on

    _ = lb.TrainJob, lb.FlowJob, lb.SlowFlowJob  # a kind of job is known once its module is loaded
    job, made = go_on(run, open_store(store))
    if as_json:
        print_json(run_json(job.problem.name(), made))
    else:
        print(f"{job.key}  {made.outcome}\n{made.milestones}")
    return 1 if made.outcome.failed else 0


def _not_live(place: Store, selection: Selection) -> list[str]:
    rows, _ = selection.of(place)
    states = zip(rows["id"].to_pylist(), rows["state"].to_pylist(), strict=True)
    return [name for name, state in states if state != "live"][::-1]


def _say(what: str, value: str, as_json: bool) -> None:
    print_json({what: value}) if as_json else print(f"{what} {value}")
