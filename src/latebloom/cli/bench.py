"""`latebloom bench`: performance, as ratios measured side by side in one run."""

from __future__ import annotations

from typing import Annotated

import typer

from latebloom.cli.common import Json, StoreOption, console, log, print_json

Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME…]", help="Which benchmarks; all by default.")]


def bench(names: Names = None, as_json: Json = False, store: StoreOption = None) -> int:
    """Measure performance: ours against other ways of doing the same, in one run."""
    from latebloom import bench as benchmarks

    results = []
    for name, measure in benchmarks.select(names or []):
        log(f"measuring {name} …")
        results += measure()
    if as_json:
        print_json([result.to_json() for result in results])
        return 0
    from rich.table import Table

    table = Table("benchmark", "ours", "theirs", "ratio", "target", "", box=None, pad_edge=False)
    for result in results:
        table.add_row(*result.row())
    console().print(table)
    return 0
