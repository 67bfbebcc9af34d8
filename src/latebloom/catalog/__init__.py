"""The papers, figure by figure: a mapping of ids to entries, `lb.catalog["beyond-l2/fig3"]`."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from latebloom.catalog import beyond_l2, dichotomy, geometry, riemannian
from latebloom.catalog.base import Entry, Evidence, Settings, Study
from latebloom.catalog.claims import Claim, Measured
from latebloom.catalog.index import Catalog, place, unknown_entry
from latebloom.catalog.statements import Register
from latebloom.errors import unknown_name

# What the prefixes of the ids stand for.
PAPERS = {
    "beyond-l2": beyond_l2.PAPER,
    "riemannian": riemannian.PAPER,
    "geometry": geometry.PAPER,
    "dichotomy": dichotomy.PAPER,
}

_PAPERS = (beyond_l2, riemannian, geometry, dichotomy)
ENTRIES: dict[str, Entry] = {entry.id: entry for paper in _PAPERS for entry in sorted(paper.ENTRIES, key=place)}
REGISTERS: dict[str, Register] = {register.document: register for paper in _PAPERS for register in paper.REGISTERS}


def registers(name: str | None = None) -> list[Register]:
    """The registers of all documents, or the one with this name."""
    if name is not None and name not in REGISTERS:
        raise unknown_name("document", name, REGISTERS)
    return list(REGISTERS.values()) if name is None else [REGISTERS[name]]


def get(name: str) -> Entry:
    """The entry with this id; an unknown one suggests the closest."""
    if name not in ENTRIES:
        raise unknown_entry(name, ENTRIES)
    return ENTRIES[name]


def select(names: Iterable[str]) -> list[Entry]:
    """The entries with these ids; a paper's prefix (`beyond-l2`) stands for all of its entries, nothing for all."""
    names = list(names)
    if not names:
        return list(ENTRIES.values())
    chosen: dict[str, Entry] = {}
    for name in names:
        paper = [entry for entry in ENTRIES.values() if entry.paper == name.rstrip("/")]
        chosen |= {entry.id: entry for entry in paper or [get(name)]}
    return list(chosen.values())


__all__ = ["ENTRIES", "PAPERS", "Claim", "Entry", "Evidence", "Measured", "Settings", "Study", "get", "select"]

sys.modules[__name__].__class__ = Catalog  # a module cannot be asked for an item otherwise
