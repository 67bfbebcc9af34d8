"""The store's benchmark measures a store of real folders. Nothing here looks at a clock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from latebloom.bench import store as bench
from latebloom.store import Store


@pytest.fixture(scope="module")
def made():
    return bench.example()


def test_copies_are_sound_runs_of_other_configurations(made, tmp_path):
    store = Store(tmp_path / "s")
    bench.fill(store, made, 205)
    assert store.examine().counts == {"sound": 205}
    frame = store.frame("seed = 7")
    assert frame["strength"].tolist() == pytest.approx([1e-6, 2e-6])
    assert len(store.frame(bench.WHERE)) == 2  # as many as a filter of strengths below 2e-5 and one seed has


def test_keeping_goes_the_way_of_the_engine(made, tmp_path):
    import latebloom as lb

    store = Store(tmp_path / "s")
    (told,) = bench.configurations(made, 1, first=3)
    bench.keep(store, made, [told])
    run = store.find(told)
    assert run is not None
    assert run.configuration["dynamics"]["penalty"] == "l1[strength=1e-06]"
    assert lb.load(run.id, store).t1 == replace(made, configuration=told).t1


def test_every_question_has_an_answer():
    results = bench.measure(runs=200, few=20, repeats=1, tiny=20)
    what = ["a filtered listing", "the same as a command", "memory of the listing", "adding a run"]
    assert [result.what for result in results] == [*what, "publishing a tiny run"]
    assert "2 of 200 runs chosen" in results[0].note
    ours, theirs = results[3].ours_seconds, results[3].theirs_seconds
    assert ours is not None
    assert theirs is not None
    assert results[3].ratio == ours / theirs
    assert "MB at most" in results[2].note
