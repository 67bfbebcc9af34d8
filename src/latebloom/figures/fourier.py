"""Panels of Fourier features: their norms and all pairs of them before and after, the spectrum, one circle."""

from __future__ import annotations

from typing import Any

import numpy as np

from latebloom.figures.traces import Axis, Heat, Line, Note, Panel, Rule, Trace

BEFORE, AFTER = "grey", "test"
FREQUENCY = Axis("frequency $k$", whole=True)


def norms(start: np.ndarray, end: np.ndarray, spread: float) -> Panel:
    """`|Re F_k|` and `|Im F_k|` over their mean, against k; the band is chance, its standard deviation `spread`."""
    frequencies = np.arange(1, len(start) // 2 + 1)
    traces: list[Trace] = [
        Rule(1 - spread, "chance: one standard deviation", "grey", across="y", to=1 + spread),
        Rule(1.0, name="mean", across="y", width=0.8),
    ]
    for values, role, when in ((start, BEFORE, "start"), (end, AFTER, "end")):
        scaled = values / values.mean()
        traces.append(Line(frequencies, scaled[::2], f"real part, {when}", role, "points", size=3.6, above=1))
        traces.append(
            Line(frequencies, scaled[1::2], f"imaginary, {when}", role, "points", size=3.6, hollow=True, above=1)
        )
    reach = 1.75 * float(np.abs(start / start.mean() - 1).max())
    label = Axis(r"norm of $\mathrm{Re}\,F_k$, $\mathrm{Im}\,F_k$ / mean", low=1 - reach, high=1 + reach)
    return Panel(traces, FREQUENCY, label, legend="above")


def pairs(start: np.ndarray, end: np.ndarray, label: str, **heat: Any) -> Panel:
    """A symmetric matrix of all pairs of features, below the diagonal at the start, above it at the end."""
    size = len(start)
    both = np.where(np.tri(size, k=-1, dtype=bool), start, end)
    np.fill_diagonal(both, np.nan)
    # Cells are drawn at the frequencies: two rows per frequency, real and imaginary part.
    places, edge = 0.75 + np.arange(size) / 2, size // 2 + 0.5
    traces = [
        Heat(places, places, both, label, bar=True, **heat),
        Note("start", 0.03, 0.04, panel=True, boxed=True),
        Note("end", 0.97, 0.96, panel=True, boxed=True, align="right top"),
    ]
    axes = Axis("frequency $k$", low=0.5, high=edge, whole=True), Axis("frequency $k$", low=edge, high=0.5, whole=True)
    return Panel(traces, *axes, equal=True, grid=False, legend=None)


def spectrum(start: np.ndarray, end: np.ndarray, **panel: Any) -> Panel:
    """The share of every frequency in the power of an embedding, and the level where all are alike."""
    frequencies = np.arange(1, len(start) + 1)
    traces = [
        Line(frequencies, 100 * end, "end", AFTER, "bars"),
        Line(frequencies, 100 * start, "start", BEFORE, "points", size=2.4, above=1),
        Rule(100 / len(start), "all alike", across="y", width=0.8),
    ]
    return Panel(traces, FREQUENCY, Axis("power of the embedding", unit="%"), **panel)


def residues(points: np.ndarray, frequency: int, **panel: Any) -> Panel:
    """The residues in the plane of one frequency, joined in the order in which they go round."""
    modulus = len(points)
    order = np.argsort(frequency * np.arange(modulus) % modulus)
    around = points[np.append(order, order[0])]
    traces = [
        Line(around[:, 0], around[:, 1], "", "grey", name="in order", width=0.5),
        Line(points[:, 0], points[:, 1], "residue", marks="points", by=np.arange(modulus), size=3.8, above=1),
    ]
    x, y = (rf"along $\mathrm{{Re}}\,F_{{{frequency}}}$", rf"along $-\mathrm{{Im}}\,F_{{{frequency}}}$")
    return Panel(traces, Axis(x), Axis(y), equal=True, legend=None, **panel)
