"""Every setting that `latebloom show` prints can be changed: jobs are built with it, or a sentence says why not."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

import latebloom as lb
from latebloom import catalog
from latebloom.catalog import ENTRIES, Entry
from latebloom.catalog.reproduction import file_name, reproduce
from latebloom.core.fields import Parameter, describe
from latebloom.errors import InputError, LatebloomError, UnknownNameError


def others(one: Parameter, value: Any) -> Iterator[Any]:
    """Other values of a setting, as one would try them; some may be out of its range."""
    if value is None:
        yield from (3, 0.5)
    elif one.kind in ("count", "seed"):
        yield from (value + 1, value - 1, 2 * value)
    elif one.kind == "number":
        yield from (0.9 * value, 1.1 * value, value + 0.1, value + 1)  # the first two are zero for zero
    elif one.kind == "numbers":
        yield from (tuple(item + 1 if isinstance(item, int) else 0.9 * item for item in value), value[:-1])
    elif one.kind == "choice":
        yield from (name for name in one.choices if name != value)
    elif one.kind == "flag":
        yield not value


def built(entry: Entry, settings: Any) -> list[str]:
    """What would be computed: the keys of the jobs, and the identities of the studies."""
    keys = [job.key for job in entry.jobs(settings).values()]
    return keys + [
        json.dumps(dict(one.configuration), sort_keys=True, default=str) for one in entry.study_list(settings)
    ]


def changed(entry: Entry) -> dict[str, Any]:
    """Another value for every setting, each of which its field takes."""
    found: dict[str, Any] = {}
    for one in describe(type(entry.settings)):
        value = getattr(entry.settings, one.name)
        for other in others(one, value):
            with contextlib.suppress(LatebloomError):
                if entry.configured({one.name: other}) != entry.settings:
                    found[one.name] = other
                    break
        assert one.name in found or one.kind == "text", f"no other value of {one.name} was found"
    return found


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=lambda entry: entry.id)
def test_every_setting_can_be_changed(entry):
    """All at once, or, where they do not go together, one by one: a build takes up to seconds."""
    changes = changed(entry)
    for name in changes:
        settings = entry.configured({name: changes[name]})
        assert file_name(entry, settings) != file_name(entry, entry.settings)
        assert entry.preset(settings) is None or name == "seed"
    with contextlib.suppress(LatebloomError):
        assert built(entry, entry.configured(changes)) != built(entry, entry.settings)
        return
    for name, value in changes.items():
        with contextlib.suppress(LatebloomError):  # a sentence; anything else is a fault of the entry
            built(entry, entry.configured({name: value}))


def test_a_list_that_is_too_short_is_refused_in_a_sentence():
    entry = ENTRIES["beyond-l2/fig9"]
    with pytest.raises(InputError, match=r"beyond-l2/fig9 cannot be run with long_steps=3e\+08 \(IndexError"):
        entry.jobs(entry.configured({"long_steps": "3e8"}))


def test_full_goes_together_with_set():
    entry = next(entry for entry in ENTRIES.values() if entry.full)
    name, value = next(iter(entry.full.items()))
    settings = entry.configured({"seed": 7}, full=True)
    assert (settings.seed, settings.values[name], entry.preset(settings)) == (7, value, "full")
    assert entry.preset(entry.configured({name: entry.settings.values[name]}, full=True)) in ("default", None)


def test_the_catalog_is_a_mapping():
    assert lb.catalog["beyond-l2/fig3"] is ENTRIES["beyond-l2/fig3"]
    assert len(lb.catalog) == len(list(lb.catalog)) == len(ENTRIES)
    assert dict(lb.catalog) == ENTRIES
    assert "beyond-l2/fig3" in lb.catalog
    assert "fig3" not in lb.catalog
    lines = repr(lb.catalog).splitlines()
    assert lines[0].split() == ["id", "claim", "cost"]
    assert len(lines) == len(ENTRIES) + 1
    with pytest.raises(UnknownNameError, match="of which paper"):
        lb.catalog["fig3"]
    with pytest.raises(UnknownNameError, match="did you mean 'beyond-l2/fig33'"):
        lb.catalog["beyond-l2/fig333"]


def test_entries_are_in_the_order_of_their_papers():
    assert [entry.figure_id for entry in catalog.select(["beyond-l2"])][:12] == [f"fig{n}" for n in range(1, 13)]
    assert [entry.paper for entry in ENTRIES.values()] == sorted(
        (entry.paper for entry in ENTRIES.values()), key=list(catalog.PAPERS).index
    )


def test_a_report_answers_by_its_parts(tmp_path):
    report = lb.reproduce("beyond-l2/fig25", store=tmp_path, learning_rate=0.05, seed=3, steps=2000)
    assert report.settings.seed == 3
    assert all(run.outcome.complete for run in report.runs.values())
    assert list(report.runs) == list(report.evidence[0].runs)
    first = report.claims[0]
    assert (first.id, first.text) == (first.claim.id, first.claim.text)
    assert (first.verdict in ("holds", "fails"), first.documented, str(first.bound) in first.expected) == (
        True,
        None,
        True,
    )
    frame = report.frame()
    assert list(frame["id"]) == [one.id for one in report.claims]
    name = next(iter(report.runs))
    assert report.frame(name)["step"].max() == 2000
    assert report.figure().axes
    assert "learning_rate=0.05" in repr(report)
    assert first.id in repr(report)
    with pytest.raises(UnknownNameError, match="unknown run of beyond-l2/fig25 'l3'"):
        report.frame("l3")
    several = reproduce("beyond-l2/fig25", store=tmp_path, seeds=(0, 1), steps=100)
    assert next(iter(several.runs)).startswith("seed 0: ")
    with pytest.raises(InputError, match="exclude each other"):
        reproduce("beyond-l2/fig25", store=tmp_path, seeds=(0, 1), seed=3)


def test_settings_are_frozen_and_known():
    settings = lb.catalog["beyond-l2/fig3"].settings
    with pytest.raises(AttributeError, match="settings stay as they are"):
        settings.seed = 3
    with pytest.raises(UnknownNameError, match="unknown setting 'sed'"):
        type(settings)(sed=3)
    assert settings == settings.but(seed=settings.seed) != settings.but(seed=5)
    assert hash(settings) == hash(settings.but(seed=settings.seed))
