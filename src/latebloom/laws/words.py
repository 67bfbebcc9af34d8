"""What a fit says, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from latebloom.laws.rivalry import CRITERION, SURE, TOLD_APART, Rival
from latebloom.laws.shapes import Offset, Power

POWER, OFFSET = Power.name, Offset.name

if TYPE_CHECKING:
    from latebloom.laws.law import Fit
    from latebloom.laws.observations import Counts


def law(fit: Fit) -> str:
    """`t2 = 0.21 (learning_rate*strength)^-1.002 (95 %: -1.006 to -0.998).`"""
    factors = [f"({name})" if _is_formula(name) else name for name in fit.exponents]
    told = [_digits(value, *fit.intervals[name]) for name, value in fit.exponents.items()]
    powers = " · ".join(f"{factor}^{number}" for factor, (number, _) in zip(factors, told, strict=True))
    ranges = "; ".join(
        between if len(told) == 1 else f"{name} {between}"
        for name, (_, between) in zip(fit.exponents, told, strict=True)
    )
    return f"{fit.quantity} = {fit.prefactor:.4g} · {powers} ({100 * fit.confidence:g} %: {ranges})."


def runs(quantity: str, counts: Counts) -> str:
    """`From 180 runs of 5 seeds, 12 of them censored: they ended before their t2. Left out: 3 diverged.`"""
    seeds = f" of {counts.seeds} seed{'s' if counts.seeds > 1 else ''}" if counts.seeds else ""
    censored = f", {counts.censored} of them censored: they ended before their {quantity}" if counts.censored else ""
    out = ", ".join(f"{number} {reason}" for reason, number in counts.left_out.items())
    return f"From {counts.used} runs{seeds}{censored}.{f' Left out: {out}.' if out else ''}"


def verdict(rivals: Sequence[Rival]) -> str:
    """How the power law stands against the likeliest of its rivals, and whether it needs an offset.

    A power law is one with offset zero: by the criterion an offset can be at most e times less likely, so that it is
    only said whether it is needed.
    """
    offset = next((rival for rival in rivals if rival.name == OFFSET), None)
    others = [rival for rival in rivals if rival.name not in (OFFSET, POWER)]
    parts = [_against(others)] if others else []
    if offset is not None:
        gain = 1 / offset.evidence
        parts += (
            [f"with an offset of {offset.values['c']:.3g} it is {_times(gain)} as likely"] if gain > TOLD_APART else []
        )
        parts += ["an offset is not needed"] if gain <= TOLD_APART else []
    return f"{'; '.join(parts)} ({CRITERION})." if parts else ""


def _against(others: Sequence[Rival]) -> str:
    first = others[0]
    if first.evidence >= TOLD_APART:
        return f"A power law is {_times(first.evidence)} as likely as {_a(first)}, its closest rival"
    if first.evidence <= 1 / TOLD_APART:
        return f"{_a(first).capitalize()} is {_times(1 / first.evidence)} as likely as a power law"
    close = [rival for rival in others if 1 / TOLD_APART < rival.evidence < TOLD_APART]
    return f"A power law and {' or '.join(map(_a, close))} are not told apart by these runs"


def _a(rival: Rival) -> str:
    return f"{'an' if rival.name[0] in 'aeiou' else 'a'} {rival.name}"


def _times(evidence: float) -> str:
    return f"more than {SURE:,.0f} times" if evidence > SURE else f"{float(f'{evidence:.2g}'):,.0f} times"


def _is_formula(name: str) -> bool:
    return not name.replace(".", "").replace("_", "").isalnum()


def _digits(value: float, low: float, high: float) -> tuple[str, str]:
    """A number and its interval, with two digits of its uncertainty, from two after the point to eight."""
    half = (high - low) / 2
    if not math.isfinite(half):
        return f"{value:.3g}", "not told: the law rests on one seed alone"
    places = min(max(1 - math.floor(math.log10(half)), 2), 8) if half > 0 else 8
    return f"{value:.{places}f}", f"{low:.{places}f} to {high:.{places}f}"
