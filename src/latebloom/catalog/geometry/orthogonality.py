"""Near the zero-loss set the gradient of the loss is orthogonal to it (Theorem 4.13, Appendix B)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog import small_completion
from latebloom.catalog.base import Entry, Settings, Study
from latebloom.catalog.bounds import at_most, each, within
from latebloom.catalog.controls import Altered
from latebloom.catalog.geometry import appendix_b
from latebloom.catalog.geometry.controls import exchanged_columns
from latebloom.catalog.measures import log_slope
from latebloom.core.fields import count
from latebloom.core.seeds import generator
from latebloom.figures import Axis, Figure, Line, Panel, panels

Z = r"distance to $\mathcal{Z}$"
# What the studies of Theorem 4.13 compute, by their version.
DISTANCES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
FEET = (1.0, 0.3, 0.1, 0.03, 0.01)  # distance of the nearest point of zero loss to the singular one
HYPERBOLA, NET, COMPLETION = KINDS = ("hyperbola", "diagonal net", "completion")
CROSS, AT_CROSS = "towards the crossing of two axes", "around the crossing of two axes"


class OrthogonalitySettings(Settings):
    """Points near the zero-loss sets of three problems."""

    points: int = count(default=20, note="of each set, moved in a random direction by distances of 1e-1 to 1e-4")
    feet: int = count(default=8, note="points of each set at which the steps of Appendix B are measured")


thm413 = Entry(
    "geometry/thm4.13",
    "Theorem 4.13: the loss gradient is orthogonal to the zero-loss set",
    "The cosine between the loss gradient and the tangent space falls linearly with the distance.",
    source="Section 4.4, Theorem 4.13; Appendix B",
    seconds=10,
    settings=OrthogonalitySettings(),
    full={"points": 200},
    notes=(
        "The theorem asks for proj(S ∩ Z) ⊆ S, which always holds; what its proof uses is proj(S) ⊆ S.",
        "The largest cosine over all tangent directions is the length of the gradient's tangent part over its own.",
        "The problems are w1 w2 = 1 (hyperbola), a = u ⊙ v on 21 Fourier features from 6 samples with weights N(0, 1) "
        "(diagonal net), and 6 x 6 from 12 entries with factors 6 x 6 of entries N(0, 1) (completion).",
    ),
)


def problem_of(kind, seed):
    """One of the three problems."""
    if kind == HYPERBOLA:
        return lb.problems.ToyModel("curved")
    if kind == NET:
        return lb.problems.DiagonalNet(
            frequencies=10, samples=6, cosines=(0, 3), sines=(7,), init_variance=1.0, seed=seed
        )
    return small_completion.problem(seed)


def feet_of(kind, seed, points):
    """Random regular points of zero loss."""
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    problem = problem_of(kind, seed)
    start, unravel = ravel_pytree(problem.init())
    spread = 0.3 * np.linalg.norm(start) / np.sqrt(start.size)
    exact = 1e-14  # Appendix B goes as near as 1e-5
    places = np.asarray(start) + spread * generator(seed, f"feet on the {kind}").normal(size=(points, start.size))
    onto = lambda w: ravel_pytree(lb.zero_loss.retraction(problem, unravel(w), tolerance=exact))[0]  # noqa: E731
    return np.asarray(jax.jit(lambda rows: jax.lax.map(onto, rows))(jnp.asarray(places)))


def at_feet(kind, seed, points):
    """What Appendix B measures at points of zero loss."""
    random = generator(seed, f"directions at feet on the {kind}")
    return appendix_b.local(problem_of(kind, seed), feet_of(kind, seed, points), random)


def sampled(kind, seed, points):
    """Cosine and distance at points off the set: random regular points of it, moved at random by each distance."""
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    problem = problem_of(kind, seed)
    start, unravel = ravel_pytree(problem.init())
    random = generator(seed, f"points of the {kind}")
    spread = 0.3 * np.linalg.norm(start) / np.sqrt(start.size)
    places = jnp.asarray(np.asarray(start) + spread * random.normal(size=(points, start.size)))
    moves = random.normal(size=(points, start.size))
    moves = jnp.asarray(moves / np.linalg.norm(moves, axis=1, keepdims=True))
    onto = lambda w: ravel_pytree(lb.zero_loss.retraction(problem, unravel(w)))[0]  # noqa: E731
    feet = jax.jit(lambda rows: jax.lax.map(onto, rows))(places)

    def both(w):
        return lb.zero_loss.tangent_cosine(problem, unravel(w)), lb.zero_loss.distance_to_zero_loss(problem, unravel(w))

    rows = jnp.concatenate([feet + length * moves for length in DISTANCES])
    cosines, distances = jax.jit(lambda rows: jax.lax.map(both, rows))(rows)
    shape = (len(DISTANCES), points)
    return {"cosine": np.asarray(cosines).reshape(shape), "distance": np.asarray(distances).reshape(shape)}


def near_the_cross():
    """Cosine over distance near `w1 w2 = 0` at (a, 0), for a towards the crossing at the origin; and `regular`, on
    `w1 w2 = 1` at (1 + a, 1/(1 + a)).
    """

    def ratios(kind, rows):
        cosines, distances = _cosines(lb.problems.ToyModel(kind), rows)
        return cosines / distances

    singular = np.array([[a, 1e-3 * a] for a in FEET])
    regular = np.array([[1 + a, 1.001 / (1 + a)] for a in FEET])
    return {"foot": np.array(FEET), "constant": ratios("singular", singular), "regular": ratios("curved", regular)}


def around_the_cross():
    """Cosine and distance at (2d, d), near `w1 w2 = 0` and as near to its singular point."""
    cosines, distances = _cosines(lb.problems.ToyModel("singular"), np.array([[2 * d, d] for d in DISTANCES]))
    return {"cosine": cosines[:, None], "distance": distances[:, None]}


def _cosines(problem, rows):
    import jax
    import jax.numpy as jnp

    both = lambda w: (lb.zero_loss.tangent_cosine(problem, w), lb.zero_loss.distance_to_zero_loss(problem, w))  # noqa: E731
    return [np.asarray(found) for found in jax.jit(lambda rows: jax.lax.map(both, rows))(jnp.asarray(rows))]


@thm413.studies
def thm413_studies(s):
    version = {"experiment": "geometry/thm4.13", "version": 1}
    drawn = version | {"seed": s.seed}
    settings = drawn | {"points": s.points}
    made = [Study(kind, settings, lambda kind=kind: sampled(kind, s.seed, s.points)) for kind in KINDS]
    few = drawn | {"points": s.feet, "version": 2}
    made += [
        Study(appendix_b.LOCAL.format(kind), few, lambda kind=kind: at_feet(kind, s.seed, s.feet)) for kind in KINDS
    ]
    return [
        *made,
        Study(appendix_b.NEAREST, few, lambda: appendix_b.nearest(s.seed, s.feet)),
        Study(appendix_b.SINGULAR, drawn, lambda: appendix_b.at_the_crossing(s.seed)),
        Study(CROSS, version | {"version": 2}, near_the_cross),
        Study(AT_CROSS, version, around_the_cross),
    ]


def to_the_crossing(e):
    """Points around a singular point in the place of those near regular ones."""
    return replace(e, tables={**e.tables, **dict.fromkeys(KINDS, e.tables[AT_CROSS])})


SINGULAR = Altered("points around a singular point", to_the_crossing)
REGULAR = exchanged_columns("feet on a regular curve", (CROSS, "constant", "regular"))


def largest_cosines(table):
    """The median distance of every move, and the largest cosine there."""
    return np.median(table["distance"], axis=1), table["cosine"].max(axis=1)


@thm413.claim(
    each(within(0.9, 1.1)),
    "slope of the largest cosine in the distance, on three problems,",
    source="Theorem 4.13, Eq. 6",
    control=SINGULAR,
)
def orthogonal_at_rate_dist(e):
    """The cosine between the loss gradient and any tangent direction is below C times the distance to the set."""
    return {kind: log_slope(*largest_cosines(e.tables[kind])) for kind in KINDS}


@thm413.claim(
    each(at_most(1.5)),
    "largest cosine/distance at a distance, the largest over the smallest from 1e-2 to 1e-4, on three problems,",
    source="Theorem 4.13, Eq. 6",
    control=SINGULAR,
)
def one_constant(e):
    """One constant C serves all distances below some x0."""
    found = {}
    for kind in KINDS:
        near = (e.tables[kind]["cosine"] / e.tables[kind]["distance"]).max(axis=1)[DISTANCES.index(1e-2) :]
        found[kind] = float(near.max() / near.min())
    return found


@thm413.claim(
    within(-1.05, -0.95),
    "slope of cosine/distance in a",
    source="Theorem 4.13, its hypothesis; on w1 w2 = 0 the cosine at (a, d) is d/√(a² + d²)",
    kind="ours",
    control=REGULAR,
)
def no_singular_points(e):
    """That there be no singular point is necessary: at a distance a from one, C grows as 1/a."""
    return log_slope(e.tables[CROSS]["foot"], e.tables[CROSS]["constant"])


appendix_b.declare(thm413, KINDS)


@thm413.figure
def thm413_figure(e):
    found, cross = [], e.tables[CROSS]
    for place, kind in enumerate(KINDS):
        table, role = e.tables[kind], f"cycle {place}"
        distance, cosine = largest_cosines(table)
        found += [
            Line(
                table["distance"].ravel(),
                table["cosine"].ravel(),
                "",
                role,
                "points",
                name=f"{kind}, each",
                size=0.75,
                opacity=0.35,
            ),
            Line(distance, cosine, kind, role, "points", symbol=panels.SYMBOLS[place], above=1),
            Line(distance, cosine[-1] * distance / distance[-1], "slope 1", "theory", name=f"{kind}, slope 1"),
        ]
    law = [
        Line(cross["foot"], cross["constant"], "cosine / distance", marks="points"),
        Line(cross["foot"], 1 / cross["foot"], "$1/a$", "theory"),
    ]
    left = Panel(
        found,
        Axis(Z, "log"),
        Axis("cosine of gradient and tangent space", "log"),
        legend="upper left",
    )
    axes = Axis("distance $a$ to the singular point", "log"), Axis("constant $C$ on $w_1 w_2 = 0$", "log")
    return Figure([[left, Panel(law, *axes, legend="upper right")]])
