"""Every entry of the catalog is complete; one per family is computed, and with it all that share its runs.

Published number (the third rung): the papers' sentences are the claims. `make verify` computes the whole catalog, and
`test_record.py` holds its record against the bounds. Tests of a family share a worker and a store.
"""

from __future__ import annotations

import ast
import csv
from collections.abc import Iterator
from pathlib import Path

import pytest
from figure_laws import broken_laws

import latebloom as lb
from latebloom import catalog
from latebloom.catalog import ENTRIES, Entry
from latebloom.catalog.base import entries_of
from latebloom.catalog.reproduction import reproduce
from latebloom.errors import UnknownNameError
from latebloom.store import Store

PAPERS = (catalog.beyond_l2, catalog.riemannian, catalog.geometry, catalog.dichotomy)
MOST = 4  # seconds on two cores: dearer families are left to `make verify`, but for the cheapest of each paper


def families() -> Iterator:
    """The entries of a file, cheapest first, as a case of a test on a worker of their own."""
    for paper in PAPERS:
        groups = [sorted(entries_of(module), key=lambda entry: entry.seconds) for module in paper.MODULES]
        least = min(group[0].seconds for group in groups)
        first = next(group for group in groups if group[0].seconds == least)
        for group in groups:
            if group is first or group[0].seconds <= MOST:
                yield pytest.param(group, id=group[0].id, marks=pytest.mark.xdist_group(group[0].id))


def is_stored(entry: Entry, store: Store) -> bool:
    """Whether all runs of an entry are there, and it computes nothing else."""
    jobs = entry.jobs(entry.settings).values()
    return not entry.study_list(entry.settings) and all(store.find(job.configuration()) is not None for job in jobs)


@pytest.mark.parametrize("entries", list(families()))
def test_claims_come_out_as_documented(entries, tmp_path):
    store = Store(tmp_path / "store")
    for number, entry in enumerate(entries):
        if number and not is_stored(entry, store):
            continue
        report = reproduce(entry, store=store, out=tmp_path)
        wrong = {v.claim.id: (v.measured, v.claim.expected) for v in report.verdicts if not v.as_documented}
        assert not wrong, entry.id
        check_files(report.figures)
        figure = entry.draw(report.evidence[0])
        assert not broken_laws(figure), entry.id
        assert figure.caption.startswith(f"{entry.id} · draw ")


def check_files(paths: list[Path]) -> None:
    """A picture, a paper and a table in which every panel has its labels."""
    picture, paper, data = paths
    assert min(picture.stat().st_size, paper.stat().st_size) > 5000
    with data.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert all(row["x_label"] and row["y_label"] for row in rows), "a panel without labels"


def test_every_paper_has_its_families():
    assert len(list(families())) >= 8
    assert {case.values[0][0].paper for case in families()} == set(catalog.PAPERS)


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_is_complete(name):
    entry = ENTRIES[name]
    assert entry.claims
    assert {"figure"} <= entry.parts.keys()
    assert entry.parts.keys() & {"runs", "studies"}
    assert entry.seconds > 0
    assert all(one["note"] or one["name"] in {"steps", "time"} for one in entry.settings_json()), (
        "a setting without a note"
    )
    for claim in entry.claims:
        assert claim.text.endswith((".", ")")), claim.id
        assert 0 < claim.rate <= 1
        assert claim.expected.strip(), claim.id


def test_no_entry_asks_which_preset_it_runs():
    for path in Path(catalog.__file__).parent.glob("*/*.py"):
        asked = [node for node in ast.walk(ast.parse(path.read_text())) if getattr(node, "attr", "") == "full"]
        lines = [node.lineno for node in asked if getattr(node.value, "id", "") not in ("np", "jnp")]  # an array's
        assert not lines, f"{path.name}:{lines}"


def test_a_preset_is_another_setting():
    for entry in ENTRIES.values():
        if entry.full:
            assert entry.configured({}, full=True) != entry.settings, entry.id


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


def test_an_entry_is_reproduced_by_its_id(tmp_path):
    report = lb.reproduce("beyond-l2/fig25", store=tmp_path)
    assert report.as_documented
    assert report.computed > 0
    assert lb.reproduce("beyond-l2/fig25", store=tmp_path).computed == 0
    with pytest.raises(UnknownNameError, match="did you mean 'beyond-l2/fig33'"):
        lb.reproduce("beyond-l2/fig33x")


def test_no_entry_chooses_a_colour_or_a_style():
    """Roles and meanings are named, so that one style has one meaning everywhere (figures/strokes.py)."""
    forbidden = {"solid", "dashed", "dotted", "dashdot", "red", "blue", "green", "black", "white"}
    for path in Path(catalog.__file__).parent.rglob("*.py"):
        texts = {
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant)
        }
        assert not {text for text in texts if isinstance(text, str)} & forbidden, path
