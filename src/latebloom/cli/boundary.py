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
    from latebloom.sweeps.boundaries.preview import preview
    from latebloom.sweeps.boundaries.running import boundary as find

    if dry_run:
        told = preview(file, open_store(store))
        print_json(told.to_json()) if as_json else print(told.sentence)
        return 0
    found = find(file, store=open_store(store), workers=workers)
    if out is not None:
        from latebloom.figures import save_as

        log(f"drawn: {save_as(found.figure(), out)}")
    if as_json:
        print_json(found.to_json())
    else:
        print(found.sentence)
        log("its runs: latebloom runs list")
    return 130 if found.interrupted else 0 if found.found else 1
