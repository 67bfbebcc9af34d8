"""The benchmark of the nuclear-norm oracle: equal answers, and a note where there is nothing to compare with."""

from __future__ import annotations

import sys

import pytest

from latebloom.bench import nuclear_oracle


def test_the_contenders_find_the_same_norm():
    pytest.importorskip("cvxpy")
    (result,) = nuclear_oracle.measure(size=8, rank=1, share=0.7, problems=2, repeats=1)
    assert "minimal norms" in result.note
    assert result.ratio == pytest.approx(result.theirs_seconds / result.ours_seconds)
    # Times at this size mean nothing; a verdict of False with a ratio above the target would be a disagreement.
    assert result.meets is (result.ratio >= nuclear_oracle.LEAST)


def test_without_cvxpy_there_is_a_note(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    (result,) = nuclear_oracle.measure()
    assert result.meets is None
    assert "pip install cvxpy" in result.note
