"""Tables as text: as wide as they may be, with long cells wrapped. Nothing here knows what is in them.

>>> print(lay_out([("id", "what it is"), ("l1", "the l1 norm"), ("l2_norm", "the Euclidean norm")], width=18))
id       what it
         is
l1       the l1
         norm
l2_norm  the
         Euclidean
         norm
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

GAP = 2
LEAST = 8  # a column is not made narrower than this


def width_of(stream: object) -> int | None:
    """How wide a stream is: COLUMNS or the terminal's width, and None, no limit, for what is no terminal."""
    return shutil.get_terminal_size().columns if getattr(stream, "isatty", lambda: False)() else None


def lay_out(rows: Iterable[Sequence[str]], *, width: int | None = None, indent: int = 0) -> str:
    """Rows as lines with columns one below the other; without a width no cell is wrapped."""
    cells = [[str(cell) for cell in row] for row in rows]
    if not cells:
        return ""
    natural = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    widths = natural if width is None else _fitted(natural, width - indent - GAP * (len(natural) - 1))
    return "\n".join(_line(row, widths, " " * indent) for row in cells)


def print_rows(rows: Iterable[Sequence[str]], *, indent: int = 0) -> None:
    """Rows on standard output, at its width."""
    print(lay_out(rows, width=width_of(sys.stdout), indent=indent))


def print_text(text: str, *, indent: int = 0, hanging: int = 0) -> None:
    """A text on standard output, wrapped at its width if that is a terminal's; further lines are indented by more."""
    width, first, later = width_of(sys.stdout), " " * indent, " " * (indent + hanging)
    for line in text.split("\n"):
        wrapped = [line] if width is None else textwrap.wrap(line, max(width - indent - hanging, LEAST)) or [""]
        print(first + wrapped[0], *(later + more for more in wrapped[1:]), sep="\n")


def _fitted(natural: Sequence[int], room: int) -> list[int]:
    """The widths of columns that share the room: narrow ones keep theirs, wide ones get equal shares of the rest."""
    widths = list(natural)
    wide = [column for column, one in enumerate(widths) if one > LEAST]
    while sum(widths) > room and wide:
        share = (room - sum(one for column, one in enumerate(widths) if column not in wide)) // len(wide)
        narrow = [column for column in wide if natural[column] <= share]
        if not narrow:
            for column in wide:
                widths[column] = max(share, LEAST)
            break
        wide = [column for column in wide if column not in narrow]
    return widths


def _line(row: Sequence[str], widths: Sequence[int], margin: str) -> str:
    wrapped = [_wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
    lines = []
    for number in range(max(len(cell) for cell in wrapped)):
        parts = [(cell[number] if number < len(cell) else "").ljust(w) for cell, w in zip(wrapped, widths, strict=True)]
        lines.append((margin + (" " * GAP).join(parts)).rstrip())
    return "\n".join(lines)


def _wrap(cell: str, width: int) -> list[str]:
    return [cell] if len(cell) <= width else textwrap.wrap(cell, width)


def short(value: Any) -> str:
    """A measured value for a table: four digits, lists abbreviated to their range.

    >>> short(1234), short([0.123456, 2.0, 3.0, 4.0, 5.0]), short({"l1": None})
    ('1,234', '0.1235 … 5', 'l1 none')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        none = sum(v is None for v in value)
        return _short_list([v for v in value if v is not None]) + (
            f", {none} none" if none < len(value) and none else ""
        )
    if isinstance(value, dict):
        return ", ".join(f"{key} {short(item)}" for key, item in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)


def _short_list(values: list[Any]) -> str:
    if not values:
        return "none"
    if all(value == values[0] for value in values):
        return short(values[0])
    if len(values) <= 4 or not all(isinstance(v, int | float) for v in values):
        return ", ".join(short(v) for v in values[:4]) + ("…" if len(values) > 4 else "")
    return f"{short(min(values))} … {short(max(values))}"
