"""The scheduler tells what it is doing."""

from __future__ import annotations

import threading

import latebloom as lb
from latebloom.engine import scheduler
from latebloom.engine.shard import Shard


def test_the_bar_says_compiling_while_it_does_and_not_afterwards(monkeypatch):
    said, heard = [], threading.Event()

    class Bar(scheduler.ProgressBar):
        def update(self, done, doing=""):
            said.append((doing, compiling.is_set()))
            if doing:
                heard.set()

    compiling, compile_program = threading.Event(), Shard.compile

    def compile_slowly(self):
        compiling.set()
        assert heard.wait(60), "the bar said nothing"
        compile_program(self)

    monkeypatch.setattr(scheduler, "ProgressBar", Bar)
    monkeypatch.setattr(Shard, "compile", compile_slowly)
    problem = lb.problems.LinearRegression([[1.0, 1.0]], [2.0], truth=[1.0, 1.0])
    lb.train(problem, lb.GradientDescent(0.25), steps=10)
    assert ("compiling", True) in said
    assert said[-1] == ("", True)
