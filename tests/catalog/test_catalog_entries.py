"""Every entry of the catalog: its claims come out as documented, and its figure can be drawn.

Published number (the third rung): the papers' sentences are the claims. Entries share runs
through one store, so that the whole catalog is computed once.
"""

from __future__ import annotations

import ast
import csv
from pathlib import Path

import pytest

import latebloom as lb
from latebloom import catalog
from latebloom.catalog import EXPERIMENTS, Request
from latebloom.catalog.reproduction import reproduce
from latebloom.errors import UnknownNameError
from latebloom.store import Store


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    return Store(tmp_path_factory.mktemp("catalog") / "store")


# Each takes most of a minute, or minutes, of a core: `pytest -m long`, or `latebloom verify`, which runs everything. Of
# the networks, beyond-l2/rescaling and dichotomy/fig2b and fig2c are always run; dichotomy/fig4 has tests of its own.
LONG = {
    *("beyond-l2/fig1", "beyond-l2/fig2", "beyond-l2/fig6", "beyond-l2/fig8", "beyond-l2/fig9", "beyond-l2/fig10"),
    *("beyond-l2/fig11", "beyond-l2/fig17", "beyond-l2/fig18", "beyond-l2/fig21", "beyond-l2/fig22", "beyond-l2/fig23"),
    *("beyond-l2/fig27", "beyond-l2/fig28", "beyond-l2/fig30", "beyond-l2/fig31", "beyond-l2/fig32", "beyond-l2/fig33"),
    *("beyond-l2/fig34", "beyond-l2/fig35", "beyond-l2/blog-fig1", "beyond-l2/app-f2", "beyond-l2/app-g2"),
    *("dichotomy/fig2a", "dichotomy/fig4", "geometry/fig4", "geometry/joint-vs-isolated"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in EXPERIMENTS]
)
def test_claims_come_out_as_documented(name, store, tmp_path):
    report = reproduce(EXPERIMENTS[name], store=store, out=tmp_path)
    wrong = {v.claim.id: (v.measured, v.claim.expected) for v in report.verdicts if not v.as_documented}
    assert not wrong
    picture, paper, data = report.figures
    assert min(picture.stat().st_size, paper.stat().st_size) > 5000
    with data.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert all(row["x_label"] and row["y_label"] for row in rows), "a panel without labels"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_entry_is_complete(name):
    entry = EXPERIMENTS[name]
    assert entry.claims
    assert entry.settings
    assert entry.seconds > 0
    ids = [claim.id for claim in entry.claims]
    assert len(ids) == len(set(ids))
    for claim in entry.claims:
        assert claim.documented or "fails" in claim.expected, f"{claim.id} fails as printed and does not say why"
        assert 0 < claim.rate <= 1


def test_no_flow_of_an_entry_leaves_its_solver_open():
    """Another choice by "auto" must not change what a paper's entry computes."""
    calls = [
        (path.name, node.lineno, [keyword.arg for keyword in node.keywords])
        for path in Path(catalog.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "FlowJob"
    ]
    assert len(calls) > 10
    for name, line, keywords in calls:
        assert "solver" in keywords or None in keywords, f"{name}:{line}"
    for entry in EXPERIMENTS.values():
        assert all(getattr(job, "solver", "") != "auto" for job in entry.jobs(Request(entry.seed)).values())


def test_an_entry_is_reproduced_by_its_id(tmp_path):
    report = lb.reproduce("beyond-l2/thm3.6", store=tmp_path)
    assert report.as_documented
    assert report.computed > 0
    assert lb.reproduce("beyond-l2/thm3.6", store=tmp_path).computed == 0
    with pytest.raises(UnknownNameError, match="did you mean 'beyond-l2/fig33'"):
        lb.reproduce("beyond-l2/fig33x")
