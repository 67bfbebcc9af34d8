"""The limit map Φ, its derivative, and Assumption 2 on which both rest: what the proofs use, measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Study
from latebloom.catalog.bounds import above, at_least, at_most, each, holds, near
from latebloom.catalog.controls import Altered
from latebloom.catalog.measures import flat
from latebloom.catalog.riemannian.curvature import hessian, rank
from latebloom.catalog.riemannian.smooth import COMPLETION, CROSS, SMOOTH, TOY, SmoothSettings
from latebloom.core.fields import count, number
from latebloom.figures import Axis, Figure, Line, Panel

ALL = (*SMOOTH, COMPLETION)
NEAR, MAP, SIGNS = "near the zero-loss set: {}", "the limit map: {}", "Lemma 5: its integrals"
SLOW = "slow flow: {}"
EXACT = 1e-10  # tolerance of Φ


class LimitSettings(SmoothSettings):
    slow_time: float = number(default=10.0, above=0, note="λt to which the slow flow is followed")
    directions: int = count(default=6, note="random, along which Φ is differentiated")
    difference: float = number(default=1e-3, above=0, note="of two parameters between which Φ is differentiated")
    neighbours: int = count(default=40, note="random points near Φ(w0)")
    radius: float = number(default=1e-2, above=0, note="their largest distance from it")


entry = Entry(
    "riemannian/limit-map",
    "The limit map: DΦ is the projection onto the kernel of the Hessian",
    "Differences of Φ, the end of the unregularised flow, are the projection onto the kernel of the Hessian; along the "
    "slow path its rank and its smallest curvature stay, but where the set crosses itself.",
    source="Sections 3.1 and 4.2, Lemmas 1, 5 and 6; Appendix B",
    seconds=30,
    settings=LimitSettings(),
    notes=(
        "The problems are ours: linear regression, w1 w2 = 1, a tanh network, a small matrix completion, w1 w2 = 0.",
    ),
)


@entry.runs
def limit_runs(s):
    records = {"rtol": 1e-7, "atol": 1e-10, "records_per_decade": 5, "probes": (lb.probes.Trajectory(),)}
    return {
        SLOW.format(name): lb.SlowFlowJob(s.problem(name), None, slow_time=s.slow_time, **records)
        for name in (*ALL, CROSS)
    }


class Local:
    """A problem at all its parameters in one vector."""

    def __init__(self, problem):
        import jax
        from jax.flatten_util import ravel_pytree

        self.problem = problem
        self.start, unravel = ravel_pytree(problem.init())
        self.unravel: Any = unravel
        self.size = len(self.start)
        self.retract = jax.jit(lambda w: ravel_pytree(lb.zero_loss.retraction(problem, self.unravel(w)))[0])

    def end(self, point):
        """Φ."""
        return flat(lb.flows.limit_map(self.problem, self.unravel(point), rtol=EXACT).params)

    def foot(self, point):
        """The point of the set that Gauss-Newton steps lead to."""
        return np.asarray(self.retract(point))

    def slope(self, point, direction, step, function):
        """The difference quotient of a function in a direction."""
        return (function(point + step * direction) - function(point - step * direction)) / (2 * step)

    def gradient(self, point):
        return flat(self.problem.gradient(self.unravel(point)))

    def kernel(self, point):
        """The projection onto the kernel of the Hessian, by its eigenvectors."""
        values, vectors = np.linalg.eigh(hessian(self.problem, self.unravel(point)))
        zero = vectors[:, np.abs(values) <= 1e-6 * np.abs(values).max()]
        return zero @ zero.T


def directions(s, size):
    """Random unit vectors."""
    drawn = np.random.default_rng(s.seed + 1).standard_normal((s.directions, size))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def map_study(s, name):
    """In every direction: the derivative of Φ against the projection, that along ∇F off the set, second differences."""
    here = Local(s.problem(name))
    point, h = here.end(here.start), s.difference
    project = here.kernel(point)
    columns = {"derivative": [], "projection": [], "along_gradient": [], "second": [], "finer": [], "tangent": []}
    for v in directions(s, here.size):
        off = point + 10 * s.radius * v
        downhill = here.gradient(off) / np.linalg.norm(here.gradient(off))
        second = [
            (here.end(point + x * v) - 2 * point + here.end(point - x * v)) / x**2 for x in (s.radius, s.radius / 2)
        ]
        found = (
            here.slope(point, v, h, here.end), project @ v, here.slope(off, downhill, h, here.end), *second,
            here.slope(point, v, h, here.foot),
        )  # fmt: skip
        for column, value in zip(columns.values(), found, strict=True):
            column.append(value)
    return {key: np.array(value) for key, value in columns.items()}


def near_study(s, name):
    """Random points near Φ(w0): F, |∇F| and the distance to the set; the curvatures of F at Φ(w0)."""
    here = Local(s.problem(name))
    point = here.end(here.start)
    drawn = np.random.default_rng(s.seed + 2)
    found = []
    for _ in range(s.neighbours):
        v = drawn.standard_normal(here.size)
        near_by = point + s.radius * drawn.uniform(0.1, 1) * v / np.linalg.norm(v)
        apart = float(np.linalg.norm(near_by - here.foot(near_by)))
        found.append((float(here.problem.loss(here.unravel(near_by))), np.linalg.norm(here.gradient(near_by)), apart))
    curved = np.linalg.eigvalsh(hessian(here.problem, here.unravel(point)))
    loss, gradient, apart = np.array(found).T
    least, most = curved[curved > 1e-6 * curved[-1]][0], curved[-1]
    ends = {"least": np.full_like(loss, least), "most": np.full_like(loss, most)}
    return {"loss": loss, "gradient": gradient, "apart": apart, **ends}


def sign_study(s):
    """On the hyperbola: w - Φ(w) and F(w) - F*, over the integrals of ∇F and |∇F|² along the flow from w."""
    from scipy.integrate import solve_ivp

    start = np.array(s.toy_start)

    def slopes(_, state):
        w1, w2 = state[:2]
        downhill = 2 * (w1 * w2 - 1) * np.array([w2, w1])
        return np.concatenate([-downhill, downhill, [downhill @ downhill]])

    end = solve_ivp(slopes, (0, 100), np.concatenate([start, np.zeros(3)]), rtol=1e-10, atol=1e-12).y[:, -1]
    there = Local(s.problem(TOY)).end(start)
    return {"path": (start - there) / end[2:4], "loss": np.full(2, (start[0] * start[1] - 1) ** 2 / end[4])}


@entry.studies
def limit_studies(s):
    given = {"experiment": "riemannian/limit-map", "version": 1, **s.values}
    kinds = (MAP, map_study), (NEAR, near_study)
    made = [
        Study(kind.format(name), given | {"study": kind.format(name)}, lambda make=make, name=name: make(s, name))
        for kind, make in kinds
        for name in ALL
    ]
    return [*made, Study(SIGNS, given | {"study": SIGNS}, lambda: sign_study(s))]


def of(e, kind, names=ALL):
    """A study's tables by the problem."""
    return {name: e.tables[kind.format(name)] for name in names}


def altered(words, column, change):
    """A control: the tables that have a column, with some columns made anew from the others."""

    def broken(e):
        given = e.tables.items()
        return replace(e, tables={name: {**t, **change(t)} if column in t else t for name, t in given})

    return Altered(words, broken)


OTHER_WAYS = altered("P is of other directions", "projection", lambda t: {"projection": np.roll(t["projection"], 1, 0)})
ACROSS = altered("not along ∇F", "along_gradient", lambda t: {"along_gradient": t["derivative"]})
TURNED = altered("tangents are turned", "tangent", lambda t: {"tangent": np.roll(t["tangent"], 1, 0)})
KINKED = altered("second differences grow as at a kink", "second", lambda t: {"finer": 2 * t["second"] + 1})
FLAT = altered("F = d⁴", "apart", lambda t: {"loss": t["apart"] ** 4, "gradient": 4 * t["apart"] ** 3})
STEEP = altered("F = d", "apart", lambda t: {"loss": t["apart"], "gradient": 1 + 0 * t["apart"]})
ON_THE_SET = altered("the points are on the set", "apart", lambda t: {"loss": 0 * t["loss"]})


@entry.claim(
    each(at_most(1e-3)), "largest |DΦ v - P v| over random unit v, by problem,",
    source="Section 4.2, after Eq. 6; Lemma 6", control=OTHER_WAYS,
)  # fmt: skip
def derivative_is_the_projection(e):
    """At a point of the zero-loss set DΦ is the orthogonal projection onto the kernel of the Hessian of F."""
    pairs = of(e, MAP).items()
    return {name: float(np.linalg.norm(t["derivative"] - t["projection"], axis=1).max()) for name, t in pairs}


@entry.claim(
    each(at_most(5e-3)), "largest |DΦ(w) ∇F(w)|/|∇F(w)| at points w off the set",
    source="Sketch of proof of Proposition 2; Appendix A.3",
    control=ACROSS,
)  # fmt: skip
def derivative_along_the_gradient(e):
    """Near the set DΦ(w)·∇F(w) = 0: Φ stays along the unregularised flow."""
    return {name: float(np.linalg.norm(t["along_gradient"], axis=1).max()) for name, t in of(e, MAP).items()}


@entry.claim(
    each(at_most(0.1)), "change of second differences from step 1e-2 to 5e-3, over one plus their size",
    source="Lemma 1", control=KINKED,
)  # fmt: skip
def twice_differentiable(e):
    """Near the set Φ is defined and C²: second differences converge."""
    sizes = {}
    for name, table in of(e, MAP).items():
        change = np.linalg.norm(table["finer"] - table["second"], axis=1)
        sizes[name] = float((change / (1 + np.linalg.norm(table["second"], axis=1))).max())
    return sizes


@entry.claim(
    each(at_most(1e-4)), "largest |t - P t| over tangents t of length at most 1", source="Section 3.1",
    control=TURNED,
)  # fmt: skip
def tangents_are_the_kernel(e):
    """The tangent space of the set is the kernel of the Hessian: the set's own secants are in it."""
    found = {}
    for name, table in of(e, MAP).items():
        found[name] = float(np.linalg.norm(table["tangent"] - table["projection"], axis=1).max())
    return found


def along(e, name):
    """Rank and smallest non-zero curvature of F at every record of the slow flow."""
    return e.cached(_along, e.problem(SLOW.format(name)), e[SLOW.format(name)]["parameters"].tobytes())


def _along(problem, points):
    here = Local(problem)
    rows = np.frombuffer(points).reshape(-1, here.size)
    curved = [np.linalg.eigvalsh(hessian(problem, here.unravel(row)))[::-1] for row in rows]
    ranks = [rank(np.diag(values), 1e-6) for values in curved]
    return np.array([ranks, [values[ranks[0] - 1] for values in curved]])


def stands_in(e, name, other):
    """A slow flow in the place of another."""
    places = {SLOW.format(name): SLOW.format(other)}
    jobs, runs = ({**given, **{key: given[value] for key, value in places.items()}} for given in (e.jobs, e.runs))
    return replace(e, jobs=jobs, runs=runs)


def least_left(e, name):
    """Whether the rank stays, and the smallest non-zero curvature along the path over that at Φ(w0)."""
    ranks, curved = along(e, name)
    return bool((ranks == ranks[0]).all()), float(curved.min() / curved[0])


@entry.claim(
    holds("the rank is that at Φ(w0) at every record, and the smallest non-zero curvature at least {least:g} "
          "of that at Φ(w0)", least=0.1),
    source="Assumption 2", kind="premise", rate=0.8,
    control=Altered("the crossing axes stand for the hyperbola", lambda e: stands_in(e, TOY, CROSS)),
)  # fmt: skip
def morse_bott(e, least):
    """Along the slow path the Hessian keeps its rank, and its non-zero curvatures stay away from zero."""
    found = {name: least_left(e, name) for name in SMOOTH}
    good = all(stays and left >= least for stays, left in found.values())
    return {name: left for name, (_, left) in found.items()}, good


@entry.claim(
    at_least(0.1), "smallest non-zero curvature along the slow path over that at Φ(w0), on w1 w2 = 0",
    source="Assumption 2; Appendix C (Dealing with singularities)", kind="premise",
    fails="the least norm is where the axes cross, a singular point of the zero-loss set",
    control=Altered("the hyperbola stands for the axes", lambda e: stands_in(e, CROSS, TOY)),
)  # fmt: skip
def morse_bott_at_a_crossing(e):
    """Assumption 2 where the minimiser of the norm is a singular point."""
    return least_left(e, CROSS)[1]


@entry.claim(
    at_least(0.1), "smallest non-zero curvature along the slow path over that at Φ(w0), of the completion,",
    source="Assumption 2; Appendix C (Dealing with singularities)", kind="premise", rate=0.7,
    fails="the slow path runs to matrices of low rank, near singular points of the zero-loss set",
    control=Altered("the hyperbola stands for the completion", lambda e: stands_in(e, COMPLETION, TOY)),
)  # fmt: skip
def morse_bott_of_completion(e):
    """Assumption 2 for matrix completion."""
    return least_left(e, COMPLETION)[1]


def constants(table):
    """η and the largest curvature at Φ(w0)."""
    return float(table["least"][0]), float(table["most"][0])


@entry.claim(
    each(at_least(1.0)), "smallest |∇F|²/(η F) at random points near the set",
    source="Section 3.1; Appendix B.1, Eq. 17", control=FLAT,
)  # fmt: skip
def polyak_lojasiewicz(e):
    """Near the set F satisfies the Polyak-Łojasiewicz inequality |∇F|² ≥ η (F - F*)."""
    return {name: float((t["gradient"] ** 2 / t["loss"]).min() / constants(t)[0]) for name, t in of(e, NEAR).items()}


@entry.claim(
    each(at_least(1.0)), "smallest F/(η d²/8) at random points near the set", source="Appendix B.1, Eq. 19; Lemma 5",
    control=FLAT,
)  # fmt: skip
def quadratic_growth(e):
    """Near the set F - F* ≥ (η/8) d², with d the distance to it."""
    return {name: float((t["loss"] / t["apart"] ** 2).min() * 8 / constants(t)[0]) for name, t in of(e, NEAR).items()}


@entry.claim(
    each(at_most(1.0)), "largest of F/(α d²) and |∇F|²/(β² F) with α = β²/2 = the largest curvature",
    source="Appendix B.1, Eqs. 18 and 19", control=STEEP,
)  # fmt: skip
def smooth_from_above(e):
    """Near the set |∇F| ≤ β √(F - F*) and F - F* ≤ α d²."""
    found = {}
    for name, table in of(e, NEAR).items():
        top = constants(table)[1]
        ratios = table["loss"] / table["apart"] ** 2 / top, table["gradient"] ** 2 / table["loss"] / (2.5 * top)
        found[name] = float(max(ratio.max() for ratio in ratios))
    return found


@entry.claim(
    at_most(1e-12), "largest F(w) - F* at random points near the set", source="Lemma 5", control=ON_THE_SET,
    fails="it is a misprint for F(w) > F*, which the proof shows",
)  # fmt: skip
def lemma_5_as_printed(e):
    """Near the set, and off it, F(w) = sup F over the set."""
    return max(float(table["loss"].max()) for table in of(e, NEAR).values())


@entry.claim(
    above(0), "smallest F(w) - F* at random points near the set", source="corrects the previous claim",
    kind="corrected", control=ON_THE_SET,
)  # fmt: skip
def minimal_on_the_set(e):
    """Near the set, and off it, F(w) > sup F over the set."""
    return min(float(table["loss"].min()) for table in of(e, NEAR).values())


def reversed_time(e):
    """The flow runs backwards: both integrals change their sign."""
    return replace(e, tables=dict(e.tables) | {SIGNS: {name: -column for name, column in e.tables[SIGNS].items()}})


BACKWARDS = Altered("the flow runs backwards", reversed_time)


@entry.claim(
    each(near(-1, by=1e-3)), "w - Φ(w) over ∫∇F, and F(w) - F* over ∫|∇F|²", source="Proof of Lemma 5",
    fails="both equations have the wrong sign", control=BACKWARDS,
)  # fmt: skip
def integrals_as_printed(e):
    """w - Φ(w) = -∫∇F dt and F(w) - F* = -∫|∇F|² dt along the flow from w."""
    return integrals(e)


@entry.claim(
    each(near(1, by=1e-3)), "w - Φ(w) over ∫∇F, and F(w) - F* over ∫|∇F|²", source="corrects the previous claim",
    kind="corrected", control=BACKWARDS,
)  # fmt: skip
def integrals_with_plus(e):
    """w - Φ(w) = ∫∇F dt and F(w) - F* = ∫|∇F|² dt."""
    return integrals(e)


def integrals(e):
    """Both ratios."""
    table = e.tables[SIGNS]
    return {"path": float(table["path"][0]), "loss": float(table["loss"][0])}


@entry.figure
def limit_figure(e):
    derivative, curvature = [], []
    for place, name in enumerate((*ALL, CROSS)):
        look: dict[str, Any] = {"role": f"cycle {place}", "label": name}
        time = e[SLOW.format(name)]["slow_time"]
        curvature.append(Line(time[1:], along(e, name)[1][1:], **look))
        if name == CROSS:
            continue
        table = e.tables[MAP.format(name)]
        line = Line(table["projection"].ravel(), table["derivative"].ravel(), marks="points", symbol="o", **look)
        derivative.append(line)
    ends = [-1.0, 1.0]
    derivative.append(Line(ends, ends, r"$D\Phi = P$", "theory"))
    left = Panel(
        derivative, Axis(r"$P_{\ker\nabla^2 F}\,v$"), Axis(r"differences of $\Phi$ along $v$"), legend="upper left"
    )
    right = Panel(
        curvature, Axis(r"slow time $s = \lambda t$", "log"), Axis("smallest non-zero curvature of $F$", "log"),
        legend="lower left",
    )  # fmt: skip
    return Figure([[left, right]])
