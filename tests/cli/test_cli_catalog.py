"""`list` and `show`."""

from __future__ import annotations

import subprocess
import sys

from latebloom.catalog import EXPERIMENTS


def test_list_json_has_the_agreed_keys(latebloom):
    answer = latebloom("list", "--json")
    assert answer.code == 0
    assert {entry["id"] for entry in answer.json} == set(EXPERIMENTS)
    assert all(set(entry) == {"id", "paper", "figure", "claim", "seconds"} for entry in answer.json)


def test_every_entry_of_sparse_recovery_is_there():
    figures = (3, 4, 7, 9, 12, 13, 16, 17, 18, 19, 20, 21, 22, 24, 25, 26, 27, 28)
    wanted = {f"beyond-l2/fig{number}" for number in figures} | {"beyond-l2/thm3.1", "beyond-l2/thm3.6"}
    assert wanted <= set(EXPERIMENTS)


def test_show_prints_settings_and_claims(latebloom):
    answer = latebloom("show", "beyond-l2/fig3")
    assert answer.code == 0
    assert "learning rate α" in answer.out
    assert "threshold-as-printed (fails as printed)" in answer.out


def test_show_json_lists_every_claim(latebloom):
    claims = latebloom("show", "beyond-l2/fig4", "--json").json["claims"]
    assert [claim["id"] for claim in claims] == [claim.id for claim in EXPERIMENTS["beyond-l2/fig4"].claims]


def test_an_unknown_experiment_is_one_line_with_the_closest(latebloom):
    answer = latebloom("show", "beyond-l2/fig333")
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert "did you mean 'beyond-l2/fig33'?" in answer.err


def test_an_unknown_command_is_one_line_with_the_closest(latebloom):
    answer = latebloom("reprodce", "beyond-l2/fig3")
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert "reproduce" in answer.err


def test_help_and_list_do_not_import_jax():
    """JAX costs a second: it is imported inside the commands that need it."""
    script = (
        "import sys; from latebloom.cli import main\n"
        "try:\n    main(['list'])\n"
        "finally:\n    assert 'jax' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "beyond-l2/fig3" in done.stdout
    assert done.returncode == 0, done.stderr


def test_debug_shows_the_traceback(latebloom):
    assert "Traceback" in latebloom("show", "nothing", "--debug").err
