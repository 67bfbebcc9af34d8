"""`latebloom fit`: a law through stored runs, with an interval and its rivals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from latebloom.cli.common import Json, StoreOption, log, open_store, print_json
from latebloom.core.tables import print_rows, print_text, short
from latebloom.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from latebloom.laws import Fit
    from latebloom.store import Store

Quantity = Annotated[str, typer.Argument(metavar="QUANTITY", help="What the law is of: t2, t1 or another column.")]
Against = Annotated[
    str,
    typer.Option(
        "--against",
        metavar="FORMULA",
        help="What it is held against: 'learning_rate*strength', or with commas an exponent each.",
    ),
]
Where = Annotated[
    str | None, typer.Option("--where", metavar="SQL", help="Which runs: \"strength < 1e-4 and kind = 'train'\".")
]
Sweep = Annotated[str | None, typer.Option("--sweep", metavar="NAME", help="Which runs: those of this sweep.")]
Problems = Annotated[
    list[str] | None, typer.Option("--problem", help="Which runs: what the problem's name contains; repeat for more.")
]
Seeds = Annotated[
    str, typer.Option("--seeds", metavar="COLUMN", help="Runs of one value share a draw; 'none': all are independent.")
]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Draw runs, law and residuals into DIR, too.")]


def fit(
    quantity: Quantity = "t2",
    against: Against = "learning_rate*strength",
    where: Where = None,
    sweep: Sweep = None,
    problem: Problems = None,
    seeds: Seeds = "seed",
    confidence: Annotated[float, typer.Option("--confidence", help="Of the intervals.")] = 0.95,
    out: Out = None,
    as_json: Json = False,
    store: StoreOption = None,
) -> None:
    """Fit a law to stored runs: exponents with intervals, runs without a t2 counted as censored, rivals compared."""
    from latebloom import laws

    frame = _of_problems(_chosen(open_store(store), sweep, where), problem)
    found = laws.fit(frame, quantity, against, seeds=None if seeds == "none" else seeds, confidence=confidence)
    drawn = [] if out is None else _draw(found, out)
    if as_json:
        print_json(found.to_json() | {"figures": [str(path) for path in drawn]})
        return
    print_text(found.sentence)
    print()
    print_rows([("law", "parameters", found.to_json()["criterion"], "the power law is as likely"), *_rivals(found)])
    for path in drawn:
        log(str(path))


def _chosen(store: Store, sweep: str | None, where: str | None) -> pd.DataFrame:
    """The runs that meet a condition, all or those of a sweep: a cell without a run is a row, and is counted."""
    if sweep is None:
        return store.frame(where=where)
    from latebloom.laws.conditions import rows_where
    from latebloom.sweeps.written import stored_sweep

    cells = stored_sweep(sweep, store).frame()
    met = None if where is None else list(store.frame(where=where)["id"])
    return cells if met is None else rows_where(cells, cells["id"].isin(met))


def _of_problems(frame: pd.DataFrame, names: list[str] | None) -> pd.DataFrame:
    """The runs whose problem's name contains one of these."""
    from latebloom.laws.conditions import rows_where

    if not names:
        return frame
    known = sorted(set(frame["problem"].dropna()))
    chosen = [one for one in known if any(name.casefold() in one for name in names)]
    if not chosen:
        raise InputError(f"no stored run is of {' or '.join(names)}: there are {', '.join(known) or 'none at all'}")
    return rows_where(frame, frame["problem"].isin(chosen))


def _rivals(found: Fit) -> list[tuple[str, str, str, str]]:
    return [
        (
            f"{rival.name}: {rival.formula}",
            ", ".join(f"{name} {short(value)}" for name, value in rival.values.items()),
            f"{rival.aic:.1f}",
            "" if rival.name == found.shape.name else f"{rival.evidence:.2g} times",
        )
        for rival in found.rivals
    ]


def _draw(found: Fit, folder: Path) -> list[Path]:
    from latebloom.figures import save

    name = "-".join(
        ["fit", found.quantity, *("".join(c if c.isalnum() else "_" for c in one) for one in found.exponents)]
    )
    return save(found.figure(), folder, name, {"title": f"A law of {found.quantity}", "settings": found.sentence})
