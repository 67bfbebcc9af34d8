"""Milestones on hand-made curves."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latebloom.engine.milestones import (
    Crossing,
    Milestone,
    Milestones,
    Watch,
    find,
    pin,
    sharpness,
)
from latebloom.engine.summary import read_milestones

WATCH = Watch("generalised", "test_error", 0.1)
NAN = float("nan")


def on(values: list[float], steps: list[int] | None = None) -> Milestone:
    return find(WATCH, np.array(steps or [0, 1, 2, 5, 10, 20, 50][: len(values)]), np.array(values))


def at(step: int, before: int) -> Crossing:
    return Crossing(step, (before, step))


@pytest.mark.parametrize(
    ("values", "first", "stable", "lost"),
    [
        ([1, 0.5, 0.05, 0.01], at(2, 1), at(2, 1), None),
        ([1, 0.5, 0.1], at(2, 1), at(2, 1), None),  # at the threshold is below it
        ([1, 0.5, 0.1000001], None, None, None),
        ([0.05, 0.05, 0.05], at(0, 0), at(0, 0), None),
        ([0.05, 1, 0.05], at(0, 0), at(2, 1), 1),
        ([1, 0.05, 1, 0.05, 0.01], at(1, 0), at(5, 2), 2),
        ([1, 0.05, 1, 0.05, 1], at(1, 0), None, 2),
        ([1, 0.05, NAN, 0.05], at(1, 0), at(5, 2), 2),
        ([NAN, 0.05], at(1, 0), at(1, 0), None),
        ([NAN, NAN], None, None, None),
        ([1, 0.05, NAN], at(1, 0), None, 2),
        ([1, -np.inf], at(1, 0), at(1, 0), None),
        ([0.01], at(0, 0), at(0, 0), None),
    ],
)
def test_crossings(values, first, stable, lost):
    milestone = on(values)
    assert (milestone.first, milestone.stable, milestone.lost) == (first, stable, lost)
    assert milestone.censored is (first is None)
    assert milestone.step == (None if first is None else first.step)
    assert milestone.last_step == [0, 1, 2, 5, 10, 20, 50][len(values) - 1]


@given(st.lists(st.sampled_from([0.05, 0.1, 0.2, NAN]), min_size=1, max_size=12))
def test_find_is_a_walk_along_the_curve(values):
    """Rung 2: the definition, read record by record."""
    first = stable = lost = None
    below = False
    for step, value in enumerate(values):
        was, below = below, value <= 0.1
        if below and not was:
            first, stable = (step if first is None else first), step
        if was and not below:
            lost, stable = (step if lost is None else lost), None
    milestone = on(values, list(range(len(values))))
    found = (milestone.step, None if milestone.stable is None else milestone.stable.step, milestone.lost)
    assert found == (first, stable, lost)


def both(train: list[float], test: list[float]) -> tuple[np.ndarray, Milestone, Milestone]:
    steps = np.array([0, 1, 2, 5, 10, 20, 50, 100])
    memorised = find(Watch("memorised", "train_error", 0.1), steps, np.array(train))
    return steps, memorised, find(WATCH, steps, np.array(test))


SOON = [1, 0.5, 0.05, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ([1, 1, 1, 1, 1, 1, 1, 0.01], 1.0),  # a cliff: it had not halved before
        ([1, 1, 0.8, 0.7, 0.4, 0.2, 0.2, 0.05], 10 / 100),  # halved since step 2 by step 10 of 100
        ([1, 1, 0.15, 0.14, 0.12, 0.11, 0.1, 0.1], 1.0),  # it generalised before it had halved: never halved
    ],
)
def test_sharpness_is_where_the_test_error_had_halved(test, expected):
    steps, memorised, generalised = both(SOON, test)
    found = sharpness(steps, np.array(test), memorised, generalised)
    assert found == (expected if min(test) <= test[2] / 2 else None)


@pytest.mark.parametrize(
    ("train", "test"),
    [
        (SOON, [1] * 8),  # never generalised
        ([1] * 8, SOON),  # never memorised
        (SOON, [1, 0.01, 0, 0, 0, 0, 0, 0]),  # generalised first
        (SOON, SOON),  # together
    ],
)
def test_sharpness_needs_a_delay(train, test):
    steps, memorised, generalised = both(train, test)
    assert sharpness(steps, np.array(test), memorised, generalised) is None


def test_pin_moves_the_crossing_and_keeps_the_bracket():
    milestone = on([1, 1, 1, 0.05, 1, 0.05])
    pinned = pin(milestone, first=4, stable=17)
    assert pinned.first == Crossing(4, (2, 5), pinned=True)
    assert pinned.stable == Crossing(17, (10, 20), pinned=True)
    assert pinned.step == 4
    assert pin(on([1, 1]), first=3, stable=3) == on([1, 1])


def some(memorised: Milestone | None, generalised: Milestone | None) -> Milestones:
    return Milestones(memorised, generalised, 0.5)


CURVES = {
    "reached": some(pin(on([1, 0.05]), first=1, stable=1), pin(on([1] * 6 + [0.05]), first=40, stable=40)),
    "censored": some(on([1, 0.05]), on([1, 1])),
    "lost": some(on([1, 0.05, 1]), on([1, 0.05, 1, 0.05])),
    "no test": Milestones(on([1, 0.05]), None, None),
    "nothing": Milestones(None, None, None),
    "at step 0": some(on([0.05]), on([0.05])),
}


@pytest.mark.parametrize("milestones", CURVES.values(), ids=CURVES.keys())
def test_what_is_stored_is_read_back(milestones):
    assert read_milestones(json.loads(json.dumps(asdict(milestones)))) == milestones


def test_delay_and_ratio():
    assert (CURVES["reached"].delay, CURVES["reached"].ratio) == (39, 40.0)
    for name in ("censored", "no test", "nothing"):
        assert (CURVES[name].delay, CURVES[name].ratio) == (None, None)
    assert (CURVES["at step 0"].delay, CURVES["at step 0"].ratio) == (0, None)


def test_milestones_are_sentences():
    assert str(CURVES["reached"]) == "generalised at step 1, generalised at step 40, delay 40x"
    assert str(CURVES["nothing"]) == "no milestones"
    assert str(on([1, 1, 1])) == "not generalised by step 2 (test_error ≤ 0.1)"
    assert str(on([1, 0.05, 1])) == "generalised at step 1 [0, 1], lost again by step 2"
    assert str(on([1, 0.05], [999, 1_000_000])) == "generalised at step 1,000,000 [999, 1,000,000]"


@pytest.mark.parametrize(
    ("train", "test", "sentence"),
    [
        ([1, 1, 0.05], [1, 0.05], "memorised at step 2 [1, 2], generalised at step 1 [0, 1]; "),
        ([1, 1, 1], [1, 0.05], "not memorised by step 2 (train_error ≤ 0.1), generalised at step 1 [0, 1]; "),
    ],
)
def test_without_a_delay_there_is_no_grokking(train, test, sentence):
    steps = np.arange(3)
    memorised = find(Watch("memorised", "train_error", 0.1), steps[: len(train)], np.array(train))
    milestones = some(memorised, find(WATCH, steps[: len(test)], np.array(test)))
    assert milestones.reversed
    assert str(milestones) == sentence + "generalised before it memorised: no grokking"


def test_what_was_there_at_the_first_record_was_there_at_most_then():
    assert str(on([0.05, 0.05])) == "generalised at most at step 0"
    flow = find(Watch("memorised", "train_error", 0.1), np.array([0.5, 1.0]), np.array([0.0, 0.0]), clock="time")
    later = find(WATCH, np.array([0.5, 1.0, 5.0]), np.array([1, 1, 0.0]), clock="time")
    sentence = "memorised at most at time 0.5, generalised at time 5 [1, 5], delay at least 10x"
    assert str(some(flow, later)) == sentence
    assert not some(flow, later).reversed
    assert not some(flow, flow).reversed  # at once is not before


def test_milestones_show_themselves_as_their_sentence():
    assert repr(CURVES["reached"]) == str(CURVES["reached"])
    assert repr(on([1, 0.05])) == "generalised at step 1 [0, 1]"


def test_json_of_a_milestone():
    shown = CURVES["reached"].to_json(learning_rate=0.5)
    assert shown["generalised"] == {
        "step": 40,
        "time": 20.0,
        "bracket": [20, 50],
        "pinned": True,
        "threshold": 0.1,
        "column": "test_error",
        "stable_step": 40,
        "stable_bracket": [20, 50],
        "lost": None,
    }
    assert shown["delay"] == 39
    assert CURVES["censored"].to_json(0.5)["generalised"] is None
    assert json.loads(json.dumps(shown)) == shown
