"""`latebloom runs`: list, show, plot, export, delete, check, recover, resume what is stored."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from latebloom.cli.common import Json, StoreOption, console, log, open_store, print_json
from latebloom.cli.selection import Selection
from latebloom.cli.stored import flat, newest_first, print_lines, told
from latebloom.errors import InputError

if TYPE_CHECKING:
    from latebloom.store import Store

app = typer.Typer(
    help="List, show, plot, export, delete, check, recover, resume what is stored.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
ID_HELP = "An id from `latebloom runs list`, or its first digits."
Id = Annotated[str, typer.Argument(metavar="ID", help=ID_HELP)]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help=ID_HELP)]
SomeIds = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help=ID_HELP)]
DATE = "a date (2026-11-18) or an age (7d, 12h, 30m)"


@app.command("list")
def list_runs(
    limit: Annotated[int | None, typer.Option("--limit", min=0, help="At most so many, the newest.")] = None,
    problem: Annotated[str | None, typer.Option("--problem", help="What the problem's text contains.")] = None,
    outcome: Annotated[str | None, typer.Option("--outcome", help="E.g. finished, diverged, interrupted.")] = None,
    since: Annotated[str | None, typer.Option("--since", help=f"Made at or after {DATE}.")] = None,
    before: Annotated[str | None, typer.Option("--before", help=f"Made before {DATE}.")] = None,
    as_json: Json = False,
    store: StoreOption = None,
) -> None:
    """What is stored, a line a run, newest first."""
    everything = newest_first(open_store(store))
    chosen = Selection(problem, outcome, since, before).of(everything)[:limit]
    if as_json:
        print_json([run.to_json() for run in chosen])
        return
    print_lines(chosen)
    if len(chosen) < len(everything):
        log(f"{len(chosen)} of {len(everything)} runs")


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
    run: Id,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv, .parquet or .json file; - is standard output.")],
    kind: Annotated[str | None, typer.Option("--format", help="csv (default), parquet or json.")] = None,
    as_json: Json = False,
    store: StoreOption = None,
) -> None:
    """Write one run to a file, or with - to standard output."""
    if str(path) != "-":
        _say("exported", str(open_store(store).export(run, path, kind)), as_json)
        return
    if as_json:
        raise InputError("--json and - both want standard output: give a file, or leave --json out (--format json?)")
    from latebloom.store import export_bytes

    sys.stdout.buffer.write(export_bytes(open_store(store).get(run), kind or "csv"))
    sys.stdout.flush()


@app.command()
def delete(
    runs: SomeIds = None,
    partial: Annotated[bool, typer.Option("--partial", help="Those that were interrupted or killed.")] = False,
    older_than: Annotated[str | None, typer.Option(help=f"Those made before {DATE}.")] = None,
    damaged: Annotated[bool, typer.Option("--damaged", help="What was moved aside because it is damaged.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
    store: StoreOption = None,
) -> None:
    """Delete runs: by id, the unfinished ones, the old ones, the damaged ones."""
    place = open_store(store)
    asked = {"ids": runs, "--partial or --older-than": partial or older_than is not None, "--damaged": damaged}
    if sum(map(bool, asked.values())) != 1:
        raise InputError(f"runs delete needs one selection: give {', or '.join(asked)}; see `latebloom runs list`")
    if runs:
        chosen = [place.id_of(run) for run in runs]
    else:
        chosen = place.damaged() if damaged else _old_or_unfinished(place, partial, older_than)
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


def _old_or_unfinished(place: Store, partial: bool, older_than: str | None) -> list[str]:
    chosen = Selection(before=older_than, unfinished=partial).of(newest_first(place))
    return [run.stored.id for run in chosen if run.stored.state != "live"]


def _say(what: str, value: str, as_json: bool) -> None:
    print_json({what: value}) if as_json else print(f"{what} {value}")
