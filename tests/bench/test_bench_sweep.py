"""What the benchmark of sweeps compares is the same to the bit. Nothing here looks at a clock."""

from __future__ import annotations

from pathlib import Path

import latebloom as lb
from latebloom.bench import sweep


def test_it_is_the_sweep_of_the_example():
    of_file = lb.Sweep.from_file(Path(__file__).parents[2] / "examples" / "rates.toml")
    for number in (0, 77, 179):
        assert sweep.law().cell(number).key == of_file.cell(number).key
    assert len(sweep.law()) == len(of_file)
    assert len(sweep.tiny(10_000)) == 10_000


def test_every_comparison_is_made_of_equal_runs():
    results = sweep.measure(side=2, seeds=1, shorter=1e3, cells=20)
    assert [result.target for result in results] == ["at least 1.8", "at most 1.1", "under 0.0666667 s"]
    assert "is the same to the bit" in results[0].note
