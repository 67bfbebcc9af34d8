"""The record of the controls: by which change of the mechanism each claim turned.

`python tests/catalog/test_turned.py ID…` breaks the mechanism of entries and writes `turned.json`: no claim without it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from latebloom.catalog import ENTRIES

RECORD = Path(__file__).with_name("turned.json")


def kept() -> dict[str, dict[str, str | None]]:
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}


def test_every_claim_has_turned_by_some_change():
    found = kept()
    assert {name: list(found.get(name, {})) for name in ENTRIES} == {
        name: [claim.id for claim in entry.claims] for name, entry in ENTRIES.items()
    }, "run `python tests/catalog/test_turned.py ID`, and commit its record"
    assert not [(name, claim) for name, claims in found.items() for claim, by in claims.items() if by is None]


def write(names: list[str]) -> None:
    """Tries the controls of entries and puts what turned their claims into the record."""
    from latebloom import catalog
    from latebloom.catalog.reproduction import turn

    record = kept()
    for number, entry in enumerate(chosen := catalog.select(names), start=1):
        print(f"[{number}/{len(chosen)}] {entry.id}", file=sys.stderr)
        record[entry.id] = {one.claim.id: None if one.by is None else str(one.by) for one in turn(entry)}
    ordered = {name: record[name] for name in ENTRIES if name in record}
    RECORD.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1:])
