"""Claims can fail: break the mechanism and see them red."""

from __future__ import annotations

from dataclasses import replace

import pytest

from latebloom import catalog
from latebloom.catalog import Evidence, Measured, Request
from latebloom.catalog.base import at_least, at_most, within
from latebloom.catalog.beyond_l2 import fig3, fig12
from latebloom.catalog.reproduction import judge, reproduce
from latebloom.core.json import plain
from latebloom.store import Store


@pytest.fixture(scope="module")
def fig3_evidence(tmp_path_factory) -> Evidence:
    report = reproduce(catalog.get("beyond-l2/fig3"), store=Store(tmp_path_factory.mktemp("claims") / "store"))
    return report.evidence[0]


def test_dropping_the_penalty_turns_the_claims_red(fig3_evidence):
    broken = replace(fig3_evidence, runs=fig3_evidence.runs | {fig3.MAIN: fig3_evidence.runs[fig3.WITHOUT]})
    verdicts = {claim.id: judge(claim, [broken]).holds for claim in fig3.CLAIMS}
    for name in ("generalises-late", "grokking", "l1-norm-converges", "ends-at-oracle"):
        assert not verdicts[name], name
    assert verdicts["memorises-first"]


def test_a_method_that_does_not_project_fails_the_claim_of_fig12(fig3_evidence):
    swapped = replace(fig3_evidence, runs={"this method": fig3_evidence.runs[fig3.MAIN]})
    (one_step,) = [claim for claim in fig12.CLAIMS if claim.id == "one-step"]
    assert not judge(one_step, [swapped]).holds


def test_rates_are_judged_against_the_documented_share(fig3_evidence):
    outcomes = iter([True, True, False, True])
    claim = replace(fig3.CLAIMS[0], check=lambda _: Measured(1.0, next(outcomes)), rate=0.75)
    verdict = judge(claim, [fig3_evidence] * 4)
    assert (verdict.holds, verdict.held, verdict.of) == (True, 3, 4)
    outcomes = iter([True, True, False, True])
    assert not judge(replace(claim, rate=0.8), [fig3_evidence] * 4).holds


def test_a_verdict_can_be_another_at_the_papers_size(fig3_evidence):
    fails = replace(fig3.CLAIMS[0], check=lambda _: Measured(1.0, False), in_full=False)
    assert not judge(fails.of(Request(0)), [fig3_evidence]).as_documented
    assert judge(fails.of(Request(0, full=True)), [fig3_evidence]).as_documented
    same = replace(fails, in_full=None)
    assert same.of(Request(0, full=True)) is same


@pytest.mark.parametrize("check", [lambda v: within(v, 0, 1), lambda v: at_most(v, 1), lambda v: at_least(v, 1)])
def test_a_missing_number_never_holds(check):
    assert check(None) == Measured(None, False)


def test_what_is_not_finite_is_null_in_json():
    assert plain({"a": [float("nan"), 1.0, float("inf")]}) == {"a": [None, 1.0, None]}


def test_the_jobs_of_a_request_are_the_same_every_time():
    for entry in catalog.EXPERIMENTS.values():
        first, second = (entry.jobs(Request(entry.seed)) for _ in range(2))
        assert {name: job.configuration() for name, job in first.items()} == {
            name: job.configuration() for name, job in second.items()
        }
