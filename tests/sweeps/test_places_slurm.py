"""A real SLURM, where root and Debian's packages are there; and what is said where they are not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import slurm as daemons
from plain import same_run

import latebloom as lb
from latebloom.errors import InputError
from latebloom.sweeps.places import slurm
from latebloom.sweeps.places.slurm import Slurm

SCRIPT = Path(daemons.__file__)
WHY = daemons.missing()


@pytest.mark.skipif(bool(WHY), reason=f"NO SLURM WAS TRIED: {WHY}")
def test_a_sweep_on_slurm_with_a_worker_killed_has_the_bits_of_one_process(tmp_path):
    command = ["unshare", "--net", sys.executable, str(SCRIPT), str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout)
    assert told["exit"] == 0, told["err"]
    assert told["killed"] == 1
    assert told["jobs"] >= 1
    assert told["refused"][0] == 2
    assert "SLURM refuses the job (" in told["refused"][1]
    assert "nvalid partition" in told["refused"][1]
    here, there = (lb.Store(tmp_path / name) for name in ("alone", "store"))
    assert [run.state for run in there.runs()] == ["finished"] * 12
    keys = {run.id for run in here.runs()}
    assert {run.id for run in there.runs()} == keys
    assert all(same_run(lb.load(key, here), lb.load(key, there)) for key in keys)


def test_options_are_read_from_the_file_of_a_sweep(tmp_path):
    file = tmp_path / "grid.toml"
    file.write_text(daemons.SWEEP)
    place = Slurm.from_file(file)
    assert (place.queue, place.jobs, place.workers, place.interface) == ("short", 2, 2, "lo")
    assert lb.Sweep.from_file(file).document.get("slurm") is None  # the same sweep wherever it runs
    file.write_text(daemons.SWEEP.partition("[slurm]")[0])
    assert Slurm.from_file(file).jobs == Slurm().jobs


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"quue": "short"}, r"unknown option of \[slurm\] 'quue': did you mean 'queue'\?"),
        ({"jobs": 0}, "jobs=0 is not allowed: jobs must be finite and at least 1"),
        ({"walltime": 60}, "walltime must be a text, not 60"),
        ({"memory": "2"}, "memory='2' is not allowed: write it with its unit, e.g. '4GB'"),
        ({"memory": "2GB", "cores": 8}, "memory='2GB' is too little for 8 workers, .*: write memory='8GB'"),
        ({"prologue": "module load python"}, r"prologue must be a list of lines, not .*: write prologue = \['…'\]"),
    ],
)
def test_wrong_options_are_sentences(table, words):
    with pytest.raises(InputError, match=words):
        Slurm.read(table)


def test_without_sbatch_it_says_so(monkeypatch, tmp_path):
    pytest.importorskip("dask_jobqueue")
    monkeypatch.setattr(slurm.shutil, "which", lambda _: None)
    with pytest.raises(InputError, match="sbatch is not on this machine: start the sweep on a front end"):
        Slurm()._dask()
