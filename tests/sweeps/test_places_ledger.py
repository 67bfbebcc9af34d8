"""What is done after a worker died: again, then cell by cell, then a sentence; never more, never less."""

from __future__ import annotations

from latebloom.sweeps.places.ledger import DEATHS, STOPS, Ledger
from latebloom.sweeps.shards import Done, Shard


def shard(*cells: int) -> Shard:
    return Shard(7, {}, cells, "store")


def done(one: Shard) -> Done:
    return Done(one.number, tuple(f"id{cell}" for cell in one.cells), len(one.cells), 1.5)


def test_a_shard_that_comes_back_is_over():
    ledger = Ledger([shard(0, 1)])
    assert ledger.open
    assert ledger.made(shard(0, 1), done(shard(0, 1))) == done(shard(0, 1))
    assert not ledger.open


def test_after_two_deaths_cells_go_alone_and_only_the_guilty_one_fails():
    whole = shard(3, 4, 5)
    ledger = Ledger([whole])
    assert ledger.lost(whole, "of SIGKILL") == ([whole], None)
    alone, nothing = ledger.lost(whole, "of SIGKILL")
    assert nothing is None
    assert [one.cells for one in alone] == [(3,), (4,), (5,)]
    assert ledger.left(whole, done(whole)) == done(whole)
    assert ledger.left(alone[0], done(alone[0])) is None  # its ids would be taken for those of the shard
    assert ledger.made(alone[2], done(alone[2])) is None
    assert ledger.lost(alone[1], "of SIGKILL") == ([], None)
    made = ledger.made(alone[0], done(alone[0]))
    assert made is not None
    assert (made.number, made.ids, made.computed, made.seconds) == (7, ("id3", None, "id5"), 2, 3.0)
    assert made.failed.keys() == {4}
    assert "3 workers died over it, the last of SIGKILL" in made.failed[4]
    assert not ledger.open


def test_a_shard_of_one_cell_has_three_tries():
    one = shard(9)
    ledger = Ledger([one])
    for _ in range(DEATHS - 1):
        assert ledger.lost(one, "of SIGSEGV") == ([one], None)
    again, made = ledger.lost(one, "of SIGSEGV")
    assert not again
    assert made is not None
    assert made.ids == (None,)
    assert made.failed.keys() == {9}


def test_a_worker_that_leaves_in_order_is_no_death():
    one = shard(9)
    ledger = Ledger([one])
    for _ in range(STOPS):
        assert ledger.stopped(one, "at a signal") == ([one], None)
    again, made = ledger.stopped(one, "at a signal")
    assert not again
    assert made is not None
    assert "50 workers left before its end" in made.failed[9]
