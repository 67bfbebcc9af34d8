"""The papers, figure by figure."""

from __future__ import annotations

from collections.abc import Iterable

from latebloom.catalog import beyond_l2, dichotomy, geometry, riemannian
from latebloom.catalog.base import Claim, Evidence, Experiment, Measured, Request, Study
from latebloom.errors import unknown_name

# What the prefixes of the ids stand for.
PAPERS = {
    "beyond-l2": beyond_l2.PAPER,
    "riemannian": riemannian.PAPER,
    "geometry": geometry.PAPER,
    "dichotomy": dichotomy.PAPER,
}

EXPERIMENTS: dict[str, Experiment] = {
    entry.id: entry
    for entry in (
        *beyond_l2.EXPERIMENTS,
        *riemannian.EXPERIMENTS,
        *geometry.EXPERIMENTS,
        *dichotomy.EXPERIMENTS,
    )
}


def get(name: str) -> Experiment:
    """The experiment with this id; an unknown one suggests the closest."""
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]


def select(names: Iterable[str]) -> list[Experiment]:
    """The experiments with these ids; a paper's prefix (`beyond-l2`) stands for all of its entries, nothing for all."""
    names = list(names)
    if not names:
        return list(EXPERIMENTS.values())
    chosen: dict[str, Experiment] = {}
    for name in names:
        paper = [entry for entry in EXPERIMENTS.values() if entry.paper == name.rstrip("/")]
        chosen |= {entry.id: entry for entry in paper or [get(name)]}
    return list(chosen.values())


__all__ = ["EXPERIMENTS", "PAPERS", "Claim", "Evidence", "Experiment", "Measured", "Request", "Study", "get", "select"]
