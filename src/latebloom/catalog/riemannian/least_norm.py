"""Where the slow phase ends: KKT points of least norm (Propositions 3 and 4, Lemma 8)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.bounds import at_least, at_most, holds
from latebloom.catalog.controls import Altered, OtherBound
from latebloom.catalog.measures import flat, log_slope
from latebloom.catalog.riemannian.curvature import hessian, jacobian
from latebloom.catalog.riemannian.phases import STRENGTH
from latebloom.catalog.riemannian.slow_phase import (
    FLOW,
    SLOW,
    SLOW_TIME,
    UNIT,
    SlowSettings,
    shaded,
    slope_one,
    small_slope,
)
from latebloom.core.fields import number, numbers
from latebloom.figures import Axis, Figure, Line, Panel

TOY, COMPLETION = "hyperbola", "completion"
SINGULAR = 1e-5  # a singular value of J below this share of the largest is zero
RADIUS = 0.3  # δ of Lemma 8
DECADES = 4  # of slow time, before the end, that Propositions 3 and 4 look at


class EndSettings(SlowSettings):
    strengths: tuple[float, ...] = numbers(default=(1e-2, 1e-3, 1e-4), above=0, note="λ, falling")
    toy_start: tuple[float, ...] = numbers(default=(0.3, 2.5), note="on the way to the hyperbola w1 w2 = 1")
    toy_slow_time: float = number(default=20.0, above=0, note="λt at the end of the hyperbola's flows")

    def problems(self):
        """The problems by name, each with its last slow time."""
        toy = lb.problems.ToyModel("curved", init=self.toy_start)
        return {TOY: (toy, self.toy_slow_time), COMPLETION: (self.problem(), self.slow_time)}


prop4 = Entry(
    "riemannian/prop4",
    "Propositions 3 and 4: the slow phase ends at KKT points of least norm",
    "The flow ends at KKT points of least norm up to order λ, at the end of the slow flow.",
    source="Section 4.2, Propositions 3 and 4; Appendices A.4 and A.5",
    seconds=25,
    settings=EndSettings(slow_time=100.0),
    notes=(
        "At the end of a flow ∇F + λw = 0, so that w lies in the range of Jᵀ for every λ: what tends to zero with λ is "
        "the distance to the zero-loss set.",
        "On draws whose limit is nearly singular the order λ is reached at smaller λ only (slope 0.74 over 1e-2 to "
        "1e-4 on draw 3).",
    ),
)


@prop4.runs
def prop4_runs(s):
    made = {}
    for kind, (problem, until) in s.problems().items():
        made[f"{kind}: {SLOW}"] = s.slow_flow(problem, until)
        made |= {f"{kind}: {FLOW.format(strength)}": s.flow(problem, strength, until) for strength in s.strengths}
    return made


def measures(problem):
    """KKT residual and distance to the zero-loss set of rows of parameters, compiled once."""
    import jax
    from jax.flatten_util import ravel_pytree

    unravel = ravel_pytree(problem.init())[1]

    def both(row):
        params = unravel(row)
        return lb.zero_loss.kkt_residual(problem, params), lb.zero_loss.distance_to_zero_loss(problem, params)

    return jax.jit(lambda rows: jax.lax.map(both, rows))


def along(e, name):
    """Slow time, KKT residual and distance to the zero-loss set over the last decades of slow time."""
    run, count = e[name], DECADES * e.settings.records_per_decade
    kkt, apart = e.cached(measures, e.problem(name))(run["parameters"][-count:])
    return run["slow_time"][-count:], np.asarray(kkt), np.asarray(apart)


def residual_left(e, kind):
    """The KKT residual at the end of the slow flow, over the largest before."""
    kkt = along(e, f"{kind}: {SLOW}")[1]
    return float(kkt[-1] / kkt.max())


@prop4.claim(
    at_most(1e-6),
    "KKT residual |Pw|/|w| at the end over its largest value, on the hyperbola,",
    source="Section 4.2, before Proposition 3",
)
def slow_flow_to_kkt(e):
    """The limit set of the Riemannian flow is contained in the KKT points of min |w|² on the manifold."""
    return residual_left(e, TOY)


@prop4.claim(
    at_most(1e-2),
    "KKT residual at slow time 100 over its largest value",
    source="beyond Proposition 3, whose Assumption 2 excludes it",
    kind="ours",
)
def slow_flow_to_kkt_degenerate(e):
    """The same where the limit is of low rank, a singular point of the zero-loss set."""
    return residual_left(e, COMPLETION)


@prop4.claim(at_most(1e-7), "largest relative rise between two records", source="Section 4.2, before Eq. 7")
def norm_decreases(e):
    """The norm is monotone along the Riemannian flow."""
    norms = [e[f"{kind}: {SLOW}"]["l2_norm"] for kind in (TOY, COMPLETION)]
    return max(float((np.diff(norm) / norm[1:]).max()) for norm in norms)


@prop4.claim(
    holds(
        "at the end KKT residual at most {kkt:g} for every λ, and distance to the set falling with slope {low:g} to "
        "{high:g} in λ, from 1e-3 down",
        kkt=1e-3,
        low=UNIT.low,
        high=UNIT.high,
    ),
    source="Proposition 3",
    rate=0.7,
)
def ends_are_kkt_points(e, kkt, low, high):
    """As λ → 0 the limits of the flow tend to KKT points of min |w|² on the manifold."""
    slopes, residuals = {}, []
    for kind in (TOY, COMPLETION):
        last = [along(e, f"{kind}: {FLOW.format(strength)}") for strength in e.settings.strengths]
        slopes[kind] = small_slope(e, [apart[-1] for _, _, apart in last])
        residuals += [float(residual[-1]) for _, residual, _ in last]
    good = all(low <= slope <= high for slope in slopes.values()) and max(residuals) <= kkt
    return slopes | {"largest KKT residual": max(residuals)}, good


def ends(e, kind):
    """The distance between the end of the flow and the end of the slow flow, for every λ."""
    goal = flat(e[f"{kind}: {SLOW}"].params)
    names = [f"{kind}: {FLOW.format(strength)}" for strength in e.settings.strengths]
    return [float(np.linalg.norm(flat(e[name].params) - goal)) for name in names]


@prop4.claim(UNIT, "slope in λ of the distance between their ends, on the hyperbola,", source="Proposition 4")
def double_limit(e):
    """If the slow flow converges to a strict local minimum, the limit of the flow tends to it as λ → 0."""
    return log_slope(e.settings.strengths, ends(e, TOY))


def least_curvature(problem, params):
    """The smallest curvature of |w|²/2 along the zero-loss set at a KKT point: above zero, it is a strict minimum.

    The curvature is that of `|w|²/2 - μᵀr(w)`, with the multipliers `w = Jᵀμ`, on the kernel of J.
    """
    import jax
    from jax.flatten_util import ravel_pytree

    point, unravel = ravel_pytree(params)
    slopes = jacobian(problem, params)
    multipliers = np.linalg.lstsq(slopes.T, np.asarray(point), rcond=SINGULAR)[0]
    bent = np.asarray(jax.hessian(lambda w: multipliers @ problem.residuals(unravel(w)))(point))
    _, sizes, rows = np.linalg.svd(slopes)
    kernel = rows[(sizes > SINGULAR * sizes[0]).sum() :]
    return float(np.linalg.eigvalsh(kernel @ (np.eye(len(point)) - bent) @ kernel.T)[0])


def curvature_at_the_end(e, kind):
    """That at the end of a slow flow."""
    name = f"{kind}: {SLOW}"
    return e.cached(_curvature, e.problem(name), flat(e[name].params).tobytes())


def _curvature(problem, point):
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    return least_curvature(problem, ravel_pytree(problem.init())[1](jnp.asarray(np.frombuffer(point))))


def exchanged(e):
    """The hyperbola in the place of the completion, and the other way round."""
    names = {f"{COMPLETION}: {SLOW}": f"{TOY}: {SLOW}", f"{TOY}: {SLOW}": f"{COMPLETION}: {SLOW}"}
    jobs, runs = ({**given, **{name: given[other] for name, other in names.items()}} for given in (e.jobs, e.runs))
    return replace(e, jobs=jobs, runs=runs)


STRICT = at_least(1e-2), "smallest curvature of |w|²/2 along the zero-loss set at the end of the slow flow"
PLACES = Altered("hyperbola and completion have changed places", exchanged)


@prop4.claim(*STRICT, source="Proposition 4, hypothesis", kind="premise", control=PLACES)
def strict_minimum(e):
    """The slow flow converges to a strict local minimum of the norm: on the hyperbola."""
    return curvature_at_the_end(e, TOY)


@prop4.claim(
    *STRICT, source="Proposition 4, hypothesis", kind="premise", control=PLACES,
    fails="turning both factors by an orthogonal matrix leaves product and norm",
)  # fmt: skip
def strict_minimum_of_two_factors(e):
    """The slow flow converges to a strict local minimum of the norm: for matrix completion."""
    return curvature_at_the_end(e, COMPLETION)


TOO_STRONG = Altered("weight decay is 1 and 3", lambda e: replace(e, settings=e.settings.but(strengths=(3.0, 1.0))))


@prop4.claim(
    at_least(1.0), "smallest excess of F_λ on the circle of radius 0.3 over λε, for every λ,", source="Lemma 8, Eq. 22",
    control=TOO_STRONG,
)  # fmt: skip
def barrier(e):
    """Around a strict minimum w*, F_λ exceeds F* + λ|w*|²/2 by λε on a small sphere, for small λ: on the hyperbola."""
    # the proof's ε: a quarter of the least |u|² - |w*|² on the set at distances δ/2 to 2δ from w* = (1, 1)
    first = np.exp(np.linspace(-2, 2, 20_001))
    apart = np.hypot(first - 1, 1 / first - 1)
    ring = (apart >= RADIUS / 2) & (apart <= 2 * RADIUS)
    least = (first**2 + first**-2 - 2)[ring].min() / 4
    angles = np.linspace(0, 2 * np.pi, 20_001)
    w1, w2 = 1 + RADIUS * np.cos(angles), 1 + RADIUS * np.sin(angles)
    excess = [((w1 * w2 - 1) ** 2 + x / 2 * (w1**2 + w2**2) - x).min() / (x * least) for x in e.settings.strengths]
    return float(min(excess))


def projected(e, space):
    """|∇²F u|/|∇²F v| with v = (w_∞ - w_k)/λ, w_k the point of the set nearest to w_∞, and u the part of v in a space:
    on the hyperbola, for the smallest λ."""
    name = f"{TOY}: {FLOW.format(e.settings.strengths[-1])}"
    problem, end = e.problem(name), np.asarray(e[name].params)
    foot = np.asarray(lb.zero_loss.retraction(problem, end))
    values, vectors = np.linalg.eigh(hessian(problem, foot))
    kept = vectors[:, (np.abs(values) < 1e-6) == (space == KERNEL)]
    step, bend = (end - foot) / e.settings.strengths[-1], vectors @ np.diag(values) @ vectors.T
    return float(np.linalg.norm(bend @ kept @ kept.T @ step) / np.linalg.norm(bend @ step))


KERNEL, COMPLEMENT = "the kernel of ∇²F", "its complement"
EQUAL = "the ratio of |∇²F u| to |∇²F v| is 1, u the projection of v onto {space}"


def same_product(e, space):
    found = projected(e, space)
    return found, abs(found - 1) <= 1e-6


prop4.claim(
    holds(EQUAL, space=KERNEL),
    id="projection-as-printed",
    text="With u_k the projection of (w_∞ - w_k)/λ onto the kernel of ∇²F(w_k), ∇²F does not change.",
    source="Appendix A.4, after Eq. 13",
    fails="on its kernel ∇²F is zero",
    control=OtherBound(holds(EQUAL, space=COMPLEMENT)),
)(same_product)
prop4.claim(
    holds(EQUAL, space=COMPLEMENT),
    id="projection-on-the-complement",
    text="It is the projection onto the orthogonal complement of the kernel.",
    source="corrects the previous claim",
    kind="corrected",
    control=OtherBound(holds(EQUAL, space=KERNEL)),
)(same_product)


@prop4.claim(
    UNIT,
    "slope in λ, from 1e-3 down, at slow time 100 of the completion",
    source="beyond Proposition 4",
    kind="ours",
    rate=0.7,
)
def double_limit_without_strictness(e):
    """The ends of flow and slow flow agree to order λ all the same."""
    return small_slope(e, ends(e, COMPLETION))


@prop4.figure
def prop4_figure(e):
    residuals = [Line(*along(e, f"{COMPLETION}: {FLOW.format(strength)}")[:2], **look) for strength, look in shaded(e)]
    limit = Line(*along(e, f"{COMPLETION}: {SLOW}")[:2], r"slow flow, $\lambda \to 0$", "theory")
    found = []
    for kind, role, symbol in ((TOY, "cycle 0", "o"), (COMPLETION, "cycle 1", "s")):
        values = ends(e, kind)
        found += [
            Line(e.settings.strengths, values, kind, role, "points", symbol=symbol),
            slope_one(e, values, "slope 1", name=f"{kind}, slope 1"),
        ]
    kkt = Axis(r"KKT residual $|P w| / |w|$", "log")
    left = Panel([*residuals, limit], SLOW_TIME, kkt, title=COMPLETION, legend="lower left")
    apart = Axis("distance between the ends of\nflow and slow flow", "log")
    right = Panel(found, STRENGTH, apart, legend="upper left")
    return Figure([[left, right]])
