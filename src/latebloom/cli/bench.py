"""`latebloom bench`: performance, as ratios measured side by side in one run."""

from __future__ import annotations

from typing import Annotated

import typer

from latebloom.cli import complete
from latebloom.cli.common import Json, StoreOption, log, print_json
from latebloom.core.tables import print_rows

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME…]", help="Which benchmarks; all by default.", autocompletion=complete.benchmarks),
]


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
    print_rows([("benchmark", "ours", "theirs", "ratio", "target", ""), *(result.row() for result in results)])
    return 0
