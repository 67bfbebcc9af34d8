"""Compiled programs are let go before the system runs out of places for them."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from latebloom.core import programs


@pytest.mark.skipif(not programs.PIECES.exists(), reason="the system does not say how many pieces of memory there are")
def test_programs_are_let_go_when_they_are_many(monkeypatch, compiles):
    double = jax.jit(lambda x: 2 * x + 1)
    double(np.ones(3))
    assert not programs.release_programs()
    with compiles() as count:
        double(np.ones(3))
    assert count() == 0
    monkeypatch.setattr(programs, "MOST", 1)
    assert programs.release_programs()
    with compiles() as count:
        assert double(np.ones(3)).tolist() == [3, 3, 3]
    assert count() == 1


def test_a_system_that_does_not_say_keeps_them(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "PIECES", tmp_path / "nothing")
    monkeypatch.setattr(programs, "MOST", 0)
    assert not programs.release_programs()
