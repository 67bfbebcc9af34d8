"""`latebloom fit`: the library's fit over stored runs, as words, as a document, as files."""

from __future__ import annotations

import pytest
from planted_laws import planted

from latebloom import laws
from latebloom.store import Store


@pytest.fixture
def stored(monkeypatch) -> list:
    """A store whose table is that of planted runs; the conditions it was asked with. The page `laws` has real runs."""
    asked = []

    def frame(self, where=None):
        asked.append(where)
        return planted(0, cells=9).assign(problem="sparse_recovery", kind="train")

    monkeypatch.setattr(Store, "frame", frame)
    return asked


def test_it_says_what_the_library_says(latebloom, stored):
    said = latebloom("fit", "t2", "--against", "learning_rate*strength", "--where", "seed < 9")
    found = laws.fit(planted(0, cells=9), "t2", "learning_rate*strength")
    assert found.sentence in said.out.replace("\n", " ")
    assert stored == ["seed < 9"]
    for word in ("power law", "logarithm", "exponential", "AIC"):
        assert word in said.out


def test_one_document(latebloom, stored, tmp_path):
    answer = latebloom("fit", "t2", "--json", "--out", tmp_path / "out").json
    assert answer["exponent"]["low"] < answer["exponent"]["value"] < answer["exponent"]["high"]
    assert answer["counts"]["censored"] == 18
    assert answer["counts"]["seeds"] == 5
    assert sorted(path.suffix for path in (tmp_path / "out").iterdir()) == [".csv", ".pdf", ".png"]
    assert len(answer["figures"]) == 3


def test_problems_are_chosen_by_name(latebloom, stored):
    assert latebloom("fit", "t2", "--problem", "sparse").code == 0
    refused = latebloom("fit", "t2", "--problem", "modular", "--json")
    assert refused.code == 2
    assert refused.json == {"error": "no stored run is of modular: there are sparse_recovery"}


def test_a_law_that_cannot_be_is_one_line(latebloom):
    answer = latebloom("fit", "t2", "--against", "learning_rate*strength")
    assert answer.code == 2
    assert len(answer.err.splitlines()) == 1


def test_the_runs_of_a_sweep(latebloom, stored, monkeypatch):
    """A cell without a run is counted; a condition leaves those of the sweep that meet it."""
    from latebloom.sweeps import written

    table = planted(0, cells=9).assign(id=[f"run {number}" for number in range(45)])

    class Cells:
        def frame(self):
            return table.assign(outcome=["missing", *table["outcome"][1:]])

    monkeypatch.setattr(written, "stored_sweep", lambda name, store: Cells())
    monkeypatch.setattr(Store, "frame", lambda self, where=None: table.query("seed < 4"))
    assert "Left out: 1 missing" in latebloom("fit", "--sweep", "rates").out
    assert "From 35 runs of 4 seeds" in latebloom("fit", "--sweep", "rates", "--where", "seed < 4").out
