"""Values written as text, as on the command line: `1e-5`, `true`, `(6 5)`, `('a' 'b c')`."""

from __future__ import annotations

import ast
from typing import Any


def split(text: str, separators: str) -> list[str]:
    """The parts between separators, but for those inside brackets or quotes.

    >>> split("l1[1,2],('a,b' 3)", ","), split("1 (2 3)", " ")
    (['l1[1,2]', "('a,b' 3)"], ['1', '(2 3)'])
    """
    parts, depth, quote, escaped, before = [""], 0, "", False, " "
    for sign in text:
        if quote:
            quote = "" if sign == quote and not escaped else quote
            escaped = sign == "\\" and not escaped
        elif sign in "'\"" and before in " ,=([":  # a quote opens a value, an apostrophe is inside one
            quote = sign
        depth += 0 if quote else (sign in "[(") - (sign in "])")
        if sign in separators and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += sign
        before = sign
    return [part.strip() for part in parts if part.strip()]


def items(text: str) -> list[str] | None:
    """What stands in the parentheses of a tuple; None for anything else.

    >>> items("(6 5)"), items("(6, 5)"), items("6")
    (['6', '5'], ['6', '5'], None)
    """
    text = text.strip()
    return split(text[1:-1], " ,") if text.startswith("(") and text.endswith(")") else None


def read_value(text: str) -> Any:
    """A number, a switch, None, a tuple of those, or the text itself.

    >>> read_value("1e-5"), read_value("true"), read_value("((1 2) (3 inf))"), read_value("gaussian")
    (1e-05, True, ((1, 2), (3, inf)), 'gaussian')
    """
    inside = items(text)
    if inside is not None:
        return tuple(read_value(item) for item in inside)
    lowered = text.lower()
    if lowered in {"true", "false"}:
        return lowered == "true"
    for read in (ast.literal_eval, float):  # float reads inf and nan, which Python does not write as literals
        try:
            return read(text)
        except (ValueError, SyntaxError):
            continue
    return text
