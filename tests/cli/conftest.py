"""The command line, called in the test process against a store of its own."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from latebloom.cli import main


class Answer:
    """What a command printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture(scope="session")
def shared_store(tmp_path_factory) -> Path:
    """One store for all tests that only add to it, so that a run is made once."""
    return tmp_path_factory.mktemp("shared") / "store"


@pytest.fixture
def latebloom(capsys, monkeypatch, tmp_path):
    """Calls the command line; the default store is a fresh one."""
    monkeypatch.setenv("LATEBLOOM_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)

    def call(*words: object) -> Answer:
        shown = warnings.showwarning
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            with pytest.raises(SystemExit) as stop:
                main([str(word) for word in words])
        warnings.showwarning = shown
        printed = capsys.readouterr()
        return Answer(int(stop.value.code or 0), printed.out, printed.err)

    return call
