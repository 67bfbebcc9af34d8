"""Theorem 4.13: near the zero-loss set the loss gradient is orthogonal to it, up to the distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.catalog import small_completion
from latebloom.catalog.measures import log_slope
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, Study, within
from latebloom.core.seeds import generator
from latebloom.figures.look import CYCLE, THEORY, canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DISTANCES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
HYPERBOLA, NET, COMPLETION = "hyperbola", "diagonal net", "completion"
KINDS = (HYPERBOLA, NET, COMPLETION)
POINTS, FULL_POINTS = 20, 200
CROSS = "towards the crossing of two axes"
FEET = (1.0, 0.3, 0.1, 0.03, 0.01)  # distance of the nearest point of zero loss to the singular one


def problem_of(kind: str, seed: int) -> Any:
    import latebloom as lb

    if kind == HYPERBOLA:
        return lb.problems.ToyModel("curved")
    if kind == NET:
        return lb.problems.DiagonalNet(
            frequencies=10, samples=6, cosines=(0, 3), sines=(7,), init_variance=1.0, seed=seed
        )
    return small_completion.problem(seed)


def sampled(kind: str, seed: int, points: int) -> dict[str, np.ndarray]:
    """Cosine and distance at points off the set: random regular points of it, moved at random by each distance."""
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    import latebloom as lb

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


def near_the_cross() -> dict[str, np.ndarray]:
    """Cosine over distance near `w1 w2 = 0` at (a, 0), for a towards the crossing at the origin."""
    import jax
    import jax.numpy as jnp

    import latebloom as lb

    problem = lb.problems.ToyModel("singular")
    ratio = lambda w: lb.zero_loss.tangent_cosine(problem, w) / lb.zero_loss.distance_to_zero_loss(problem, w)  # noqa: E731
    points = jnp.array([[a, 1e-3 * a] for a in FEET])
    return {"foot": np.array(FEET), "constant": np.asarray(jax.jit(lambda rows: jax.lax.map(ratio, rows))(points))}


def studies(request: Request) -> list[Study]:
    points = FULL_POINTS if request.full else POINTS
    settings = {"experiment": "geometry/thm4.13", "version": 1, "seed": request.seed, "points": points}
    made = [Study(kind, settings, lambda kind=kind: sampled(kind, request.seed, points)) for kind in KINDS]
    return [*made, Study(CROSS, {"experiment": "geometry/thm4.13", "version": 1}, near_the_cross)]


def slopes(evidence: Evidence) -> Measured:
    """The slope of the log of the largest cosine in the log of its distance, for each problem."""
    found = {}
    for kind in KINDS:
        table = evidence.tables[kind]
        found[kind] = log_slope(np.median(table["distance"], axis=1), table["cosine"].max(axis=1))
    return Measured(found, all(0.9 <= value <= 1.1 for value in found.values()))


def constants(evidence: Evidence) -> Measured:
    """The largest cosine over distance up to 1e-2, over that up to 1e-4: 1 if one constant serves all distances."""
    found = {}
    for kind in KINDS:
        ratio = (evidence.tables[kind]["cosine"] / evidence.tables[kind]["distance"]).max(axis=1)
        found[kind] = float(ratio[DISTANCES.index(1e-2) :].max() / ratio[-1])
    return Measured(found, all(value <= 1.5 for value in found.values()))


def singular(evidence: Evidence) -> Measured:
    """The slope of the constant in the distance of the foot to the singular point."""
    table = evidence.tables[CROSS]
    return within(log_slope(table["foot"], table["constant"]), -1.05, -0.95)


CLAIMS = (
    Claim(
        "orthogonal-at-rate-dist",
        "The cosine between the loss gradient and any tangent direction is below C times the distance to the set.",
        "Theorem 4.13, Eq. 6",
        "slope of the largest cosine in the distance between 0.9 and 1.1, on three problems",
        slopes,
    ),
    Claim(
        "one-constant",
        "One constant C serves all distances below some x0.",
        "Theorem 4.13, Eq. 6",
        "largest cosine/distance up to 1e-2 at most 1.5 times that at 1e-4",
        constants,
    ),
    Claim(
        "no-singular-points",
        "That there be no singular point is necessary: at a distance a from one, C grows as 1/a.",
        "Theorem 4.13, its hypothesis; on w1 w2 = 0 the cosine at (a, d) is d/√(a² + d²)",
        "slope of cosine/distance in a between -1.05 and -0.95",
        singular,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (left, right) = canvas(1, 2, height=2.5)
    for kind, colour, marker in zip(KINDS, CYCLE, "os^", strict=False):
        table = evidence.tables[kind]
        distance = np.median(table["distance"], axis=1)
        left.plot(table["distance"].ravel(), table["cosine"].ravel(), ".", color=colour, markersize=1.5, alpha=0.35)
        left.plot(distance, table["cosine"].max(axis=1), marker, color=colour, label=kind)
        line = table["cosine"].max(axis=1)[-1] * distance / distance[-1]
        left.plot(distance, line, "--", color=THEORY, linewidth=0.9)
    left.set_xlabel(r"distance to $\mathcal{Z}$")
    left.set_ylabel("cosine of gradient and tangent space")
    left.legend(loc="upper left", title="dashed: slope 1", title_fontsize=6)
    table = evidence.tables[CROSS]
    right.plot(table["foot"], table["constant"], "o", label="cosine / distance")
    right.plot(table["foot"], 1 / table["foot"], "--", color=THEORY, linewidth=0.9, label="$1/a$")
    right.set_xlabel("distance $a$ to the singular point")
    right.set_ylabel("constant $C$ on $w_1 w_2 = 0$")
    right.legend(loc="upper right")
    for axis in (left, right):
        axis.set_xscale("log")
        axis.set_yscale("log")
    return figure


EXPERIMENT = Experiment(
    id="geometry/thm4.13",
    title="Theorem 4.13: the loss gradient is orthogonal to the zero-loss set",
    claim="The cosine between the loss gradient and the tangent space falls linearly with the distance.",
    source="Section 4.4, Theorem 4.13; Appendix B",
    seconds=10,
    settings={
        HYPERBOLA: "w1 w2 = 1, one sample",
        NET: "a = u ⊙ v on 21 Fourier features, 6 samples, weights N(0, 1)",
        COMPLETION: "6 x 6 from 12 entries, factors 6 x 6 with entries N(0, 1)",
        "points": f"{POINTS} of the set ({FULL_POINTS} with --full), moved in random directions",
        "distances": DISTANCES,
    },
    studies=studies,
    claims=CLAIMS,
    draw=draw,
    notes=(
        "The theorem asks for proj(S ∩ Z) ⊆ S, which always holds; what its proof uses is proj(S) ⊆ S.",
        "The largest cosine over all tangent directions is the length of the gradient's tangent part over its own.",
    ),
)
