"""Panels of Fourier features: their norms and all pairs of them before and after, the spectrum, one circle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.figures.look import GREY, THEORY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEFORE, AFTER = GREY, "#D55E00"


def norms(axis: Axes, start: np.ndarray, end: np.ndarray, spread: float) -> None:
    """`|Re F_k|` and `|Im F_k|` over their mean, against k; the band is chance, its standard deviation `spread`."""
    frequencies = np.arange(1, len(start) // 2 + 1)
    axis.axhspan(1 - spread, 1 + spread, color=GREY, alpha=0.12, linewidth=0)
    axis.axhline(1.0, color=THEORY, linestyle="--", linewidth=0.8)
    for values, colour, when in ((start, BEFORE, "start"), (end, AFTER, "end")):
        scaled, dots = values / values.mean(), {"color": colour, "markersize": 3.6}
        axis.plot(frequencies, scaled[::2], "o", label=f"real part, {when}", **dots)
        axis.plot(frequencies, scaled[1::2], "o", label=f"imaginary, {when}", markerfacecolor="white", **dots)
    axis.set_xlabel("frequency $k$")
    axis.set_ylabel(r"norm of $\mathrm{Re}\,F_k$, $\mathrm{Im}\,F_k$ / mean")
    reach = 1.75 * np.abs(start / start.mean() - 1).max()
    axis.set_ylim(1 - reach, 1 + reach)
    axis.legend(loc="upper center", ncols=2, fontsize=6, handletextpad=0.2, columnspacing=1.0)


def pairs(axis: Axes, start: np.ndarray, end: np.ndarray, label: str, **options: Any) -> None:
    """A symmetric matrix of all pairs of features, below the diagonal at the start, above it at the end."""
    size = len(start)
    both = np.where(np.tri(size, k=-1, dtype=bool), start, end)
    np.fill_diagonal(both, np.nan)
    # Cells are drawn at the frequencies: two rows a frequency, real and imaginary part.
    edge = (size // 2) + 0.5
    picture = axis.imshow(
        both, extent=(0.5, edge, edge, 0.5), interpolation="nearest", aspect="equal", rasterized=True, **options
    )
    axis.grid(visible=False)
    axis.set_xlabel("frequency $k$")
    axis.set_ylabel("frequency $k$")
    axis.locator_params(integer=True, nbins=6)
    box: Any = {"boxstyle": "round,pad=0.25", "facecolor": "white", "alpha": 0.85, "linewidth": 0}
    for place, text in (((0.03, 0.04), "start"), ((0.97, 0.96), "end")):
        sides: Any = {"ha": "left", "va": "bottom"} if text == "start" else {"ha": "right", "va": "top"}
        axis.text(*place, text, transform=axis.transAxes, fontsize=7, bbox=box, **sides)
    figure = axis.figure
    figure.colorbar(picture, ax=axis, label=label, shrink=0.95, pad=0.02)


def spectrum(axis: Axes, start: np.ndarray, end: np.ndarray) -> None:
    """The share of every frequency in the power of an embedding; dashed where all are alike."""
    frequencies = np.arange(1, len(start) + 1)
    axis.bar(frequencies, 100 * end, width=0.8, color=AFTER, label="end")
    axis.plot(frequencies, 100 * start, "o", color=BEFORE, markersize=2.4, label="start")
    axis.axhline(100 / len(start), color=THEORY, linestyle="--", linewidth=0.8)
    axis.set_xlabel("frequency $k$")
    axis.set_ylabel("power of the embedding (%)")
    axis.locator_params(axis="x", integer=True, nbins=6)
    axis.legend(fontsize=6)


def residues(axis: Axes, points: np.ndarray, frequency: int) -> None:
    """The residues in the plane of one frequency, joined in the order in which they go round."""
    modulus = len(points)
    order = np.argsort(frequency * np.arange(modulus) % modulus)
    axis.plot(*points[np.append(order, order[0])].T, color=GREY, linewidth=0.5, zorder=1)
    axis.scatter(*points.T, c=np.arange(modulus), cmap="viridis", s=8, zorder=2)
    axis.set_aspect("equal", adjustable="datalim")
    axis.set_xlabel(rf"along $\mathrm{{Re}}\,F_{{{frequency}}}$")
    axis.set_ylabel(rf"along $-\mathrm{{Im}}\,F_{{{frequency}}}$")
