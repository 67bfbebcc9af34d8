"""How slowly linear logistic regression turns to the max-margin direction, to times like 10^(10^3) (Appendix B.1)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings, Study
from latebloom.catalog.bounds import at_most, each, near, within
from latebloom.catalog.controls import Altered
from latebloom.catalog.measures import log_slope
from latebloom.core.fields import count, number
from latebloom.core.seeds import generator
from latebloom.figures import Axis, Figure, Line, Panel

GENERIC, DEGENERATE = "generic", "degenerate"
SETTLED = 100.0  # log t from which rates are read


class RateSettings(Settings):
    """Two separable sets of points without bias: Gaussian ones, and one with a support vector of no weight."""

    dimension: int = count(default=5, note="d of the Gaussian points")
    samples: int = count(default=20, note="n of them")
    gap: float = number(default=1.0, above=0, note="how far they are pushed apart along a random direction")
    learning_rate: float = number(default=0.2, above=0, note="η of η/L(w), with which the exponent of t grows steadily")
    steps: int = count(default=30_000, note="of that descent")

    def points(self):
        """Inputs times labels: of the Gaussian points, and of (1, 0) and (1, 1)."""
        random = generator(self.seed, "points")
        inputs, truth = random.normal(size=(self.samples, self.dimension)), random.normal(size=self.dimension)
        truth /= np.linalg.norm(truth)
        signs = np.sign(inputs @ truth)
        apart = inputs * signs[:, None] + self.gap * truth
        return {GENERIC: apart, DEGENERATE: np.array([[1.0, 0.0], [1.0, 1.0]])}


def unturned(e):
    """The evidence with the direction of the first record at every record."""
    tables = {
        name: {**table, "distance": np.full_like(table["distance"], table["distance"][0])}
        for name, table in e.tables.items()
    }
    return replace(e, tables=tables)


linear_rate = Entry(
    "dichotomy/linear-rate",
    "Linear logistic regression turns to the max-margin direction like log log t / log t",
    "The distance from the max-margin direction falls like 1/log t on Gaussian points and like log log t / log t on "
    "points with a support vector of no weight.",
    source="Appendix B.1",
    seconds=4,
    settings=RateSettings(),
    controls=(Altered("the direction stays that of the first record", unturned),),
    notes=(
        "Descent with η/L(w), as in Figure 4: time is the sum of learning rates, and log t grows with the steps.",
        "The points (1, 0) and (1, 1) have max-margin direction (1, 0), and (1, 1) is on the margin with multiplier 0: "
        "the flow has w₂ + e^w₂ = w₁ + c, hence w₂/w₁ = log log t / log t.",
    ),
)


def descend(points, goal, *, learning_rate, steps):
    """log t and the distance of the direction from `goal`, at two hundred records."""
    records = np.unique(np.round(np.geomspace(1, steps, 200)).astype(int))
    weights, log_time, rows = np.zeros(points.shape[1]), -np.inf, []
    for step in range(1, steps + 1):
        margins = points @ weights
        with np.errstate(under="ignore"):
            # log ℓ and log of minus its slope; both are -m once e^-m is below every float
            losses = np.where(margins > 30, -margins, np.log(np.logaddexp(0, -np.minimum(margins, 30))))
            total = np.logaddexp.reduce(losses) - np.log(len(points))
            slopes = np.exp(-np.logaddexp(0, margins) - total)
        weights = weights + learning_rate * slopes @ points / len(points)
        log_time = np.logaddexp(log_time, np.log(learning_rate) - total)
        if step in records:
            rows.append([log_time, np.linalg.norm(weights / np.linalg.norm(weights) - goal)])
    clock, distances = np.array(rows).T
    return {"log_time": clock, "distance": distances}


@linear_rate.studies
def rate_studies(s):
    found, chosen = [], {"learning_rate": s.learning_rate, "steps": s.steps}
    for name, points in s.points().items():
        data = lb.problems.LabelledPoints(points, np.ones(len(points)))
        goal = lb.oracles.max_l2_margin(data).direction
        identity = {"points": name, "seed": s.seed, "d": s.dimension, "n": s.samples, "gap": s.gap, "version": 1}
        compute = partial(descend, points, goal / np.linalg.norm(goal), **chosen)
        found.append(Study(name, identity | chosen, compute))
    return found


def settled(e, name):
    """log t and distances from t = e^SETTLED on."""
    table = e.tables[name]
    late = table["log_time"] >= SETTLED
    return table["log_time"][late], table["distance"][late]


def over_rate(e, name):
    """The distance over log log t / log t."""
    clock, distances = settled(e, name)
    return distances * clock / np.log(clock)


@linear_rate.claim(
    each(at_most(2.0)), f"largest distance over log log t / log t from log t = {SETTLED:g} on over the one there"
)
def rate_is_an_upper_bound(e):
    """Linear logistic regression converges to the max-margin solution at a rate O(log log t / log t)."""
    return {name: float(over_rate(e, name).max() / over_rate(e, name)[0]) for name in (GENERIC, DEGENERATE)}


@linear_rate.claim(near(1.0, by=0.1), "distance over log log t / log t at the end, on the degenerate points,")
def rate_is_attained(e):
    """It is as slow as that."""
    return float(over_rate(e, DEGENERATE)[-1])


@linear_rate.claim(
    within(-1.1, -0.9), "exponent in log t of the distance, on the Gaussian points,", source="ours", kind="ours"
)
def generic_points_are_a_little_quicker(e):
    """Where every support vector has weight, it is 1/log t."""
    return log_slope(*settled(e, GENERIC))


@linear_rate.figure
def rate_figure(e):
    distances, shares = [], []
    for name, role in ((GENERIC, "train"), (DEGENERATE, "test")):
        table = e.tables[name]
        distances.append(Line(table["log_time"], table["distance"], f"{name} points", role))
        shares.append(Line(settled(e, name)[0], over_rate(e, name), "", role, name=f"{name} points"))
    clock = settled(e, DEGENERATE)[0]
    distances.append(Line(clock, np.log(clock) / clock, r"$\log\log t\,/\log t$", "theory"))
    left = Panel(distances, Axis(r"$\log t$", "log", low=1), Axis("distance", "log"), legend="lower left")
    right = Panel(shares, Axis(r"$\log t$", "log"), Axis(r"distance over $\log\log t\,/\log t$", low=0))
    return Figure([[left, right]])
