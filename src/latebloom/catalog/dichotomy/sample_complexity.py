"""How many points the max l2- and the max l1-margin classifier need to generalise (Appendix E)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings, Study
from latebloom.catalog.bounds import at_least, at_most
from latebloom.catalog.controls import Altered, OtherBound
from latebloom.core.fields import count, numbers
from latebloom.figures import Axis, Figure, Line, Panel, Rule

NAME = "errors"
SPARSITY, TEST_SAMPLES = 3, 1000


class SampleSettings(Settings):
    """Points of signs, labelled by the majority of a few coordinates."""

    dimensions: tuple[int, ...] = numbers(default=(300, 3000), whole=True, least=1, note="d")
    counts: tuple[int, ...] = numbers(default=(16, 32, 64, 128, 256), whole=True, least=1, note="n, training points")
    sparsity: int = count(default=SPARSITY, note="k, odd: coordinates that vote on the label")
    draws: int = count(default=4, note="of every size")
    test_samples: int = count(default=TEST_SAMPLES, note="points to count errors on")


def exchanged(e):
    """The evidence in which each classifier has the errors of the other."""
    table = e.tables[NAME]
    return replace(e, tables={NAME: {**table, "l1": table["l2"], "l2": table["l1"]}})


sample_complexity = Entry(
    "dichotomy/sample-complexity",
    "Sample complexity of the two max-margin classifiers",
    "The max l1-margin classifier generalises from about k² log d points, the max l2-margin classifier does not.",
    source="Section 3.2.3, Appendix E.2, Theorems E.4 and E.5",
    seconds=12,
    settings=SampleSettings(),
    controls=(Altered("the two classifiers have changed places", exchanged),),
    full={"dimensions": (1000, 10_000)},
    notes=(
        "The paper prints bounds (entry app-e), which are above one at these sizes, and no experiment.",
        "--full takes under a minute.",
    ),
)


def measure(s):
    """Test errors, a row for each dimension, number of points and draw."""
    rows = []
    for dimension in s.dimensions:
        for points in s.counts:
            for draw in range(s.draws):
                chosen = {"sparsity": s.sparsity, "test_samples": s.test_samples, "seed": 1000 * s.seed + draw}
                data = lb.problems.SparseSigns(dimension, points, **chosen)
                found = lb.oracles.max_l2_margin(data), lb.oracles.max_l1_margin(data)
                errors = data.test_errors(np.stack([result.direction for result in found]))
                rows.append((dimension, points, draw, *errors, max(result.gap for result in found)))
    names = ("dimension", "count", "draw", "l2", "l1", "gap")
    return {name: np.array(column, dtype=float) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


@sample_complexity.studies
def errors_study(s):
    identity = {"experiment": sample_complexity.id, "version": 1, "seed": s.seed, "draws": s.draws}
    identity |= {"dimensions": list(s.dimensions), "counts": list(s.counts)}
    usual = {"sparsity": SPARSITY, "test_samples": TEST_SAMPLES}  # which version 1 leaves unsaid
    identity |= {name: getattr(s, name) for name, value in usual.items() if getattr(s, name) != value}
    return [Study(NAME, identity, lambda: measure(s))]


def errors_of(e, kind, dimension, points):
    """The test errors of the draws of a size."""
    table = e.tables[NAME]
    return table[kind][(table["dimension"] == dimension) & (table["count"] == points)]


def mean_error(e, kind, dimension, points):
    """Over the draws of a size."""
    return float(errors_of(e, kind, dimension, points).mean())


def with_most_points(e, kind):
    """The mean test error in the largest dimension at the most points."""
    return mean_error(e, kind, e.settings.dimensions[-1], e.settings.counts[-1])


def growth(e, kind):
    """The mean test error at the second-most points in the largest dimension minus that in the smallest."""
    small, *_, large = (mean_error(e, kind, dimension, e.settings.counts[-2]) for dimension in e.settings.dimensions)
    return large - small


MOST_POINTS = "mean test error at the most points, n = 256, in the larger dimension"


@sample_complexity.claim(at_most(0.01), MOST_POINTS, source="Section 3.2.3, Theorem E.4")
def l1_needs_few(e):
    """The max l1-margin classifier needs O(k² log d) points to generalise."""
    return with_most_points(e, "l1")


@sample_complexity.claim(at_least(0.3), MOST_POINTS, source="Section 3.2.3, Theorem E.5")
def l2_needs_many(e):
    """The max l2-margin classifier needs O(kd) points to generalise."""
    return with_most_points(e, "l2")


GROWTH = "mean test error at n = 128 in the larger dimension minus that in the smaller"


# At the larger size, where the smaller dimension is hard already, the first draw has 0.0795.
@sample_complexity.claim(
    at_least(0.08), GROWTH, source="Theorem E.5 (the bound grows as √d)", rate=0.8, full=at_least(0.05)
)
def l2_suffers_from_dimension(e):
    """Ten times the dimension costs the max l2-margin classifier dearly."""
    return growth(e, "l2")


@sample_complexity.claim(at_most(0.03), GROWTH, source="Theorem E.4 (the bound grows as √log d)", rate=0.8)
def l1_hardly_suffers(e):
    """Ten times the dimension costs the max l1-margin classifier little."""
    return growth(e, "l1")


@sample_complexity.claim(
    at_most(1e-6),
    "largest relative duality gap",
    source="Appendix E.2",
    kind="ours",
    control=OtherBound(at_most(0)),
)
def certified(e):
    """Every classifier is the best to a certified gap."""
    return float(e.tables[NAME]["gap"].max())


@sample_complexity.figure
def sample_figure(e):
    s, table, shown = e.settings, e.tables[NAME], []
    kinds = ("l2", "train", r"max $L^2$-margin"), ("l1", "norm", r"max $L^1$-margin")
    x = Axis("training points $n$", "log", ticks={points: str(points) for points in s.counts})
    for dimension in s.dimensions:
        here, traces = table["dimension"] == dimension, []
        for kind, role, label in kinds:
            means = [1 - mean_error(e, kind, dimension, points) for points in s.counts]
            draws = Line(
                table["count"][here],
                1 - table[kind][here],
                "",
                role,
                "points",
                name=f"{label}, draws",
                size=2,
                opacity=0.4,
            )
            traces += [draws, Line(s.counts, means, label, role, "linked")]
        enough = Rule(s.sparsity**2 * np.log(dimension), r"$k^2 \log d$", "cycle 4")
        y = Axis("test accuracy", low=0.45, high=1.03)
        shown.append(Panel([*traces, enough], x, y, title=f"d = {dimension:,}", legend="upper left"))
    return Figure([shown])
