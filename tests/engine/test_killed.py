"""Runs of every kind, of processes that were killed (twice, or KILLS times), end bit for bit as those left alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import killed
import pytest
from plain import same_run

import latebloom as lb

SCRIPT = Path(__file__).parents[1] / "killed.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that begin alike")
def test_killed_and_terminated_every_kind_of_run_is_as_if_left_alone(tmp_path):
    command = [sys.executable, str(SCRIPT), str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    ends = json.loads(answer.stdout)
    assert ends["alone"] == [0]
    assert ends["killed"] == [
        -signal.SIGKILL,
        0,
        *[-signal.SIGKILL] * (killed.KILLS - 1),
        0,
    ]  # a terminated process ends in order
    for name, job in killed.jobs().items():
        alone, run = (lb.load(job.key, tmp_path / where) for where in ("alone", "killed"))
        assert same_run(alone, run), name
        assert run.provenance["gradients"] == alone.provenance["gradients"]
        # LSODA has no state: such a run begins anew each time.
        assert run.provenance.get("parts") == (None if name == "dual flow" else killed.KILLS + 2), name
    states = [run.state for run in lb.Store(tmp_path / "killed").runs()]
    assert states == ["finished"] * len(killed.jobs())  # what was superseded is gone
