"""The claims about networks hold on curves drawn as they say, and fail where one thing is not so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from latebloom.catalog import EXPERIMENTS, Evidence, Request
from latebloom.catalog.beyond_l2 import blog_fig1, fig1, fig2, fig30, teacher_runs
from latebloom.catalog.beyond_l2.networks import L1, L2, NUCLEAR, name_of
from latebloom.engine.milestones import Milestones, Watch, find
from latebloom.engine.outcome import Ending, Outcome
from latebloom.engine.run import Run

STEPS = np.unique(np.geomspace(1, 30_000, 2_000).astype(int))
SIZES = {"everyday": Request(0), "full": Request(0, full=True)}


def drawn(train: np.ndarray, test: np.ndarray, thresholds: tuple[float, float], **columns: np.ndarray) -> Run:
    """A run with these errors; t1 and t2 are where they pass their thresholds."""
    watches = Watch("memorised", "train_error", thresholds[0]), Watch("generalised", "test_error", thresholds[1])
    found = [find(watch, STEPS, errors) for watch, errors in zip(watches, (train, test), strict=True)]
    sentence = "" if found[0].first else "the penalty outweighs the loss"
    columns |= {"step": STEPS, "train_error": train, "test_error": test}
    return Run({}, columns, None, Outcome(Ending.FINISHED, 30_000, sentence), Milestones(*found, None), {})


def drop(at: float, high: float, low: float) -> np.ndarray:
    return np.where(at > STEPS, high, low)


def classifier(first: float, second: float, **columns: np.ndarray) -> Run:
    """A classifier with every training pair right from `first` on and every test pair from `second` on."""
    train, test = drop(first, 1.0, 0.0), drop(second, 0.5, 0.0)
    norms = {f"{kind}_norm_of_weights": drop(second, 2.0, 0.5) for kind in (L1, L2, NUCLEAR)}
    return drawn(train, test, (0.01, 0.01), train_accuracy=1 - train, test_accuracy=1 - test, **norms | columns)


def verdicts(entry: str, runs: Mapping[str, Run], request: Request) -> dict[str, bool]:
    evidence = Evidence(request, {}, runs, {})
    return {claim.id: claim.check(evidence).holds for claim in EXPERIMENTS[entry].claims}


def as_documented(entry: str) -> dict[str, bool]:
    return {claim.id: claim.documented for claim in EXPERIMENTS[entry].claims}


NEVER = classifier(np.inf, np.inf)


def fig1_runs(size: str) -> dict[str, Run]:
    """t1 at 50, t2 halved from each strength to the next; under l1 the l2 norm falls before t2 and rises after."""
    runs = {
        name_of(kind, fig1.RATE, b): classifier(50, 8_000 / 2**place)
        for kind in fig1.KINDS
        for place, b in enumerate(fig1.STRENGTHS[size][kind])
    }
    for strength in fig1.shown(SIZES[size]):
        name = name_of(L1, fig1.RATE, strength)
        second = runs[name].t2 if name in runs else 2_000
        assert second is not None
        runs[name] = classifier(50, second, l2_norm_of_weights=drop(second, 2.0, 0.5) * drop(2 * second, 1.0, 1.5))
    return runs | {name_of(*fig1.COLLAPSED): NEVER}


def strongest(size: str, kind: str) -> str:
    return name_of(kind, fig1.RATE, fig1.STRENGTHS[size][kind][-1])


@pytest.mark.parametrize("size", SIZES)
def test_fig1_on_curves_as_it_says(size):
    assert verdicts("beyond-l2/fig1", fig1_runs(size), SIZES[size]) == as_documented("beyond-l2/fig1")


@pytest.mark.parametrize(
    ("change", "red"),
    [
        (lambda size: {strongest(size, NUCLEAR): NEVER}, {"memorises-first", "all-grok", "smaller-is-later"}),
        (lambda size: {strongest(size, L2): classifier(50, 9_000)}, {"smaller-is-later"}),
        (lambda size: {strongest(size, L1): classifier(50, 2_000)}, {"l2-norm-increases"}),
        (lambda size: {name_of(*fig1.COLLAPSED): classifier(50, 500)}, {"collapse"}),
        (
            lambda size: {name_of(L2, fig1.RATE, fig1.STRENGTHS[size][L2][1]): classifier(500, 4_000)},
            {"memorises-first", "late"},
        ),
    ],
    ids=["never-memorises", "later", "norm-only-falls", "no-collapse", "slow-to-memorise"],
)
@pytest.mark.parametrize("size", SIZES)
def test_what_turns_the_claims_of_fig1_red(size: str, change: Callable[[str], dict[str, Run]], red: set[str]):
    found = verdicts("beyond-l2/fig1", fig1_runs(size) | change(size), SIZES[size])
    assert {name for name, holds in found.items() if not holds} == red


def grid_runs(kinds: Mapping[str, Any], power: float) -> dict[str, Run]:
    """t2 - t1 as a power of αβ."""
    return {
        name_of(kind, rate, b): classifier(50, 50 + 4_000 * (rate * b / 1e-7) ** power)
        for kind, strengths in kinds.items()
        for rate in fig2.RATES
        for b in strengths
    }


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("entry", [fig2, fig30])
def test_the_power_of_the_delay(entry: Any, size: str):
    name, strengths = entry.EXPERIMENT.id, entry.STRENGTHS[size]
    assert verdicts(name, grid_runs(strengths, -0.4), SIZES[size]) == as_documented(name)
    assert not any(verdicts(name, grid_runs(strengths, 0.0), SIZES[size]).values())
    steep = verdicts(name, grid_runs(strengths, -0.9), SIZES[size])
    assert steep["proportional-as-printed"]
    assert not steep["grows-slower"]


def test_a_network_that_does_as_well_without_a_penalty_is_noticed():
    claims = [claim for claim in blog_fig1.CLAIMS if claim.id.startswith("penalty-")]
    assert len(claims) == 2
    runs = {blog_fig1.MAIN: classifier(50, 8_000), blog_fig1.WITHOUT: NEVER}
    assert all(claim.check(Evidence(Request(0), {}, runs, {})).holds for claim in claims)
    runs[blog_fig1.WITHOUT] = runs[blog_fig1.MAIN]
    assert not any(claim.check(Evidence(Request(0), {}, runs, {})).holds for claim in claims)


STUDENTS = ("fig10", "fig11", "fig31", "fig32", "fig33", "fig34")
KIND = dict(zip(STUDENTS, (L1, teacher_runs.SOBOLEV, L1, L2, NUCLEAR, teacher_runs.SOBOLEV), strict=True))
POWER = -0.6  # of the delay in α and in β


def student(first: float, second: float, low: float) -> Run:
    """A student whose test error falls from 500 variances to `low`."""
    test = drop(second, 500.0, low)
    return drawn(drop(first, 500.0, 0.0), test, (teacher_runs.FITTED, teacher_runs.MEAN), test_r2=1 - test)


def student_runs(size: str, kind: str, power: float, low: float) -> dict[str, Run]:
    """The grid of a penalty, its delay a power of αβ; and the student without one, which falls to 30 variances."""
    strengths = teacher_runs.STRENGTHS[kind]
    runs = {
        name_of(kind, rate, b): student(100, 100 + 300 * (rate * b / max(strengths) / 1e-2) ** power, low)
        for rate in {*teacher_runs.RATES[size], teacher_runs.RATE}
        for b in strengths
    }
    return runs | {name_of(teacher_runs.NONE, teacher_runs.RATE, 0.0): student(100, 20_000, 30.0)}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("figure", STUDENTS)
def test_students(figure: str, size: str):
    entry, kind = f"beyond-l2/{figure}", KIND[figure]
    low = 0.16 if kind == teacher_runs.SOBOLEV else 0.7
    good = student_runs(size, kind, POWER, low)
    assert verdicts(entry, good, SIZES[size]) == as_documented(entry)
    proportional = verdicts(entry, student_runs(size, kind, -1.0, low), SIZES[size])
    assert proportional.get("proportional-as-printed", True)
    assert not proportional.get("grows-slower", False)
    backwards = verdicts(entry, student_runs(size, kind, 0.3, low), SIZES[size])
    assert not backwards["larger-strength-is-earlier"]
    assert not backwards.get("larger-rate-is-earlier", False)
    other = verdicts(entry, student_runs(size, kind, POWER, 0.7 if kind == teacher_runs.SOBOLEV else 0.05), SIZES[size])
    assert {name for name in other if other[name] != as_documented(entry)[name]} == (
        {"generalises"} if kind == teacher_runs.SOBOLEV else {"generalises-as-printed", "plateau"}
    )
    alone = name_of(teacher_runs.NONE, teacher_runs.RATE, 0.0)
    without = verdicts(entry, good | {alone: student(100, 200, low)}, SIZES[size])
    assert not without.get("slower-without", False)
