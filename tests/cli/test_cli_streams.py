"""Closed streams, narrow alphabets, departed readers, early interrupts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shell and signals")
COMMAND = f'"{sys.executable}" -m latebloom'


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=False, env=os.environ | environment, timeout=120
    )


def test_a_closed_stderr_leaves_the_document_whole(tmp_path):
    store = f"--store {tmp_path / 's'}"
    done = shell(
        f"{COMMAND} run 'sparse_recovery[dimension=10,sparsity=1,measurements=5]' --steps 10 --json {store} 2>&-"
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["outcome"] == "finished"


def test_a_reader_that_leaves_is_met_with_silence():
    assert shell(f"{COMMAND} list --json | true").stderr == ""


def test_a_full_standard_output_is_one_line():
    done = shell(f"{COMMAND} list --json > /dev/full")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "No space left" in done.stderr


def test_an_ascii_terminal_can_read_everything():
    done = shell(f"{COMMAND} show beyond-l2/fig3 --json", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert json.loads(done.stdout.encode().decode("unicode_escape"))["id"] == "beyond-l2/fig3"


def test_an_early_interrupt_is_one_word_and_130(tmp_path):
    """Just after the imports, with an empty compile cache: while compiling."""
    script = "import latebloom.catalog.reproduction; from latebloom.cli import main; print('ready', flush=True); main()"
    words = [sys.executable, "-c", script, "run", "sparse_recovery", "--steps", "1000000000", "--store", tmp_path / "s"]
    environment = os.environ | {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([str(word) for word in words], text=True, env=environment, **pipes)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted" in err
