"""The record of the last `make verify`: every claim with its bound, verdict and rate, and what was measured.

`make verify` computes the whole catalog (a quarter of an hour on two cores) and writes the record, which is committed:
no bound, verdict or rate changes unseen, and every bound is held against a measured number in each
test run. `python tests/catalog/test_record.py ID…` computes some entries only.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

import pytest

from latebloom.catalog import ENTRIES
from latebloom.core.json import parse, plain
from latebloom.store import run_key

RECORD = Path(__file__).with_name("verified.json")
TOLD = ("kind", "bound", "quantity", "documented", "verdict", "rate", "full")


def declared(claim) -> dict:
    """What an entry says of a claim."""
    told = claim.to_json()
    return json.loads(json.dumps({key: told[key] for key in TOLD}))


@cache
def kept() -> dict:
    return parse(RECORD.read_text(encoding="utf-8"))["entries"] if RECORD.exists() else {}


def test_the_record_has_every_entry():
    assert list(kept()) == list(ENTRIES), "run `make verify`, and commit its record"


@pytest.mark.parametrize("name", kept())
def test_bounds_verdicts_and_rates_are_those_of_the_record(name):
    found = {claim.id: declared(claim) for claim in ENTRIES[name].claims}
    assert found == {key: {part: claim[part] for part in TOLD} for key, claim in kept()[name]["claims"].items()}


@pytest.mark.parametrize("name", kept())
def test_what_was_measured_is_judged_as_it_was(name):
    """The whole catalog against its bounds, without a run."""
    for claim in ENTRIES[name].claims:
        seen = kept()[name]["claims"][claim.id]
        if seen["holds"] is None:  # the claim does not speak of this draw
            continue
        assert seen["holds"] == claim.documented, claim.id
        if claim.bound.to_json()["kind"] != "condition":
            assert claim.bound.judge(seen["measured"]) == seen["holds"], claim.id


@pytest.mark.parametrize("name", kept())
def test_the_runs_are_those_of_the_record(name):
    """Names and keys: a changed default of a problem or job is seen before anything is computed."""
    jobs = ENTRIES[name].jobs(ENTRIES[name].settings)
    assert runs_of(jobs) == kept()[name]["runs"]
    assert all(getattr(job, "solver", "") != "auto" for job in jobs.values()), "another choice would change the paper's"


def runs_of(jobs) -> dict[str, str]:
    """The keys of jobs by their names; of data given as an array, of which a key has a digest, none."""
    return {name: "" if "#" in job.text else run_key(job.configuration())[:12] for name, job in jobs.items()}


def write(names: list[str]) -> int:
    """Computes entries and puts them into the record; the exit code says whether every verdict is as documented."""
    from importlib.metadata import version

    from latebloom import catalog
    from latebloom.catalog.reproduction import reproduce

    record, wrong = dict(kept()), []
    for number, entry in enumerate(chosen := catalog.select(names), start=1):
        print(f"[{number}/{len(chosen)}] {entry.id} ({entry.cost()})", file=sys.stderr)
        report = reproduce(entry)
        wrong += [f"{entry.id} {verdict.claim.id}" for verdict in report.verdicts if not verdict.as_documented]
        claims = {
            verdict.claim.id: declared(verdict.claim) | {"measured": verdict.measured, "holds": verdict.holds}
            for verdict in report.verdicts
        }
        record[entry.id] = {"seed": report.settings.seed, "runs": runs_of(report.evidence[0].jobs), "claims": claims}
    whole = {"latebloom": version("latebloom"), "entries": {name: record[name] for name in ENTRIES if name in record}}
    RECORD.write_text(json.dumps(plain(whole, lossless=True), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(record)} entries in {RECORD.name}; not as documented: {', '.join(wrong) or 'none'}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(write(sys.argv[1:]))
