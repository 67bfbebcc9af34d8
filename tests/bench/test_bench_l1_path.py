"""The rows of the l1-path benchmark; nothing here looks at a clock."""

from __future__ import annotations

import json

from latebloom.bench import l1_path


def test_every_row_has_its_target_and_the_answers_agree(monkeypatch):
    monkeypatch.setattr(l1_path, "STRENGTH", 1e-4)  # ten times fewer steps
    alone, ratio = l1_path.measure(repeats=1, large=False)
    assert (alone.target, ratio.target) == ("under 0.01 s", "at least 15")
    assert alone.ours_seconds == ratio.ours_seconds
    assert "duality gap" in ratio.note
    off = float(ratio.note.partition("off by ")[2].partition(";")[0])
    assert off <= l1_path.AGREEMENT
    json.dumps([alone.to_json(), ratio.to_json()], allow_nan=False)
