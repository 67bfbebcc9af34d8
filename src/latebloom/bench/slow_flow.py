"""The slow flow to a slow time, whatever λ, against the flow with weight decay λ to the same slow time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import latebloom as lb
from latebloom.bench import l1_path
from latebloom.bench.base import BenchResult
from latebloom.bench.flow import task
from latebloom.bench.timing import Timed, describe, take_turns

NAME = "slow-flow"
UNTIL, RTOL = 100.0, 1e-4  # slow time, tolerance of both
STRENGTHS = (1e-3, 1e-4, 1e-5, 1e-6)
EXTRAPOLATED = (1e-7, 1e-8)
CAP = 10_000_000  # gradients of the flow
ACCURACY = 1e-3  # between the curves of the test error, which is about 1, over slow time [0.1, 100]
TARGETS = {1e-3: ("at most", 2.0), 1e-6: ("at least", 30.0)}


@dataclass(frozen=True)
class Cost:
    """What the flow with one weight decay took to slow time `reached`, and how far its test error is from ours."""

    strength: float
    seconds: float
    gradients: int
    distance: float
    reached: float


def distance(slow: lb.Run, flow: lb.Run) -> float:
    """The largest difference of the test errors from slow time 0.1 on, as far as the flow goes."""
    kept = (slow["slow_time"] >= 0.1) & (slow["slow_time"] <= flow["slow_time"][-1])
    if not kept.any():
        return float("inf")
    other = np.interp(np.log(slow["slow_time"][kept]), np.log(flow["slow_time"][1:]), flow["test_error"][1:])
    return float(np.abs(slow["test_error"][kept] - other).max())


def measure(
    *,
    seed: int = 0,
    slow_time: float = UNTIL,
    strengths: tuple[float, ...] = STRENGTHS,
    cap: int = CAP,
    repeats: int = 3,
    large: bool = True,
) -> list[BenchResult]:
    """Ours and the flow at the same tolerance, matrix completion 20x20 with factors of width 10; then the l1 path."""
    problem = task(seed).problem

    def flow(strength: float) -> lb.Run:
        return lb.flow(
            problem, weight_decay=strength, time=slow_time / strength, rtol=RTOL, max_gradients=cap, progress=False
        )

    slow = lambda: lb.slow_flow(problem, slow_time=slow_time, rtol=RTOL, progress=False)  # noqa: E731
    first = strengths[0]
    timed = take_turns({"slow": slow, "flow": lambda: flow(first)}, repeats=repeats)
    ours = timed["slow"]
    costs = [_cost(first, timed["flow"], ours.answer)]
    for strength in strengths[1:]:  # the program is compiled, and these take long enough to be timed once
        run = flow(strength)
        costs.append(_cost(strength, Timed(run.provenance["seconds"], 1.0, 1.0, run), ours.answer))
    made = ours.answer.provenance
    how = f"ours {describe(repeats, ours)}, {made['steps']} steps, {made['gradients']:,} gradients"
    return [
        *(_row(ours.seconds, cost, how, slow_time) for cost in costs),
        *(_beyond(ours.seconds, costs[-1], strength) for strength in EXTRAPOLATED),
        *l1_path.measure(repeats=3 * repeats, large=large),
    ]


def _cost(strength: float, timed: Timed, slow: lb.Run) -> Cost:
    return Cost(
        strength,
        timed.seconds,
        timed.answer.provenance["gradients"],
        distance(slow, timed.answer),
        float(timed.answer["slow_time"][-1]),
    )


def _row(ours: float, cost: Cost, how: str, slow_time: float) -> BenchResult:
    what = f"to slow time 100, against the flow with λ = {cost.strength:g}"
    note = f"theirs {cost.gradients:,} gradients; {how}; test errors within {cost.distance:.0e}"
    if cost.reached < slow_time:
        note = f"theirs stopped at slow time {cost.reached:.3g}, a lower bound; {note}"
    agree = cost.distance <= ACCURACY
    kind, bound = TARGETS.get(cost.strength, ("none", 0.0))
    if kind == "at most":
        return BenchResult.at_most(NAME, what, ours=ours, theirs=cost.seconds, most=bound, agree=agree, note=note)
    if kind == "at least":
        return BenchResult.at_least(NAME, what, ours=ours, theirs=cost.seconds, least=bound, agree=agree, note=note)
    return BenchResult(NAME, what, ours, cost.seconds, cost.seconds / ours, "none", None, note)


def _beyond(ours: float, last: Cost, strength: float) -> BenchResult:
    """The flow at a smaller λ, whose gradients grow at least as 1/√λ."""
    theirs = last.seconds * (last.strength / strength) ** 0.5
    note = f"theirs extrapolated from λ = {last.strength:g} as 1/√λ, a lower bound"
    what = f"to slow time 100, against the flow with λ = {strength:g}"
    return BenchResult(NAME, what, ours, theirs, theirs / ours, "none", None, note)
