"""Refusals as tables: who is called, with what, and the words that the one sentence of the error must have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from latebloom.errors import LatebloomError, UnknownNameError


@dataclass(frozen=True)
class Refusal:
    """`make(bad)` raises `error` with these words, literally but for "…", which stands for anything.

    `bad` is a mapping of keywords, a tuple of arguments, or one argument.
    """

    error: type[LatebloomError]
    make: Callable[..., Any]
    bad: Any
    words: str

    def check(self) -> None:
        """Calls, and reads what is said: the words, on one line, without LaTeX, and with what to do instead."""
        named = self.bad if isinstance(self.bad, Mapping) else {}
        by_place = () if isinstance(self.bad, Mapping) else self.bad if isinstance(self.bad, tuple) else (self.bad,)
        with pytest.raises(self.error) as caught:
            self.make(*by_place, **named)
        said = str(caught.value)
        assert re.search(".*".join(map(re.escape, self.words.split("…"))), said), said
        assert not re.search(r"[\n\\$]", said), "one line, without LaTeX"
        assert re.search(": |; |, or |, not |must be", said), "what is wrong, and then what to do"
        assert isinstance(caught.value, UnknownNameError) == said.startswith("unknown "), (
            "names have an error of theirs"
        )

    def __str__(self) -> str:
        name = getattr(self.make, "__name__", type(self.make).__name__).strip("<>")
        return f"{name}-{self.words[:48]}"


def refusals(table: Mapping[type[LatebloomError], Sequence[tuple[Any, Any, str]]]) -> pytest.MarkDecorator:
    """Over every row (who is called, with what, words) of a table by the kind of error."""
    rows = [Refusal(error, *row) for error, chosen in table.items() for row in chosen]
    return pytest.mark.parametrize("refusal", rows, ids=str)
