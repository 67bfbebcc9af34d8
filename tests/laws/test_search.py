"""The adaptive search on planted probabilities: what it says holds, and it asks little."""

from __future__ import annotations

import numpy as np
import pytest

from latebloom.errors import InputError
from latebloom.laws.search import Search


def made(search: Search, middle: float, scale: float, seed: int) -> Search:
    """A search to its end, the outcomes drawn with a planted probability."""
    draws = np.random.default_rng(seed)
    chances = 1 / (1 + np.exp(-np.clip((search.places - middle) / scale, -700, 700)))
    while cells := search.propose():
        for cell in cells:
            search.tell(cell, crossed=bool(draws.random() < chances[cell]))
    return search


def test_the_interval_covers_and_takes_a_fifth_of_the_grid():
    """A hundred planted crossings, rising and falling; `latebloom bench boundary` has the same for other widths."""
    covered, runs = 0, []
    for seed in range(100):
        draws = np.random.default_rng([7, seed])
        middle, side = draws.uniform(0.2, 0.8), draws.choice([-1, 1])
        search = made(Search(range(41), seeds=15), middle, side * 0.015, seed)
        low, high = search.known.interval()
        covered += low <= middle <= high
        runs.append(search.runs)
        assert search.why == "narrow"
    assert 90 <= covered <= 99
    assert np.mean(runs) <= 41 * 15 / 5


def test_it_asks_where_it_matters_and_the_same_each_time():
    searches = [made(Search(range(5, 96), seeds=20), 0.3, 0.01, seed=3) for _ in range(2)]
    np.testing.assert_array_equal(searches[0].tried, searches[1].tried)
    tried = searches[0].tried
    near = np.abs(searches[0].places - 0.3) < 0.1
    assert tried[near].sum() > 0.7 * tried.sum()


def test_a_width_that_was_asked_for_is_in_values_of_the_axis():
    values = np.geomspace(1e-6, 1e-2, 41)
    search = made(Search(values, scale="log", seeds=20, width=3e-5), 0.5, 0.01, seed=0)
    low, high = search.interval
    assert search.why == "narrow"
    assert high - low <= 3e-5
    assert low < 1e-4 * 1.3
    assert high > 1e-4 / 1.3


@pytest.mark.parametrize(("outcome", "why"), [(False, "none"), (True, "all")])
def test_it_ends_where_all_are_alike(outcome, why):
    search = Search(range(50), seeds=20)
    while cells := search.propose():
        for cell in cells:
            search.tell(cell, crossed=outcome)
    assert search.why == why
    assert search.runs <= 40


def test_it_spends_no_more_than_it_may():
    search = made(Search(range(50), seeds=20, most_runs=21), 0.5, 0.2, seed=1)
    assert (search.why, search.runs) == ("spent", 21)


def test_values_without_runs_are_left_out():
    search = Search(range(50), seeds=20)
    for number in range(10):
        search.leave_out(number)
    assert min(search.propose()) == 10
    search = made(search, 0.5, 0.01, seed=0)
    assert search.tried[:10].sum() == 0
    for number in range(48):
        search.leave_out(number)
    assert search.why == "impossible"


@pytest.mark.parametrize(
    ("values", "named", "words"),
    [
        ([1, 2], {}, "at least 3 rising values"),
        ([3, 2, 1], {}, "at least 3 rising values"),
        ([1, float("nan"), 3], {}, "must be finite"),
        ([0, 1, 2], {"scale": "log"}, "has no logarithm"),
        ([1, 2, 3], {"scale": "square"}, "unknown scale"),
        ([1, 2, 3], {"width": 0}, "width=0 is not allowed"),
        ([1, 2, 3], {"seeds": 0}, "seeds=0 is not allowed"),
    ],
)
def test_what_it_refuses(values, named, words):
    with pytest.raises(InputError, match=words):
        Search(values, **named)
