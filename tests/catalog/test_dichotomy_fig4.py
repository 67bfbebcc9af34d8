"""The claims of dichotomy/fig4 can fail: a run that stops when it fits has none of what comes later."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from latebloom.catalog.bounds import at_most
from latebloom.catalog.dichotomy.without_decay import EARLY, LONG, fig4
from latebloom.catalog.reproduction import judge, reproduce
from latebloom.figures import Line, Note
from latebloom.probes.health import DEFECT
from latebloom.store import Store

LATE = ("rises-between-10^10^2-and-10^10^4", "half-in-between", "not-sharp", "margin-grows", "kkt-on-average")


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    """A smaller network than the entry's, which is fitted soon."""
    store = Store(tmp_path_factory.mktemp("fig4"))
    return reproduce(fig4, store=store, modulus=7, width=48, steps=4_000).evidence[0]


def verdicts(evidence):
    return {claim.id: judge(claim, [evidence]).holds for claim in fig4.claims}


def test_a_run_that_stops_when_it_fits(evidence):
    found = verdicts(replace(evidence, runs=dict.fromkeys((LONG, EARLY), evidence[EARLY])))
    assert found["fits-early"]
    for name in LATE:
        assert not found[name], name
    assert verdicts(evidence)["kkt-on-average"]
    assert verdicts(evidence)["margin-is-monotone-at-first"]


def test_theory_is_withheld_from_a_gradient_that_is_not_sound(evidence):
    run = evidence[LONG]
    margin = fig4.draw(evidence).panels[2].traces
    assert [line.marks for line in margin if isinstance(line, Line)] == ["measured", "theory"]
    spoilt = replace(run, columns=run.columns | {"zero_sum_defect": np.full(len(run["step"]), 0.5)})
    broken = replace(evidence, runs={**evidence.runs, LONG: spoilt})
    margin = fig4.draw(broken).panels[2].traces
    assert [line.marks for line in margin if isinstance(line, Line)] == ["measured"]
    (note,) = (trace for trace in margin if isinstance(trace, Note))
    assert note.text.startswith("theory withheld: from step 0 on the gradient's zero-sum defect")
    (sound,) = (claim for claim in fig4.claims if claim.id == "gradient-is-sound")
    assert sound.bound == at_most(DEFECT)
    assert verdicts(evidence)["gradient-is-sound"]
    assert not verdicts(broken)["gradient-is-sound"]
