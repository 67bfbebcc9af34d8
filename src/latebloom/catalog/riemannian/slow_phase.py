"""The slow phase: the Riemannian flow of the norm (Proposition 2), and where it ends (Propositions 3 and 4)."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Study
from latebloom.catalog.bounds import at_least, at_most, holds, within
from latebloom.catalog.measures import flat, log_slope
from latebloom.catalog.riemannian.phases import STRENGTH
from latebloom.catalog.small_completion import SmallCompletion
from latebloom.core.fields import count, number, numbers
from latebloom.figures import Axis, Figure, Line, Panel, panels

SLOW, ELSEWHERE = "slow flow", "slow flow from the point nearest to w0"
TOY, COMPLETION = "hyperbola", "completion"
FLOW = "flow, λ={:g}"
SMALL = 1e-3  # from here on λ is below the square of the singular values that decay
DECADES = 4  # of slow time, before the end, that Propositions 3 and 4 look at
SLOW_TIME = Axis(r"slow time $s = \lambda t$", "log")
UNIT = within(0.9, 1.1)


class SlowSettings(SmallCompletion):
    slow_time: float = number(default=20.0, above=0, note="λt at the end of the completion's flows")
    records_per_decade: int = count(default=20, note="of slow time")
    rtol: float = number(
        default=1e-7, above=0,
        note="relative tolerance of flows (Runge-Kutta-Chebyshev) and slow flows (Bogacki-Shampine with retraction)",
    )  # fmt: skip

    @property
    def records(self):
        """How every flow is solved and recorded."""
        probes = (lb.probes.Trajectory(),)
        return {"rtol": self.rtol, "atol": 1e-10, "records_per_decade": self.records_per_decade, "probes": probes}

    def flow(self, problem, strength, slow_time):
        """The flow to a slow time."""
        return lb.FlowJob(problem, lb.L2(strength), time=slow_time / strength, solver="rkc", **self.records)

    def slow_flow(self, problem, slow_time):
        """Its limit as λ → 0."""
        return lb.SlowFlowJob(problem, None, slow_time=slow_time, **self.records)


class LimitSettings(SlowSettings):
    strengths: tuple[float, ...] = numbers(default=(1e-2, 3e-3, 1e-3, 3e-4, 1e-4), above=0, note="λ, falling")
    from_slow_time: float = number(default=0.1, above=0, note="ε, from which the flows are compared")


class EndSettings(SlowSettings):
    strengths: tuple[float, ...] = numbers(default=(1e-2, 1e-3, 1e-4), above=0, note="λ, falling")
    toy_start: tuple[float, ...] = numbers(default=(0.3, 2.5), note="on the way to the hyperbola w1 w2 = 1")
    toy_slow_time: float = number(default=20.0, above=0, note="λt at the end of the hyperbola's flows")

    def problems(self):
        """The problems by name, each with its last slow time."""
        toy = lb.problems.ToyModel("curved", init=self.toy_start)
        return {TOY: (toy, self.toy_slow_time), COMPLETION: (self.problem(), self.slow_time)}


prop2 = Entry(
    "riemannian/prop2",
    "Proposition 2: the slow phase is the Riemannian flow of the norm",
    "Over slow time [0.1, 20] the distance between flow and slow flow falls linearly in the weight decay.",
    source="Section 4.2, Proposition 2; Appendix A.3",
    seconds=22,
    settings=LimitSettings(),
    notes=(
        "The distance is that of all parameters, at 20 records a decade of slow time.",
        "On draws whose singular values decay close to zero by slow time 20, where the zero-loss set is nearly "
        "singular, the slope is below 1 at λ = 1e-2 and tends to 1 as λ falls: it is measured from 1e-3 down.",
        "Of draws 0 to 11 two are outside: 0.86, and 0.42 on draw 10, where the gap still falls as √λ at λ = 1e-5: its "
        "slow flow runs into the singular set, where the Proposition is silent.",
    ),
)
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


@prop2.runs
def prop2_runs(s):
    problem = s.problem()
    flows = {FLOW.format(strength): s.flow(problem, strength, s.slow_time) for strength in s.strengths}
    return {SLOW: s.slow_flow(problem, s.slow_time)} | flows


def from_elsewhere(s):
    """The slow flow with another start: the point of zero loss that Gauss-Newton steps lead to from w0."""
    import equinox as eqx

    problem = s.problem()
    nearest = lb.zero_loss.retraction(problem, problem.init())
    moved = eqx.tree_at(lambda p: p.start, problem, nearest)
    run = lb.slow_flow(moved, slow_time=s.slow_time, progress=False, **s.records)
    return {"slow_time": run["slow_time"], "parameters": run["parameters"]}


@prop2.studies
def prop2_studies(s):
    configuration = {"experiment": "riemannian/prop2", "version": 1, "seed": s.seed}
    return [Study(ELSEWHERE, configuration, lambda: from_elsewhere(s))]


@prop4.runs
def prop4_runs(s):
    made = {}
    for kind, (problem, until) in s.problems().items():
        made[f"{kind}: {SLOW}"] = s.slow_flow(problem, until)
        made |= {f"{kind}: {FLOW.format(strength)}": s.flow(problem, strength, until) for strength in s.strengths}
    return made


def gaps(e, strength, *, elsewhere=False):
    """Slow times from ε on, and the distance of all parameters there between the flow and the slow flow."""
    slow, flow = e.tables[ELSEWHERE] if elsewhere else e[SLOW].columns, e[FLOW.format(strength)]
    kept = slow["slow_time"] >= 0.999 * e.settings.from_slow_time
    count = int(kept.sum())  # both end at the same slow time, with records in the same ratio
    return slow["slow_time"][kept], np.linalg.norm(flow["parameters"][-count:] - slow["parameters"][kept], axis=1)


def largest(e, *, elsewhere=False):
    """The largest distance for every λ."""
    return [float(gaps(e, strength, elsewhere=elsewhere)[1].max()) for strength in e.settings.strengths]


def small_slope(e, values):
    """The slope in λ of what there is for every λ, from 1e-3 down."""
    small = [(x, y) for x, y in zip(e.settings.strengths, values, strict=True) if x <= SMALL]
    return log_slope([x for x, _ in small], [y for _, y in small])


@prop2.claim(
    UNIT,
    "slope in λ, from 1e-3 down, of the largest distance over slow time [0.1, 20]",
    source="Proposition 2; the rate is measured, the proof gives none",
    rate=0.75,
)
def linear_in_lambda(e):
    """On [ε, T] the slow dynamics converges uniformly to the Riemannian flow of the norm as λ → 0."""
    return small_slope(e, largest(e))


@prop2.claim(at_least(0.05), "relative distance at slow time 0", source="Section 4.2, after Proposition 2")
def not_at_zero(e):
    """Excluding 0 is necessary: there the flow is at w0 and its limit at Φ(w0)."""
    flow, start = e[FLOW.format(e.settings.strengths[-1])], e[SLOW]["parameters"][0]
    return float(np.linalg.norm(flow["parameters"][0] - start) / np.linalg.norm(start))


@prop2.claim(at_least(0.9), "largest distance at λ = 1e-4 over that at λ = 1e-2", source="Section 4.2, Eq. 6")
def start_at_the_limit_map(e):
    """The limit starts at Φ(w0), the end of the unregularised flow: from the point of zero loss nearest to w0 the
    distance does not fall with λ."""
    found = largest(e, elsewhere=True)
    return found[-1] / found[0]


@prop2.claim(at_most(1e-5), "largest train error of the slow flow at a record", source="Section 4.2, Eq. 6")
def on_the_zero_loss_set(e):
    """The slow dynamics stays on the manifold."""
    return float(e[SLOW]["train_error"].max())


@prop2.claim(holds("gradients at λ = 1e-4 at least {times:g} times those at λ = 1e-2", times=2), source="measured here")
def cost(e, times):
    """The flow's cost grows as λ falls; the slow flow has no λ."""
    made = [e[FLOW.format(strength)].provenance["gradients"] for strength in e.settings.strengths]
    return {"flows": made, "slow flow": e[SLOW].provenance["gradients"]}, made[-1] >= times * made[0]


def shaded(e):
    """Every λ with its look in a family."""
    strengths = e.settings.strengths
    return [
        (strength, {"label": rf"$\lambda = ${strength:g}", "shade": panels.shade_of(place, len(strengths))})
        for place, strength in enumerate(strengths)
    ]


def slope_one(e, values, label=""):
    """A line of slope 1 through the last of what there is for every λ."""
    strengths = np.array(e.settings.strengths)
    return Line(strengths, values[-1] * strengths / strengths[-1], label, "theory", "dashed")


@prop2.figure
def prop2_figure(e):
    s, found = e.settings, largest(e)
    curves = [Line(*gaps(e, strength), **look) for strength, look in shaded(e)]
    ends = [
        Line(s.strengths, found, r"slow flow from $\Phi(w_0)$", marks="points"),
        slope_one(e, found, "slope 1"),
        Line(
            s.strengths, largest(e, elsewhere=True), r"from the point nearest to $w_0$", "cycle 1", "points", symbol="s"
        ),
    ]
    apart = Axis(r"distance of $w^\lambda(s/\lambda)$ to $w^\circ(s)$", "log", low=0.1 * curves[-1].y.min())
    over = Axis(f"largest distance on [{s.from_slow_time:g}, {s.slow_time:g}]", "log")
    left = Panel(curves, SLOW_TIME, apart, legend="lower right", legend_columns=2)
    return Figure([[left, Panel(ends, STRENGTH, over, legend=(0.3, 0.78))]], height=2.5)


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


@prop4.claim(
    at_least(1),
    "number of directions along which product and norm stay,",
    source="limits Proposition 4: its hypothesis fails for matrix completion",
)
def no_strict_minimum(e):
    """Of two factors a minimum of the norm is never strict: turning both by an orthogonal matrix leaves it."""
    params = e[f"{COMPLETION}: {SLOW}"].params
    left, right = (np.asarray(params[name]) for name in sorted(params))
    rank = int(np.linalg.matrix_rank(left @ right, tol=1e-2 * np.linalg.norm(left @ right, 2)))
    return rank * (rank - 1) // 2 + rank * (e.settings.width - rank)  # directions of first order


@prop4.claim(
    UNIT,
    "slope in λ, from 1e-3 down, at slow time 100 of the completion",
    source="beyond Proposition 4",
    rate=0.7,
)
def double_limit_without_strictness(e):
    """The ends of flow and slow flow agree to order λ all the same."""
    return small_slope(e, ends(e, COMPLETION))


@prop4.figure
def prop4_figure(e):
    residuals = [Line(*along(e, f"{COMPLETION}: {FLOW.format(strength)}")[:2], **look) for strength, look in shaded(e)]
    limit = Line(*along(e, f"{COMPLETION}: {SLOW}")[:2], r"slow flow, $\lambda \to 0$", "theory", "dashed")
    found = []
    for kind, role, symbol in ((TOY, "cycle 0", "o"), (COMPLETION, "cycle 1", "s")):
        values = ends(e, kind)
        found += [Line(e.settings.strengths, values, kind, role, "points", symbol=symbol), slope_one(e, values)]
    kkt = Axis(r"KKT residual $|P w| / |w|$", "log")
    left = Panel([*residuals, limit], SLOW_TIME, kkt, title=COMPLETION, legend="lower left")
    apart = Axis("distance between the ends of\nflow and slow flow", "log")
    right = Panel(found, STRENGTH, apart, legend="upper left", legend_title="dashed: slope 1")
    return Figure([[left, right]], height=2.5)
