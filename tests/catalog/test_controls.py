"""Controls: a claim that says something turns when the mechanism is broken, and one that cannot fail does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import latebloom as lb
from latebloom.catalog import controls
from latebloom.catalog.base import Entry, Settings, Study
from latebloom.catalog.bounds import at_least, at_most, within
from latebloom.catalog.claims import NotAsked
from latebloom.catalog.controls import Altered, Instead, OtherBound, Set
from latebloom.catalog.reproduction import turn
from latebloom.core.fields import number
from latebloom.engine.storage import InterruptedWork


class SparseSettings(Settings):
    strength: float = number(default=2e-4, least=0, note="β")


def entry_with(**claims) -> Entry:
    """Sparse recovery with l1 and without, and claims by their ids: bound, measure, options."""
    entry = Entry("a/b", "", "", source="here", seconds=1, settings=SparseSettings(seed=1))

    @entry.runs
    def runs(s):
        problem = lb.problems.SparseRecovery(20, 2, 12, seed=s.seed)

        def job(strength):
            penalty = lb.L1(strength)
            return lb.TrainJob(problem, lb.GradientDescent(0.1), penalty, steps=3_000, generalised_at=0.1)

        return {"l1": job(s.strength), "without": job(0.0)}

    @entry.studies
    def studies(s):
        return [Study("line", {"seed": s.seed}, lambda: {"x": np.arange(3.0), "y": 2 * np.arange(3.0)})]

    for name, (bound, measure, options) in claims.items():
        entry.claim(bound, id=name, text="One.", **options)(measure)
    return entry


def error(e):
    return e["l1"].final["test_error"]


def turned_by(tmp_path, bound, measure, **options):
    """The control that turned a claim, in words, and what was measured then."""
    (found,) = turn(entry_with(one=(bound, measure, options)), store=tmp_path / "store")
    return str(found.by) if found.by else None, found.measured


def test_a_claim_turns_by_the_first_change_that_breaks_it(tmp_path):
    words, measured = turned_by(tmp_path, at_most(0.1), error)
    assert words == "the runs have changed places"
    assert measured > 0.1


@pytest.mark.parametrize(
    ("bound", "measure", "words"),
    [
        (at_least(0.5), lambda e: e["without"].final["test_error"], "the runs have changed places"),
        (at_most(1e-9), lambda e: float(np.abs(e.settings.seed - 1)), "the truth is another draw's"),
        (at_most(0.01), lambda e: max(run.final["train_error"] for run in e.runs.values()), "nothing is trained"),
        (within(1.9, 2.1), lambda e: e.tables["line"]["y"][-1] / e.tables["line"]["x"][-1], None),
        (within(3.9, 4.1), lambda e: e.tables["line"]["y"][-1], "the runs have changed places"),
    ],
)
def test_the_usual_controls(tmp_path, bound, measure, words):
    found, _ = turned_by(tmp_path, bound, measure)
    assert found is words if words is None else words in found


def test_what_cannot_fail_or_cannot_be_measured_does_not_turn(tmp_path):
    assert turned_by(tmp_path, at_least(0), error) == (None, None)
    one_run = turned_by(tmp_path, at_most(1), lambda e: 0.5 if error(e) < 0.1 else float("nan"))
    assert one_run == (None, None), "a number that is none proves nothing"
    spoken = turned_by(tmp_path, at_most(1), lambda e: 0.5 if error(e) < 0.1 else NotAsked("elsewhere"))
    assert spoken == (None, None), "a claim that does not speak of the draw has not turned"

    def fails(e):
        if error(e) < 0.1:
            return 0.5
        raise ValueError("nothing to measure")

    assert turned_by(tmp_path, at_most(1), fails) == (None, None)


@pytest.mark.parametrize(
    ("control", "words"),
    [
        (Instead({"l1": "without"}), "'without' in the place of 'l1'"),
        (Set(strength=0.5), "set strength=0.5"),
        (OtherBound(at_most(1e-9)), "judged by at most 1e-09"),
        (Altered("the runs are gone", lambda e: replace(e, runs={"l1": e["without"]})), "the runs are gone"),
    ],
)
def test_a_control_of_the_claim_s_own_is_tried_first(tmp_path, control, words):
    assert turned_by(tmp_path, at_most(0.1), error, control=control)[0] == words


def test_a_claim_that_fails_turns_when_it_holds(tmp_path):
    assert turned_by(tmp_path, at_most(1e-9), error, fails="the bias")[0] is None
    put_right = turned_by(tmp_path, at_most(1e-9), error, fails="the bias", control=OtherBound(at_most(0.1)))
    assert put_right[0] == "judged by at most 0.1"


def test_without_its_penalty_a_run_keeps_its_slow_clock(tmp_path):
    by_penalty = turned_by(tmp_path, at_least(0.05), lambda e: e["l1"].final["slow_time"], control=Set(strength=1e-9))
    assert by_penalty[0] == "set strength=1e-09"
    job = lb.TrainJob(lb.problems.SparseRecovery(20, 2, 12), lb.GradientDescent(0.1), lb.L1(1e-3), steps=10)
    off = controls._without_penalty(job)
    new, old = lb.run(off), lb.run(job)
    assert new.final["slow_time"] == 0
    np.testing.assert_allclose(controls._same_clock(new, old)["slow_time"], old["slow_time"])
    assert controls._without_penalty(off) is None


def test_an_interrupt_is_not_a_world_without_numbers(tmp_path):
    def interrupted(e):
        raise InterruptedWork("interrupted")

    with pytest.raises(InterruptedWork):
        turned_by(tmp_path, at_most(0.1), error, control=Altered("Ctrl-C", interrupted))


def test_a_world_that_cannot_be_made_is_tried_once(tmp_path):
    calls = []

    def impossible(e):
        calls.append(e)
        raise KeyError("no such run")

    control = Altered("impossible", impossible)
    claims = {name: (at_most(0.1), error, {"control": control}) for name in ("one", "two")}
    assert [str(found.by) for found in turn(entry_with(**claims), store=tmp_path / "store")] == [
        "the runs have changed places"
    ] * 2
    assert len(calls) == 1


def test_evidence_with_other_columns_or_settings_keeps_the_rest(tmp_path):
    seen = {}

    def look(e):
        seen[len(seen)] = (float(e["l1"]["test_error"][-1]), e.settings.strength, e["without"]["step"][-1])
        return seen[len(seen) - 1][0] + e.settings.strength

    silent = Altered("no error", lambda e: controls.with_columns(e, "l1", test_error=np.zeros(len(e["l1"]["step"]))))
    stronger = Altered("β of 9", controls.with_settings(strength=9.0))
    entry = entry_with(
        silent=(at_least(1e-3), look, {"control": silent}), stronger=(at_most(1), look, {"control": stronger})
    )
    first, second = turn(entry, store=tmp_path)
    assert (str(first.by), str(second.by)) == ("no error", "β of 9")
    assert first.measured == pytest.approx(2e-4)
    assert second.measured > 9
    assert len({last for *_, last in seen.values()}) == 1
