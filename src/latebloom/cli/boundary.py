"""`latebloom boundary`: where the runs of a sweep go over from one outcome to the other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from latebloom.cli.common import Json, StoreOption, log, open_store, print_json

SweepFile = Annotated[Path, typer.Argument(metavar="FILE", help="A sweep in TOML with a table [boundary].")]
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="Threads (default: one per core).")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be run, and run nothing.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Draw it into this file, e.g. b.png.")]


def boundary(
    file: SweepFile,
    workers: Workers = None,
    dry_run: DryRun = False,
    out: Out = None,
    as_json: Json = False,
    store: StoreOption = None,
) -> int:
    """Find where half of the runs cross along an axis, with few of a sweep's runs.

    Every run is kept as it is made: after Ctrl-C or a kill the same command goes on.
    """
    from latebloom.engine.scheduler import cores
    from latebloom.engine.storage import InterruptedWork
    from latebloom.sweeps.boundaries.plan import plan_of
    from latebloom.sweeps.boundaries.preview import preview
    from latebloom.sweeps.boundaries.running import Rounds

    if dry_run:
        told = preview(file, open_store(store))
        print_json(told.to_json()) if as_json else print(told.sentence)
        return 0
    found = Rounds(plan_of(file), open_store(store), None, workers or cores(), None).run()
    if found.interrupted:
        raise InterruptedWork(found.interruption)
    if out is not None:
        from latebloom.figures import save_as

        log(f"drawn: {save_as(found.figure(), out)}")
    print_json(found.to_json()) if as_json else print(found.sentence)
    return 0 if found.found else 1
