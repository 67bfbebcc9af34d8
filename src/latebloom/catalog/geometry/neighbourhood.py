"""Near the zero-loss set: weight decay keeps to it (Theorem 4.9), the gradient is orthogonal to it (Theorem 4.13)."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog import small_completion
from latebloom.catalog.base import Entry, Settings, Study
from latebloom.catalog.bounds import at_least, at_most, each, within
from latebloom.catalog.geometry.common import SCALE_NOTE
from latebloom.catalog.measures import log_slope
from latebloom.core.fields import count, number, numbers
from latebloom.core.seeds import generator
from latebloom.figures import Axis, Figure, Line, Panel, panels

PLANE, CURVED, LEAKY = SETS = ("plane", "curved", "leaky_sum")
RUN = "{kind}, λ={decay:g}"
# What the studies of Theorem 4.13 compute, by their version.
DISTANCES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
FEET = (1.0, 0.3, 0.1, 0.03, 0.01)  # distance of the nearest point of zero loss to the singular one
HYPERBOLA, NET, COMPLETION = KINDS = ("hyperbola", "diagonal net", "completion")
CROSS = "towards the crossing of two axes"


class StabilitySettings(Settings):
    """Flows from points of zero loss, on three sets."""

    decays: tuple[float, ...] = numbers(default=(3e-2, 1e-2, 3e-3, 1e-3, 3e-4), above=0, note="λ, multiplies |w|²")
    slow_time: float = number(default=20.0, above=0, note="2λt at the end")
    tolerance: float = number(default=1e-8, above=0, note="relative, per step of Runge-Kutta-Chebyshev")
    plane_start: tuple[float, ...] = numbers(default=(-1.0, 1.0, 3.0), note="of zero loss: w1 + w2 + w3 = 3")
    curved_start: tuple[float, ...] = numbers(default=(0.4, 2.5), note="of zero loss: w1 w2 = 1")
    leaky_sum_start: tuple[float, ...] = numbers(default=(-1.0, 3.0), note="of zero loss: leaky ReLU of w1 + w2 = 2")

    def start(self, kind):
        """Where the flow on one set starts."""
        return getattr(self, f"{kind}_start")


class OrthogonalitySettings(Settings):
    """Points near the zero-loss sets of three problems."""

    points: int = count(default=20, note="of each set, moved in a random direction by distances of 1e-1 to 1e-4")


thm49 = Entry(
    "geometry/thm4.9",
    "Theorem 4.9: weight decay keeps to the zero-loss set",
    "From a point of zero loss the flow stays within a distance of order λ of the zero-loss set.",
    source="Section 4.3, Theorem 4.9; Appendix A",
    seconds=20,
    settings=StabilitySettings(),
    notes=(SCALE_NOTE, "Distances are to the point that Gauss-Newton steps of least norm lead to."),
)
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


@thm49.runs
def thm49_runs(s):
    tight = {
        "solver": "rkc",
        "rtol": s.tolerance,
        "atol": 1e-11,
        "records_per_decade": 20,
        "probes": (lb.probes.Trajectory(),),
    }

    def job(kind, decay):
        problem = lb.problems.ToyModel(kind, init=s.start(kind))
        return lb.FlowJob(problem, lb.L2(2 * decay), time=s.slow_time / (2 * decay), **tight)

    return lb.Grid(job, {"kind": SETS, "decay": s.decays}, name=RUN)


def distance_map(problem):
    """The distance to the zero-loss set of every row of weights."""
    import jax

    return jax.jit(lambda rows: jax.lax.map(lambda w: lb.zero_loss.distance_to_zero_loss(problem, w), rows))


def distances(e, kind, decay):
    """Slow time 2λt and the distance to the zero-loss set."""
    name = RUN.format(kind=kind, decay=decay)
    return e[name]["slow_time"], np.asarray(e.cached(distance_map, e.problem(name))(e[name]["parameters"]))


def largest(e, kind):
    """The largest distance for every λ."""
    return [float(distances(e, kind, decay)[1].max()) for decay in e.settings.decays]


@thm49.claim(at_most(1e-3), "largest distance at the smallest λ over |θ(0)|, on three sets,", source="Theorem 4.9")
def stability(e):
    """For every ε there is a λ below which a trajectory that starts at zero loss never leaves the ε-neighbourhood of
    the zero-loss set."""
    s = e.settings
    return max(
        float(distances(e, kind, min(s.decays))[1].max()) / float(np.linalg.norm(s.start(kind))) for kind in SETS
    )


@thm49.claim(each(within(0.95, 1.05)), "slope of the largest distance in λ,", source="sharpens Theorem 4.9")
def order_lambda(e):
    """The distance is of order λ at regular points (the theorem gives no rate)."""
    return {kind: log_slope(e.settings.decays, largest(e, kind)) for kind in SETS}


@thm49.claim(at_most(1e-7), "largest relative rise between two records", source="Appendix A, proof of Lemma A.1")
def descent(e):
    """Gradient flow never increases L + λ|θ|²."""
    rises = [
        np.diff(run["train_loss"] + run["penalty_value"]).max() / run["penalty_value"][0] for run in e.runs.values()
    ]
    return float(max(rises))


@thm49.claim(at_most(1.0), "largest loss over λ|θ(0)|²", source="Appendix A, Lemma A.1")
def loss_bound(e):
    """The loss stays below λ|θ(0)|²."""
    return float(max(run["train_loss"].max() / run["penalty_value"][0] for run in e.runs.values()))


@thm49.claim(
    at_least(1.9),
    "slope of the largest loss in λ, on w1 w2 = 1 (1 if the bound were tight),",
    source="sharpens Lemma A.1",
)
def loss_of_order_lambda_squared(e):
    """The loss is of order λ², and not λ as in the bound."""
    decays = e.settings.decays
    return log_slope(decays, [float(e[RUN.format(kind=CURVED, decay=decay)]["train_loss"].max()) for decay in decays])


Z = r"distance to $\mathcal{Z}$"


@thm49.figure
def thm49_figure(e):
    s = e.settings
    over_time, over_decay = [], []
    for place, decay in enumerate(s.decays):
        times, distance = distances(e, CURVED, decay)
        shade = panels.shade_of(place, len(s.decays))
        over_time.append(Line(times[1:], distance[1:], rf"$\lambda$ = {decay:g}", shade=shade))
    for place, kind in enumerate(SETS):
        found, symbol = np.array(largest(e, kind)), panels.SYMBOLS[place]
        over_decay.append(Line(s.decays, found, kind.replace("_", " "), f"cycle {place}", "points", symbol=symbol))
        over_decay.append(Line(s.decays, found[-1] * np.array(s.decays) / s.decays[-1], "", "theory", "dashed"))
    left = Panel(
        over_time,
        Axis(r"slow time $2\lambda t$", "log", low=s.slow_time / 2e4, high=s.slow_time),
        Axis(Z, "log", low=1e-6),
        title="$w_1 w_2 = 1$",
        legend="lower right",
    )
    right = Panel(
        over_decay,
        Axis(r"the paper's $\lambda$", "log"),
        Axis(f"largest {Z}", "log"),
        legend="upper left",
        legend_title="dashed: slope 1",
    )
    return Figure([[left, right]], height=2.5)


def problem_of(kind, seed):
    """One of the three problems."""
    if kind == HYPERBOLA:
        return lb.problems.ToyModel("curved")
    if kind == NET:
        return lb.problems.DiagonalNet(
            frequencies=10, samples=6, cosines=(0, 3), sines=(7,), init_variance=1.0, seed=seed
        )
    return small_completion.problem(seed)


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
    """Cosine over distance near `w1 w2 = 0` at (a, 0), for a towards the crossing at the origin."""
    import jax
    import jax.numpy as jnp

    problem = lb.problems.ToyModel("singular")
    ratio = lambda w: lb.zero_loss.tangent_cosine(problem, w) / lb.zero_loss.distance_to_zero_loss(problem, w)  # noqa: E731
    points = jnp.array([[a, 1e-3 * a] for a in FEET])
    return {"foot": np.array(FEET), "constant": np.asarray(jax.jit(lambda rows: jax.lax.map(ratio, rows))(points))}


@thm413.studies
def thm413_studies(s):
    version = {"experiment": "geometry/thm4.13", "version": 1}
    settings = version | {"seed": s.seed, "points": s.points}
    made = [Study(kind, settings, lambda kind=kind: sampled(kind, s.seed, s.points)) for kind in KINDS]
    return [*made, Study(CROSS, version, near_the_cross)]


def largest_cosines(table):
    """The median distance of every move, and the largest cosine there."""
    return np.median(table["distance"], axis=1), table["cosine"].max(axis=1)


@thm413.claim(
    each(within(0.9, 1.1)),
    "slope of the largest cosine in the distance, on three problems,",
    source="Theorem 4.13, Eq. 6",
)
def orthogonal_at_rate_dist(e):
    """The cosine between the loss gradient and any tangent direction is below C times the distance to the set."""
    return {kind: log_slope(*largest_cosines(e.tables[kind])) for kind in KINDS}


@thm413.claim(
    each(at_most(1.5)),
    "largest cosine/distance up to 1e-2 over that at 1e-4, on three problems,",
    source="Theorem 4.13, Eq. 6",
)
def one_constant(e):
    """One constant C serves all distances below some x0."""
    found = {}
    for kind in KINDS:
        ratio = (e.tables[kind]["cosine"] / e.tables[kind]["distance"]).max(axis=1)
        found[kind] = float(ratio[DISTANCES.index(1e-2) :].max() / ratio[-1])
    return found


@thm413.claim(
    within(-1.05, -0.95),
    "slope of cosine/distance in a",
    source="Theorem 4.13, its hypothesis; on w1 w2 = 0 the cosine at (a, d) is d/√(a² + d²)",
)
def no_singular_points(e):
    """That there be no singular point is necessary: at a distance a from one, C grows as 1/a."""
    return log_slope(e.tables[CROSS]["foot"], e.tables[CROSS]["constant"])


@thm413.figure
def thm413_figure(e):
    found, cross = [], e.tables[CROSS]
    for place, kind in enumerate(KINDS):
        table, role = e.tables[kind], f"cycle {place}"
        distance, cosine = largest_cosines(table)
        found += [
            Line(table["distance"].ravel(), table["cosine"].ravel(), "", role, "points", size=0.75, opacity=0.35),
            Line(distance, cosine, kind, role, "points", symbol=panels.SYMBOLS[place], above=1),
            Line(distance, cosine[-1] * distance / distance[-1], "", "theory", "dashed"),
        ]
    law = [
        Line(cross["foot"], cross["constant"], "cosine / distance", marks="points"),
        Line(cross["foot"], 1 / cross["foot"], "$1/a$", "theory", "dashed"),
    ]
    left = Panel(
        found,
        Axis(Z, "log"),
        Axis("cosine of gradient and tangent space", "log"),
        legend="upper left",
        legend_title="dashed: slope 1",
    )
    axes = Axis("distance $a$ to the singular point", "log"), Axis("constant $C$ on $w_1 w_2 = 0$", "log")
    return Figure([[left, Panel(law, *axes, legend="upper right")]], height=2.5)
