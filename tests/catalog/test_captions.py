"""The line below every figure: derived from the settings and their notes."""

from __future__ import annotations

import pytest

from latebloom.catalog import ENTRIES
from latebloom.catalog.captions import caption


def test_it_tells_the_draw_and_the_settings_by_their_letters():
    entry = ENTRIES["beyond-l2/fig3"]
    told = "n = 100, ζ = 1e-06, s = 5, N = 30, α = 0.1, β = 1e-05, 400,000 steps"
    assert caption(entry.id, entry.settings) == f"beyond-l2/fig3 · draw 0 · {told}"
    assert "draw 3" in caption(entry.id, entry.settings.but(seed=3))
    assert "β = 2e-06" in caption(entry.id, entry.settings.but(strength=2e-6))


def test_lists_are_told_whole_or_by_their_ends():
    said = caption("geometry/thm5.1", ENTRIES["geometry/thm5.1"].settings)
    assert "κ ∈ {1, 10, 100}" in said
    assert "λ = 0.1 … 1e-05" in said


@pytest.mark.parametrize("name", ENTRIES)
def test_it_fits_below_the_figure(name):
    """Two lines of small type."""
    assert len(caption(name, ENTRIES[name].settings)) < 280
