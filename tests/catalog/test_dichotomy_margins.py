"""The claims on diagonal networks can fail: without weight decay the network stays in the kernel phase."""

from __future__ import annotations

from dataclasses import replace

import pytest

import latebloom as lb
from latebloom.catalog.dichotomy.classification import FLOW, fig1a
from latebloom.catalog.reproduction import judge, reproduce
from latebloom.store import Store


@pytest.mark.slow
def test_without_weight_decay_nothing_is_grokked(tmp_path):
    report = reproduce(fig1a, store=Store(tmp_path / "store"), dimension=1500, samples=96)
    (evidence,) = report.evidence
    verdicts = {verdict.claim.id: verdict.holds for verdict in report.verdicts}
    assert verdicts["generalises"]
    job = evidence.job(FLOW).but({"penalty.strength": 1e-9})
    run = lb.run(job, progress=False)
    run = replace(run, columns=run.columns | {"slow_time": 1e-3 * run["time"]})  # on the clock of the figure
    broken = replace(evidence, jobs={FLOW: job}, runs={FLOW: run})
    verdicts = {claim.id: judge(claim, [broken]).holds for claim in fig1a.claims}
    for name in ("generalises", "sharp", "end-is-max-l1-margin", "transition-before-log-alpha"):
        assert not verdicts[name], name
    for name in ("fits-at-once", "kernel-phase-is-max-l2-margin", "oracles-are-certified"):
        assert verdicts[name], name
