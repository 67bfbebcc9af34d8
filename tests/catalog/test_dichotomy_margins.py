"""The claims on diagonal networks can fail: without weight decay the network stays in the kernel phase."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import latebloom as lb
from latebloom.catalog import Evidence
from latebloom.catalog.dichotomy.classification import FLOW, fig1a, fig1b
from latebloom.catalog.reproduction import judge, reproduce
from latebloom.store import Store


def test_without_weight_decay_nothing_is_grokked(tmp_path):
    report = reproduce(fig1a, store=Store(tmp_path / "store"), dimension=1500, samples=96)
    (evidence,) = report.evidence
    verdicts = {verdict.claim.id: verdict.holds for verdict in report.verdicts}
    assert verdicts["generalises"]
    job = evidence.job(FLOW).but({"penalty.strength": 1e-9})
    run = lb.run(job, progress=False)
    run = replace(run, columns=run.columns | {"slow_time": 1e-3 * run["time"]})  # on the clock of the figure
    broken = replace(evidence, jobs={**evidence.jobs, FLOW: job}, runs={**evidence.runs, FLOW: run})
    verdicts = {claim.id: judge(claim, [broken]).holds for claim in fig1a.claims}
    for name in ("generalises", "sharp", "end-is-max-l1-margin", "transition-before-log-alpha", "weights-only-shrink"):
        assert not verdicts[name], name
    for name in ("fits-at-once", "kernel-phase-is-max-l2-margin", "oracles-are-certified"):
        assert verdicts[name], name


class Columns(dict[str, np.ndarray]):
    """What the claim looks at in a run."""

    @property
    def final(self):
        return {name: values[-1] for name, values in self.items()}


@pytest.mark.parametrize(
    ("errors", "lost"),
    [
        ([1.0, 0.0, 0.0, 0.45], True),
        ([1.0, 1.0, 1.0, 1.0], False),  # frozen where it starts: what it never had it does not lose
        ([1.0, 0.45, 0.45, 0.45], False),
        ([1.0, 0.0, 0.0, 0.0], False),
    ],
)
def test_to_lose_accuracy_it_must_have_had_it(errors, lost):
    run: Any = Columns(slow_time=np.array([0.0, 0.01, 1.0, 10.0]), test_error=np.array(errors))
    (claim,) = (claim for claim in fig1b.claims if claim.id == "loses-it")
    found = judge(claim, [Evidence(fig1b.settings, {}, {FLOW: run})])
    assert found.holds == lost
    assert found.measured == 1 - errors[-1]
