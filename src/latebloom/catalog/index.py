"""The catalog as a mapping: `lb.catalog["beyond-l2/fig3"]`, in the papers' order, and which entry a name means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from latebloom.catalog.base import Entry
from latebloom.core.tables import lay_out
from latebloom.errors import UnknownNameError, unknown_name

# Figures, then theorems and propositions, then appendices, each by number; the rest as the paper's modules have it.
PARTS = ("fig", "thm", "prop", "app")


def place(entry: Entry) -> tuple[Any, ...]:
    """Where an entry stands among those of its paper.

    >>> from latebloom import catalog
    >>> [entry.figure_id for entry in catalog.select(["geometry"])][:6]
    ['fig1', 'fig2', 'fig3', 'fig4', 'thm4.9', 'thm4.13']
    """
    part, number = re.fullmatch(rf"({'|'.join(PARTS)})?-?(.*)", entry.figure_id).groups()  # type: ignore[union-attr]
    if part is None:
        return (len(PARTS),)
    pieces = [piece for piece in re.split(r"(\d+)|[.-]", number) if piece]
    return (PARTS.index(part), [(0, int(one), "") if one.isdigit() else (1, 0, one) for one in pieces])


def unknown_entry(name: str, entries: Mapping[str, Entry]) -> UnknownNameError:
    """The error for an id that is none: `fig3` alone asks which paper, anything else suggests the closest."""
    same = [known for known, entry in entries.items() if entry.figure_id == name]
    if not same:
        close = str(unknown_name("experiment", name, entries)).partition(" Known: ")[0]
        return UnknownNameError(f"{close.removesuffix(' Known:')} `latebloom list` has them all")
    which = " or ".join(same) if len(same) < 3 else f"{', '.join(same[:-1])} or {same[-1]}"
    asks = "of which paper? " if len(same) > 1 else ""
    return UnknownNameError(f"{name!r} needs its paper in front: {asks}write {which}")


class Catalog(ModuleType):
    """The module `latebloom.catalog`, which is also a mapping of ids to entries."""

    ENTRIES: dict[str, Entry]

    def __getitem__(self, name: str) -> Entry:
        if name not in self.ENTRIES:
            raise unknown_entry(name, self.ENTRIES)
        return self.ENTRIES[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.ENTRIES)

    def __len__(self) -> int:
        return len(self.ENTRIES)

    def __contains__(self, name: object) -> bool:
        return name in self.ENTRIES

    def keys(self) -> Any:
        """The ids."""
        return self.ENTRIES.keys()

    def values(self) -> Any:
        """The entries."""
        return self.ENTRIES.values()

    def items(self) -> Any:
        """Ids with their entries."""
        return self.ENTRIES.items()

    def __repr__(self) -> str:
        rows = [(entry.id, entry.summary, entry.cost()) for entry in self.ENTRIES.values()]
        return lay_out([("id", "claim", "cost"), *rows])
