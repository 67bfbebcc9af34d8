"""Claims can fail: break the mechanism and see them red."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from latebloom import catalog
from latebloom.catalog.base import Evidence
from latebloom.catalog.beyond_l2 import methods, sparse
from latebloom.catalog.bounds import above, at_least, at_most, below, each, near, within
from latebloom.catalog.claims import Claim, Fails, NotAsked
from latebloom.catalog.reproduction import judge, reproduce
from latebloom.core.json import plain
from latebloom.store import Store


@pytest.fixture(scope="module")
def fig3_evidence(tmp_path_factory) -> Evidence:
    report = reproduce(sparse.fig3, store=Store(tmp_path_factory.mktemp("claims") / "store"))
    return report.evidence[0]


def claim_of(name: str, claim: str) -> Claim:
    """A claim of an entry by its id."""
    (found,) = [one for one in catalog.get(name).claims if one.id == claim]
    return found


def claim_that(*outcomes: bool, rate: float = 1.0, full: Fails | None = None) -> Claim:
    """A claim that holds on one draw after the other as told."""
    given = iter(outcomes)
    measure = lambda _: float(next(given))  # noqa: E731
    return Claim("told", "As told.", "here", "one if so", at_least(1), measure, rate=rate, full=full)


def test_dropping_the_penalty_turns_the_claims_red(fig3_evidence):
    broken = replace(fig3_evidence, runs={**fig3_evidence.runs, sparse.MAIN: fig3_evidence[sparse.WITHOUT]})
    verdicts = {claim.id: judge(claim, [broken]).holds for claim in sparse.fig3.claims}
    for name in ("generalises-late", "grokking", "l1-norm-converges", "ends-at-oracle"):
        assert not verdicts[name], name
    assert verdicts["memorises-first"]


def test_a_method_that_does_not_project_fails_the_claim_of_fig12(fig3_evidence):
    swapped = replace(fig3_evidence, runs={methods.OTHER: fig3_evidence[sparse.MAIN]})
    assert not judge(claim_of("beyond-l2/fig12", "one-step"), [swapped]).holds


def test_a_run_that_stands_still_fails_the_delay_of_theorem_3_1(fig3_evidence):
    run, delay = fig3_evidence[sparse.MAIN], claim_of("beyond-l2/thm3.1", "delay-is-enough")
    still = {name: np.repeat(values[:1], len(values), axis=0) for name, values in run.columns.items()}
    nothing = replace(run.milestones, memorised=None, generalised=None)
    frozen = replace(run, columns=still | {"step": run["step"]}, milestones=nothing)
    assert judge(delay, [fig3_evidence]).holds
    assert not judge(delay, [replace(fig3_evidence, runs={sparse.MAIN: frozen})]).holds


def test_rates_are_judged_against_the_documented_share(fig3_evidence):
    verdict = judge(claim_that(True, True, False, True, rate=0.75), [fig3_evidence] * 4)
    assert (verdict.holds, verdict.held, verdict.of) == (True, 3, 4)
    assert not judge(claim_that(True, True, False, True, rate=0.8), [fig3_evidence] * 4).holds


def test_a_verdict_can_be_another_at_the_papers_size(fig3_evidence):
    fails = claim_that(False, False, full=Fails("too large"))
    assert not judge(fails.of("default"), [fig3_evidence]).as_documented
    assert judge(fails.of("full"), [fig3_evidence]).as_documented
    same = claim_that(False)
    assert same.of("full") is same


@pytest.mark.parametrize("bound", [within(0, 1), near(0, by=1), at_most(1), at_least(1), below(1), above(1)])
def test_a_missing_number_never_holds(bound):
    assert not bound.judge(None)
    assert not each(bound).judge([None])


def test_what_is_not_finite_is_null_in_json():
    assert plain({"a": [float("nan"), 1.0, float("inf")]}) == {"a": [None, 1.0, None]}


def told(kind: str = "printed", **options) -> Claim:
    return Claim("told", "As told.", "here", "a number", at_most(1), lambda e: 2.0, kind, **options)


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (told(fails="too large"), "fails"),
        (told(outside="the step is not small"), "premise not met"),
        (told("premise", fails="not independent"), "premise not met"),
        (told("ours"), "fails"),
        (told("corrected"), "fails"),
    ],
)
def test_only_what_is_printed_and_within_its_hypotheses_fails_as_printed(claim, words):
    assert claim.verdict(False) == words
    assert (claim.verdict(True), claim.verdict(None)) == ("holds", "not applicable")
    assert claim.documented == (claim.kind in ("ours", "corrected"))
    if not claim.documented:
        assert claim.expected == f"a number at most 1; {words}: {claim.fails or claim.outside}"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "ours", "fails": "too large"}, "only what a document prints can fail"),
        ({"kind": "corrected", "fails": "too large"}, "only what a document prints can fail"),
        ({"kind": "premise", "outside": "not smooth"}, "a printed sentence is outside its hypotheses"),
        ({"fails": "too large", "outside": "not smooth"}, "a printed sentence is outside its hypotheses"),
        ({"kind": "print"}, "did you mean 'printed'"),
    ],
)
def test_a_verdict_that_nobody_could_have_printed_is_refused(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        told(**options)


def test_a_draw_that_a_claim_does_not_speak_of_counts_neither_way(fig3_evidence):
    given = iter([0.5, NotAsked("not recoverable"), 2.0, NotAsked("not recoverable")])
    claim = Claim("one", "One.", "here", "", at_most(1), lambda e: next(given), rate=0.5)
    verdict = judge(claim, [fig3_evidence] * 4)
    assert (verdict.holds, verdict.held, verdict.of, verdict.draws) == (True, 1, 2, 4)
    assert verdict.to_json()["rate"] == 0.5
    silent = Claim("one", "One.", "here", "", at_most(1), lambda e: NotAsked("not recoverable"))
    for draws in (1, 3):
        nothing = judge(silent, [fig3_evidence] * draws)
        assert (nothing.holds, nothing.word, nothing.as_documented) == (None, "not applicable", True)
        assert nothing.to_json()["holds"] is None
