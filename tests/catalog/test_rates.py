"""The record of the rates: every claim on twenty draws that no bound was chosen on.

`python tests/catalog/test_rates.py ID…` computes entries on the draws 1000 to 1019 and writes `rates.json`; entries are
tried while they are made on small seeds, so that these are new to every bound. An entry takes twenty times its cost;
runs are kept in the user's store, so that families share them and an interrupted record goes on.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from math import sqrt
from pathlib import Path

import pytest

from latebloom.catalog import ENTRIES

RECORD = Path(__file__).with_name("rates.json")
DRAWS = range(1000, 1020)


@cache
def kept() -> dict:
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}


@pytest.mark.parametrize("name", kept())
def test_a_documented_rate_is_that_of_draws_no_bound_was_chosen_on(name):
    """Within two standard deviations of the share that held; at least twenty draws, of which it speaks of some."""
    seen = kept()[name]
    assert seen["draws"] >= 20
    claims = {claim.id: claim for claim in ENTRIES[name].claims}
    assert seen["claims"].keys() <= claims.keys(), "a claim is gone: compute the entry again"
    for key, (held, of) in seen["claims"].items():
        claim = claims[key]
        if of:
            slack = 2 * sqrt(claim.rate * (1 - claim.rate) / of)
            right = held / of >= claim.rate - slack if claim.documented else held / of < 0.5 + 1 / sqrt(of)
            assert right, (key, held, of, claim.rate)


def write(names: list[str]) -> None:
    """Computes entries on the draws and puts their rates into the record."""
    from latebloom import catalog
    from latebloom.catalog.reproduction import reproduce
    from latebloom.store import Store

    record, store = dict(kept()), Store()
    for number, entry in enumerate(chosen := catalog.select(names), start=1):
        print(f"[{number}/{len(chosen)}] {entry.id} ({len(DRAWS)} times: {entry.cost()})", file=sys.stderr)
        report = reproduce(entry, seeds=DRAWS, store=store)
        rates = {verdict.claim.id: [verdict.held, verdict.of] for verdict in report.verdicts}
        record[entry.id] = {"first": DRAWS[0], "draws": len(DRAWS), "claims": rates}
        ordered = {name: record[name] for name in ENTRIES if name in record}
        RECORD.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1:])
