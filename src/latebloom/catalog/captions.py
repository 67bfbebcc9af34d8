"""The line below every figure: which entry on which draw, and with what settings, by the letters of their notes.

>>> from latebloom.core.fields import count, number
>>> class Mine(Settings):
...     learning_rate: float = number(default=0.1, above=0, note="α")
...     strength: float = number(default=1e-5, least=0, note="β, of the l1 norm")
...     steps: int = count(default=400_000)
>>> caption("beyond-l2/mine", Mine(seed=3))
'beyond-l2/mine · draw 3 · α = 0.1, β = 1e-05, 400,000 steps'
"""

from __future__ import annotations

import re
from typing import Any

from latebloom.catalog.base import Settings
from latebloom.core.fields import describe

# A letter that a note begins with: "N", "β, of the l1 norm", "α at degree 2", "δ: with probability 1 - δ", "n1 = n2".
_LETTER = re.compile(r"(n1 = n2|d_h|\|ξ\||[A-Za-zα-ω][0-9]?)(?=$|[,;:] (?!w2)| of | at )")
MOST = 4  # values that are listed; of more the first and the last are told


def caption(entry: str, settings: Settings) -> str:
    """Entry, draw, and every setting whose note begins with its letter; of two with one letter the first."""
    told: dict[str, str] = {}
    for one in describe(type(settings)):
        value, letter = getattr(settings, one.name), _LETTER.match(one.note or "")
        if value is None or isinstance(value, str):
            continue
        if letter and letter[1] not in told:
            told[letter[1]] = _told(letter[1], value)
        elif one.name == "steps":
            most = isinstance(value, tuple)
            told["steps"] = f"up to {max(value):,} steps" if most else f"{value:,} steps"
    return " · ".join(filter(None, [entry, f"draw {settings.seed}", ", ".join(told.values())]))


def _told(letter: str, value: Any) -> str:
    """`N = 30`, `N ∈ {30, 50}`, `N = 30 … 90`."""
    if not isinstance(value, tuple):
        return f"{letter} = {_shown(value)}"
    if len(value) <= MOST:
        return f"{letter} ∈ {{{', '.join(map(_shown, value))}}}" if len(value) > 1 else _told(letter, *value)
    return f"{letter} = {_shown(value[0])} … {_shown(value[-1])}"


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
