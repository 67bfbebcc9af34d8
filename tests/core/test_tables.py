"""Tables follow the width of a terminal, and are not wrapped in a pipe."""

from __future__ import annotations

import io

from latebloom.core import tables

ROWS = [
    ("id", "claim"),
    ("beyond-l2/fig3", "Subgradient descent with a small l1 term memorises and finds the truth later."),
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_has_a_line_per_row():
    assert tables.width_of(io.StringIO()) is None
    assert len(tables.lay_out(ROWS).splitlines()) == 2


def test_a_terminal_has_the_width_that_columns_says(monkeypatch):
    for columns in (40, 60, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        screen = Terminal()
        monkeypatch.setattr("sys.stdout", screen)
        tables.print_rows(ROWS, indent=2)
        tables.print_text(ROWS[1][1], indent=2, hanging=4)
        lines = screen.getvalue().splitlines()
        assert max(len(line) for line in lines) <= columns
        assert " ".join(screen.getvalue().split()).count("memorises") == 2
        assert (len(lines) == 3) == (columns == 200)


def test_narrow_columns_keep_their_width():
    laid = tables.lay_out([("a", "b " * 40)], width=30).splitlines()
    assert laid[0].startswith("a  b b")
    assert all(len(line) <= 30 for line in laid)
    assert tables.lay_out([]) == ""
