"""The claims of dichotomy/fig4 can fail: a run that stops when it fits has none of what comes later."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from latebloom import catalog
from latebloom.catalog.dichotomy import fig4
from latebloom.catalog.reproduction import judge, reproduce
from latebloom.store import Store

pytestmark = pytest.mark.slow  # a network of its own to compile

LATE = ("rises-between-10^10^2-and-10^10^4", "half-in-between", "not-sharp", "margin-grows", "kkt-on-average")


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    """A smaller network than the entry's, which is fitted soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fig4, "SMALL", {"modulus": 7, "width": 48, "train_share": 0.8})
        patch.setattr(fig4, "STEPS", 4_000)
        report = reproduce(catalog.get("dichotomy/fig4"), store=Store(tmp_path_factory.mktemp("fig4")))
        yield report.evidence[0]


def verdicts(evidence):
    return {claim.id: judge(claim, [evidence]).holds for claim in fig4.CLAIMS}


def test_a_run_that_stops_when_it_fits(evidence):
    short = evidence.runs[fig4.EARLY]
    broken = replace(evidence, runs={fig4.EARLY: short, fig4.LONG: short})
    found = verdicts(broken)
    assert found["fits-early"]
    for name in LATE:
        assert not found[name], name
    assert verdicts(evidence)["kkt-on-average"]
    assert verdicts(evidence)["margin-is-monotone-at-first"]


def test_theory_is_withheld_from_a_gradient_that_is_not_sound(evidence):
    run = evidence.runs[fig4.LONG]
    margin = fig4.draw(evidence).axes[2]
    assert [line.get_linestyle() for line in margin.lines] == ["-", "--"]
    spoilt = replace(run, columns=run.columns | {"zero_sum_defect": np.full(len(run["step"]), 0.5)})
    margin = fig4.draw(replace(evidence, runs=evidence.runs | {fig4.LONG: spoilt})).axes[2]
    assert [line.get_linestyle() for line in margin.lines] == ["-"]
    assert margin.texts[0].get_text().startswith("theory withheld: from step 0 on the gradient's zero-sum defect")
    assert not judge(
        next(c for c in fig4.CLAIMS if c.id == "gradient-is-sound"),
        [replace(evidence, runs=evidence.runs | {fig4.LONG: spoilt})],
    ).holds
