"""`list` and `show`."""

from __future__ import annotations

import subprocess
import sys

from latebloom.catalog import ENTRIES


def test_list_json_has_the_agreed_keys(latebloom):
    answer = latebloom("list", "--json")
    assert answer.code == 0
    assert {entry["id"] for entry in answer.json} == set(ENTRIES)
    assert all(set(entry) == {"id", "paper", "figure", "claim", "seconds"} for entry in answer.json)


def test_every_entry_of_sparse_recovery_is_there():
    figures = (3, 4, 7, 9, 12, 13, 16, 17, 18, 19, 20, 21, 22, 24, 25, 26, 27, 28)
    wanted = {f"beyond-l2/fig{number}" for number in figures} | {"beyond-l2/thm3.1", "beyond-l2/thm3.6"}
    assert wanted <= set(ENTRIES)


def test_show_prints_settings_and_claims(latebloom):
    answer = latebloom("show", "beyond-l2/fig3")
    assert answer.code == 0
    assert "learning_rate        0.1  α" in answer.out
    assert "threshold-as-printed (fails as printed)" in answer.out
    assert "expected: t2/t1 at least 300" in answer.out


def test_show_json_lists_every_claim(latebloom):
    shown = latebloom("show", "beyond-l2/fig4", "--json").json
    claims = shown["claims"]
    assert claims[0]["bound"] == {"kind": "interval", "low": -1.02, "high": -0.98, "strict": False}
    (strengths,) = [one for one in shown["settings"] if one["name"] == "strengths"]
    assert strengths["type"] == "numbers"
    assert strengths["allowed"] == "finite and above 0"
    assert len(strengths["default"]) == 6
    assert [claim["id"] for claim in claims] == [claim.id for claim in ENTRIES["beyond-l2/fig4"].claims]


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


def test_coverage_counts_and_lists(latebloom):
    told = latebloom("coverage", "--json").json
    assert [one["document"] for one in told] == ["beyond-l2", "blog", "riemannian", "geometry", "dichotomy"]
    for one in told:
        states = sum(one[state] for state in ("checked", "in_part", "not_checkable", "not_covered"))
        assert states == one["statements"] == len(one["list"])
    assert "geometry" in latebloom("coverage").out
    assert "did you mean 'riemannian'" in latebloom("coverage", "rieman").err


def test_coverage_of_a_document_shows_its_statements(latebloom, monkeypatch):
    from latebloom import catalog
    from latebloom.catalog.statements import Register, stated

    rows = (stated("Figure 3", "It groks.", "fig3/grokking"), stated("Section 1", "A programme.", because="an outlook"))
    monkeypatch.setitem(catalog.REGISTERS, "mine", Register("mine", "beyond-l2", "Mine", rows))
    shown = latebloom("coverage", "mine").out
    assert "Figure 3: It groks.\n  checked\n    beyond-l2/fig3/grokking" in shown
    assert "not checkable (an outlook)" in shown
    assert "100%" in shown
