"""The bar: nothing before its patience ends, then what is done and what is being done."""

from __future__ import annotations

import pytest

from latebloom.core import progress
from latebloom.core.progress import ProgressBar


def test_nothing_is_shown_while_there_is_patience():
    with ProgressBar("running", 3, enabled=True) as bar:
        bar.update(1)
        assert bar._bar is None


@pytest.mark.parametrize(("doing", "shown"), [("compiling", "running: compiling"), ("", "running")])
def test_it_says_what_is_being_done(monkeypatch, doing, shown):
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    with ProgressBar("running", 3, enabled=True) as bar:
        bar.update(0, "something else")
        bar.update(2, doing)
        (task,) = bar._bar.tasks
        assert (task.description, task.completed, task.total) == (shown, 2, 3)
