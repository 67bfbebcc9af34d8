"""Which run is meant by the beginning of an id."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from latebloom.errors import InputError, UnknownNameError
from latebloom.store.stored import State

Place = tuple[State, Path]


def lookup(prefix: str, known: Sequence[Place]) -> Place:
    """The one place whose id is `prefix` or begins with it."""
    exact = [place for place in known if place[1].name == prefix]
    matches = exact or [place for place in known if prefix and place[1].name.startswith(prefix)]
    if not matches:
        raise _unknown(prefix, [folder.name for _, folder in known])
    if len(matches) > 1:
        raise _ambiguous(prefix, [folder.name for _, folder in matches])
    return matches[0]


def _unknown(prefix: str, names: Sequence[str]) -> UnknownNameError:
    close = difflib.get_close_matches(prefix, names, n=1, cutoff=0.3)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return UnknownNameError(f"unknown run {prefix!r}: {hint}See all {len(names)} with `latebloom runs list`")


def _ambiguous(prefix: str, names: Sequence[str]) -> InputError:
    shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
    return InputError(f"run id {prefix!r} is ambiguous: {len(names)} runs begin with it; type more of one of {shown}")
