"""How times are taken: after a warm-up, in turns, the best of several."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Timed:
    """The shortest time in seconds and what was returned.

    `spread` is the median as a multiple of the shortest (1 on a quiet machine), `cores` how many processors the
    shortest repeat had on average: less than it could use means that other work was running.
    """

    seconds: float
    spread: float
    cores: float
    answer: Any


def take_turns(contenders: Mapping[str, Callable[[], Any]], *, repeats: int) -> dict[str, Timed]:
    """Runs every contender once unmeasured, which compiles it, then `repeats` times, one after the other.

    Taking turns, all of them meet a slow spell of the machine; the shortest time is what is left without it.

    >>> take_turns({"sum": lambda: sum(range(10))}, repeats=2)["sum"].answer
    45
    """
    answers = {name: run() for name, run in contenders.items()}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, run in contenders.items():
            started, processor = time.perf_counter(), time.process_time()
            answers[name] = run()
            times[name].append((time.perf_counter() - started, time.process_time() - processor))
    return {name: _summary(taken, answers[name]) for name, taken in times.items()}


def _summary(taken: list[tuple[float, float]], answer: Any) -> Timed:
    seconds, processor = min(taken)
    # A clock may stand still over a very short call.
    floor = max(seconds, 1e-9)
    return Timed(seconds, statistics.median(wall for wall, _ in taken) / floor, processor / floor, answer)


def describe(repeats: int, timed: Timed) -> str:
    """How a time was taken, and how quiet the machine was."""
    return f"best of {repeats} in turns (median {timed.spread:.2f} times that)"


def describe_difference(difference: float) -> str:
    """How far apart two answers are.

    >>> describe_difference(0.0), describe_difference(3e-16)
    ('are equal to the last bit', 'differ by 3e-16')
    """
    return f"differ by {difference:.0e}" if difference else "are equal to the last bit"
