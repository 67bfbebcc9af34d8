"""`latebloom sweep`: a grid of runs from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from latebloom.cli.common import Fresh, Json, StoreOption, log, open_store, print_json, refuse_together

if TYPE_CHECKING:
    from latebloom.store import Store
    from latebloom.sweeps.places.base import AbstractPlace
    from latebloom.sweeps.result import SweepResult
    from latebloom.sweeps.survey import Survey

File = Annotated[Path, typer.Argument(metavar="FILE", help="A TOML file, e.g. examples/rates.toml.")]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="Compute in so many processes (default: here, on all cores).")
]
Cluster = Annotated[str | None, typer.Option("--cluster", metavar="ADDRESS", help="Compute on this Dask cluster.")]
SlurmJobs = Annotated[bool, typer.Option("--slurm", help="Compute in jobs that are given to SLURM.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be computed, and how long it would take.")]
Far = Annotated[bool, typer.Option("--status", help="Say how far it is, in the store.")]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse impossible cells instead of skipping them.")]


def sweep(
    file: File,
    workers: Workers = None,
    cluster: Cluster = None,
    slurm: SlurmJobs = False,
    dry_run: DryRun = False,
    status: Far = False,
    strict: Strict = False,
    fresh: Fresh = False,
    as_json: Json = False,
    store: StoreOption = None,
) -> int:
    """Run a grid of simulations from a file; what is in the store is not computed again.

    It may be stopped and started again at any time, and be started several times at once: every run is made once.
    """
    refuse_together(workers=workers, cluster=cluster, slurm=slurm or None)
    refuse_together(dry_run=dry_run or None, status=status or None)
    from latebloom.sweeps.definition import Sweep
    from latebloom.sweeps.survey import survey

    wanted, place = Sweep.from_file(file), open_store(store)
    seen = survey(wanted)
    if text := seen.tell(strict=strict):
        log(f"latebloom: {text}")
    if status:
        return _tell_status(seen, place, as_json)
    where = _place(workers, cluster, slurm)
    if dry_run:
        return _tell_plan(seen, place, where, fresh, as_json)
    return _run(seen, place, where, fresh, as_json)


def _place(workers: int | None, cluster: str | None, slurm: bool) -> AbstractPlace:
    from latebloom.sweeps import places

    if workers is not None:
        return places.Processes(workers)
    if cluster is not None:
        return places.DaskCluster(cluster)
    return places.Slurm() if slurm else places.Here()


def _run(seen: Survey, store: Store, where: AbstractPlace, fresh: bool, as_json: bool) -> int:
    from latebloom.engine.storage import InterruptedWork
    from latebloom.sweeps.running import run_cells_of

    result = run_cells_of(seen, store, where, fresh=fresh)
    if result.interrupted:
        raise InterruptedWork(result.interruption)
    frame = result.frame()
    outcomes = frame["outcome"].value_counts().to_dict()
    if as_json:
        print_json(_document(result, frame, outcomes))
    else:
        print(f"{result.name}: {len(result):,} cells, {result.computed:,} computed, {result.found:,} from the store")
        print("\n".join(f"{count:>9,} {word}" for word, count in outcomes.items()))
        for number, why in list(result.failed.items())[:5]:
            log(f"failed: {seen.sweep.cell(number).name}: {why}")
        log(f"see them with: latebloom runs list --store {store.path}")
    return 1 if result.failed else 0


def _document(result: SweepResult, frame: Any, outcomes: dict[str, int]) -> dict[str, Any]:
    from latebloom.core.json import plain

    shown = [*frame.columns[: len(result.axes)], "id", "outcome"]
    shown += [name for name in ("t1", "t2", "t2_low", "t2_high", "end") if name in frame]
    rows = frame[shown].astype(object).where(frame[shown].notna(), None).to_dict("records")
    return {
        "sweep": result.name,
        "store": str(result.store.path),
        "cells": len(result),
        "computed": result.computed,
        "from_store": result.found,
        "outcomes": outcomes,
        "impossible": {str(number): why for number, why in result.impossible.items()},
        "failed": {str(number): why for number, why in result.failed.items()},
        "runs": plain(rows),
    }


def _tell_status(seen: Survey, store: Store, as_json: bool) -> int:
    from dataclasses import asdict

    from latebloom.sweeps.written import status_of, stored_sweep

    if seen.sweep.name not in store.sweeps() or store.sweep(seen.sweep.name).get("ids") != seen.keys:
        print_json({"sweep": seen.sweep.name, "begun": False}) if as_json else print(f"{seen.sweep.name}: not begun")
        return 0
    told = status_of(stored_sweep(seen.sweep.name, store))
    if as_json:
        print_json({"sweep": seen.sweep.name, "begun": True, "store": str(store.path)} | asdict(told))
    else:
        print(f"{seen.sweep.name}: {told}")
    return 0


def _tell_plan(seen: Survey, store: Store, where: AbstractPlace, fresh: bool, as_json: bool) -> int:
    from latebloom.sweeps.plan import costs

    there = set() if fresh else store.finished_ids()
    left = [number for number in seen.possible if seen.keys[number] not in there]
    at_a_time = where.workers * where.threads
    work = costs(seen, left).seconds(left) if left else 0.0
    programs = sum(not set(left).isdisjoint(cells) for cells in seen.groups.values())
    document = {
        "sweep": seen.sweep.name,
        "store": str(store.path),
        "cells": len(seen.keys),
        "impossible": len(seen.impossible),
        "in_store": len(seen.possible) - len(left),
        "to_compute": len(left),
        "programs": programs,
        "core_seconds": round(work, 3),
        "workers": at_a_time,
        "seconds": round(work / at_a_time, 3),
    }
    if as_json:
        print_json(document)
    else:
        print(f"{seen.sweep.name}: {len(seen.keys):,} cells, {len(left):,} to compute, "
              f"{document['in_store']:,} in the store, {len(seen.impossible):,} impossible")  # fmt: skip
        print(f"{programs:,} programs to compile; at most {_duration(work / at_a_time)} on {at_a_time} cores")
    return 0


def _duration(seconds: float) -> str:
    """Seconds as one says them.

    >>> _duration(4.2), _duration(100), _duration(3e4)
    ('4 s', '1.7 min', '8.3 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
