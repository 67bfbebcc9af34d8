"""The circles of Figure 4: Fourier features of the embedding at the start and at the end of the isolated dynamics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.bounds import at_least, at_most
from latebloom.catalog.controls import Altered, Backwards, OtherBound
from latebloom.catalog.geometry.isolated import RUN, fig4, main_runs

WITHIN, ACROSS = 0, 1  # the columns of probes of pairs: one frequency, or two


def pairs_exchanged(e):
    """Pairs of features across frequencies stand where those within should."""
    runs = {
        name: replace(run, columns=run.columns | {"fourier_overlaps": run["fourier_overlaps"][:, ::-1]})
        for name, run in e.runs.items()
    }
    return replace(e, runs=runs)


ACROSS_WITHIN = Altered("pairs across frequencies in the place of those within", pairs_exchanged)


def falls(e, column):
    """End over start, run by run."""
    return [float(run[column][-1] / run[column][0]) for run in main_runs(e)]


def of_pairs(e, column, which, row):
    """One column of a probe of pairs at the start (row 0) or at the end (row -1), run by run."""
    return [float(run[column][row, which]) for run in main_runs(e)]


@fig4.claim(
    at_most(0.5),
    "their spread at the end over that at the start, which is that of chance, in every run,",
    source="Section 7.4.2, Figure 4 (top right)",
)
def norms_equalise(e):
    """The norms of the real and imaginary parts of the Fourier features equalise."""
    return max(falls(e, "fourier_spread"))


@fig4.claim(
    at_most(0.5),
    "mean |cos| at the end over that at the start, within and across frequencies, in every run,",
    source="Section 7.4.2, Figure 4 (bottom left)",
)
def orthogonal(e):
    """The real and imaginary parts of the Fourier features become orthogonal."""
    ends, starts = (
        [value for which in (WITHIN, ACROSS) for value in of_pairs(e, "fourier_cosines", which, row)] for row in (-1, 0)
    )
    return max(end / start for end, start in zip(ends, starts, strict=True))


@fig4.claim(
    at_most(0.1),
    "relative gap",
    source="Random directions in d_h dimensions: √(2/(π d_h))",
    kind="ours",
    control=Backwards(),
)
def orthogonal_from_chance(e):
    """Chance is nearly orthogonal already: mean |cos| across frequencies starts at that of random directions."""
    random = float(lb.probes.FourierCosines().baseline(e.settings.modulus, e.settings.width))
    return max(abs(value / random - 1) for value in of_pairs(e, "fourier_cosines", ACROSS, 0))


@fig4.claim(
    at_most(0.4),
    "mean cosine of absolute values across frequencies at the end, from 2/π = 0.64,",
    source="Section 7.4.2, Figure 4 (bottom right)",
)
def frequencies_separate(e):
    """The absolute values of Fourier features become very different for different frequencies."""
    return max(of_pairs(e, "fourier_overlaps", ACROSS, -1))


@fig4.claim(
    at_least(0.5),
    "share of units in which one frequency holds more than half of the power (by chance K/2^(K-1))",
    source="Section 7.4.2",
)
def own_units(e):
    """Each circle leverages a different subset of hidden units."""
    return min(run.final["dominated_units"] for run in main_runs(e))


@fig4.claim(
    at_least(0.2),
    "mean cosine of absolute values within a frequency less that across, at the end, in every run,",
    source="Section 7.4.2, Figure 4 (bottom right)",
)
def more_alike_within_a_frequency(e):
    """Absolute values of features are more alike for the same frequency than for different ones."""
    within_and_across = (of_pairs(e, "fourier_overlaps", which, -1) for which in (WITHIN, ACROSS))
    return min(same - other for same, other in zip(*within_and_across, strict=True))


@fig4.claim(
    at_least(0.5),
    "mean cosine of |Re F_k| and |Im F_k| at the end, as a share of the way from chance (2/π) to the same vector,",
    source="Section 7.4.2",
    fails="it is that of unrelated vectors",
    control=OtherBound(at_most(0.1)),
)
def same_frequency_as_printed(e):
    """For the same frequency the absolute values are very similar vectors."""
    chance = 2 / np.pi
    return max((value - chance) / (1 - chance) for value in of_pairs(e, "fourier_overlaps", WITHIN, -1))


@fig4.claim(
    at_most(0.03),
    "gap to 2/π at the start and at the end, in every run,",
    source="Two Gaussian vectors, or cos and sin of even phases: both give 2/π",
    kind="corrected",
    control=ACROSS_WITHIN,
)
def same_frequency_is_chance(e):
    """Corrected: within a frequency the cosine of absolute values is the 2/π of chance, before and after."""
    return max(abs(value - 2 / np.pi) for row in (0, -1) for value in of_pairs(e, "fourier_overlaps", WITHIN, row))


def circles(e, number):
    """The rows of a run's last embedding in the plane of every frequency."""
    from latebloom.probes.fourier import circle, frequencies

    embedding = np.asarray(e[RUN.format(number + 1)].params)
    return {k: circle(embedding, k) for k in range(1, frequencies(len(embedding)) + 1)}


def all_circles(e):
    """Frequency and points of every plane of every run."""
    return [pair for number in range(e.settings.runs) for pair in circles(e, number).items()]


def perfect(frequency, points):
    """The points of a perfect circle of that frequency and the same size, a residue a row."""
    angles = 2 * np.pi * frequency * np.arange(len(points)) / len(points)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.sum(points * circle) / len(points) * circle


def goes_round(points, step):
    """Whether one who goes round meets the residues 0, step, 2·step, …, in one sense or the other."""
    angles = np.arctan2(points[:, 1], points[:, 0])
    met = np.argsort(np.mod(angles - angles[0] + 1e-9, 2 * np.pi))
    wanted = np.arange(len(points)) * step % len(points)
    return bool((met == wanted).all() or (met[1:] == wanted[:0:-1]).all())


@fig4.claim(
    at_most(0.2),
    "distance of the embeddings to a perfect circle over its size, for every frequency of every run (0.3 to 0.4 at the "
    "start),",
    source="Section 7.4.2",
)
def embeddings_on_circles(e):
    """Projected on the plane of Re F_k and Im F_k the embeddings lie on a circle."""
    gaps = []
    for frequency, points in all_circles(e):
        ideal = perfect(frequency, points)
        gaps.append(float(np.linalg.norm(points - ideal) / np.linalg.norm(ideal)))
    return max(gaps)


@fig4.claim(
    at_least(1.0),
    "share of the circles on which 0, k, 2k, … follow each other",
    source="Section 7.4.2",
    fails="only those with k² = ±1 modulo p: residue j stands at place jk, so that 0 is followed by the inverse of k",
    control=OtherBound(at_most(0.5)),
)
def order_as_printed(e):
    """On the circle of frequency k the embeddings appear in the order 0, k, 2k, …, (p-1)k modulo p."""
    return float(np.mean([goes_round(points, frequency) for frequency, points in all_circles(e)]))


@fig4.claim(
    at_least(1.0),
    "share of the circles on which they follow each other so",
    source="Section 7.4.2, by the phase 2πjk/p of residue j",
    kind="corrected",
)
def order_by_the_inverse(e):
    """Corrected: on the circle of frequency k they appear in the order 0, m, 2m, … with mk = 1 modulo p."""
    modulus = e.settings.modulus
    return float(np.mean([goes_round(points, pow(frequency, -1, modulus)) for frequency, points in all_circles(e)]))
