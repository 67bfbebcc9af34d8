"""Compiled programs are let go before the system runs out of places for them."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import latebloom as lb
from latebloom.core import programs


@pytest.mark.skipif(not programs.PIECES.exists(), reason="the system does not say how many pieces of memory there are")
def test_programs_are_let_go_when_they_are_many(monkeypatch, compiles):
    monkeypatch.setattr(programs, "PAUSE", 0.0)
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


@pytest.mark.skipif(not programs.PIECES.exists(), reason="the system does not say how many pieces of memory there are")
def test_every_call_of_the_scheduler_asks(monkeypatch, compiles):
    """Scripts that compile without end: thousands of calls on problems of their own."""
    problem, method = lb.problems.LinearRegression([[1.0, 2.0]], [2.0]), lb.GradientDescent(0.1)
    lb.train(problem, method, steps=10)
    monkeypatch.setattr(programs, "PAUSE", 0.0)
    for most, again in ((10**9, False), (1, True)):
        monkeypatch.setattr(programs, "MOST", most)
        with compiles() as count:
            lb.train(problem, method, steps=10)
        assert (count() > 0) == again


@pytest.mark.skipif(not programs.PIECES.exists(), reason="the system does not say how many pieces of memory there are")
def test_it_looks_once_a_second(monkeypatch):
    monkeypatch.setattr(programs, "MOST", 1)
    monkeypatch.setattr(programs, "_looked", [-1e9])
    monkeypatch.setattr(programs, "PAUSE", 600.0)  # to let all programs go takes more than a second itself, at times
    assert [programs.release_programs() for _ in range(3)] == [True, False, False]


def test_a_system_that_does_not_say_keeps_them(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "PIECES", tmp_path / "nothing")
    monkeypatch.setattr(programs, "MOST", 0)
    monkeypatch.setattr(programs, "PAUSE", 0.0)
    assert not programs.release_programs()
