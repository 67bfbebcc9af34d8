"""What Theorem 2.1 stands on: minimisers in common, the bound on subgradient descent, PL, and f as a CL function."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.beyond_l2.small_losses import KINDS, LINEAR, TheoremSettings, in_ball
from latebloom.catalog.beyond_l2.theorem_paths import (
    FREE,
    flip,
    gaps,
    gradients,
    long,
    path,
    steps_to_a_tenth,
    theorem_runs,
)
from latebloom.catalog.bounds import above, at_least, at_most, below, each, near, within
from latebloom.catalog.controls import OtherBound, Set
from latebloom.catalog.measures import log_slope
from latebloom.core.fields import number
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

SHARES = np.linspace(0.05, 1.0, 20)  # ε of Theorem C.28: radii over r
WEAK = Set(strengths=(3e-7, 2e-7, 1e-7), slow_time=1e-9)


class PerturbationSettings(TheoremSettings):
    saddle: float = number(default=0.0, note="where descent on (uv - 1)²/2 + β(u² + v²)/2 starts, both factors")
    share: float = number(default=1.0, above=0, note="r² over 2g/μ in Theorem C.24")


app_c = Entry(
    "beyond-l2/app-c",
    "Appendix C: what Theorem 2.1 assumes, and what it says of f",
    "Θ_f and Θ_g have no point in common for β > 0; f is not CL, and f - f* falls at the pace of αβ.",
    source="Appendices C.1 to C.3",
    seconds=15,
    settings=PerturbationSettings(),
    notes=(
        "Runs, losses and constants are those of beyond-l2/thm2.1.",
        "A function that is r-CL at a point has a zero in the ball (Theorem C.15). f ≥ βh has none where h > 0, "
        "so that f cannot be r-CL, and the β_max of Theorem C.28 cannot be positive: either the ball has a zero of g, "
        "and the infimum of g over its other points is 0, or it has none, and then r'²χ ≤ 4g(x).",
        "Infima and suprema over balls are taken at 1000 points and at the iterates inside; a larger set of points "
        "would make f no more CL.",
    ),
)


@app_c.runs
def app_c_runs(s):
    return theorem_runs(s)


@app_c.claim(
    each(at_most(1e-9)), "g at the minimiser of f, largest β,", kind="premise", source="Assumption C.5",
    fails="the penalty has its bias: g is of order β² there, never 0", control=WEAK,
)  # fmt: skip
def minimiser_in_common(e):
    """Θ_f and Θ_g have a point in common: f has a minimiser at which g is zero."""
    return {kind: e.settings.least(kind, max(e.settings.strengths)).loss for kind in KINDS}


@app_c.claim(
    each(near(2, by=0.02)), "slope in β of g at the minimiser of f", kind="ours", source="sharpens Assumption C.5",
    control=OtherBound(each(near(1, by=0.1))),
)  # fmt: skip
def bias_of_order_beta_squared(e):
    """At the minimiser of f, g is of order β²: the assumption holds in the limit β → 0 only."""
    s = e.settings
    return {kind: log_slope(s.strengths, [s.least(kind, b).loss for b in s.strengths]) for kind in KINDS}


def least_penalty(e):
    """h_g*: the least l1 norm of an interpolator of the linear loss."""
    return float(np.abs(e.cached(lb.oracles.basis_pursuit, e.settings.loss(LINEAR)).solution).sum())


def shortfalls(e):
    """g* + βh_g* - f* of the linear loss, for every β."""
    return [b * least_penalty(e) - e.settings.least(LINEAR, b).value for b in e.settings.strengths]


@app_c.claim(
    at_most(1e-4), "(g* + βh_g* - f*)/f*, largest β,", source="Lemma C.6", outside="Assumption C.5", control=WEAK
)
def least_value_as_printed(e):
    """f* = g* + βh_g*."""
    return float(shortfalls(e)[0] / e.settings.least(LINEAR, e.settings.strengths[0]).value)


@app_c.claim(
    near(2, by=0.02), "slope in β of g* + βh_g* - f*", kind="corrected", source="Lemma C.6 without Assumption C.5",
    control=OtherBound(near(1, by=0.1)),
)  # fmt: skip
def least_value(e):
    """f* = g* + βh_g* - O(β²)."""
    return log_slope(e.settings.strengths, shortfalls(e))


@app_c.claim(
    each(at_least(0)), "least h - h_g* after t1 over C'αβ/2", source="Theorem 2.1 ('moreover'), Equation 12",
    outside="Assumption C.5",
)  # fmt: skip
def penalty_stays_above(e):
    """The least h - h_g* is (η + C'αβ)/2, which is positive."""
    s, found = e.settings, {}
    for strength in s.strengths:
        seen, square = long(e, LINEAR, strength), gaps(e, LINEAR, strength).square
        excess = np.abs(seen.points[flip(seen) :]).sum(axis=1) - least_penalty(e)
        found[f"β={strength:g}"] = float(excess.min() / (0.5 * square * s.rate(LINEAR) * strength))
    return found


def descent_bound(steps, rate, distance, force):
    """(dist² + Δα² max|F|²)/(2Δα) after every number of steps Δ > 0, with the largest force so far."""
    return distance**2 / (2 * rate * steps) + rate * np.maximum.accumulate(force)[1:] ** 2 / 2


@app_c.claim(each(at_most(1)), "least f - f* over the bound, largest, from the start and from t1,", source="Lemma C.12")
def descent_on_f(e):
    """From any t1, the least f - f* until t2 is at most (dist²(x(t1), Θ_f) + Δα² max|F|²)/(2Δα), Δ = t2 - t1."""
    s, found = e.settings, {}
    for strength in s.strengths:
        seen, least = long(e, LINEAR, strength), s.least(LINEAR, strength)
        for begin in (0, flip(seen)):
            gap = np.minimum.accumulate(seen.value[begin:] - least.value)[1:]
            away = float(np.linalg.norm(seen.points[begin] - least.point))
            bound = descent_bound(seen.step[begin + 1 :] - seen.step[begin], s.rate(LINEAR), away, seen.force[begin:])
            found[f"β={strength:g}, t1={seen.step[begin]:g}"] = float((gap / bound).max())
    return found


def both_gaps(e, target):
    """min (g - g*) + β(h - h_g*) after t1 over the bound of Equation 14, with the distance to `target(x)`."""
    s, found = e.settings, {}
    for strength in s.strengths:
        seen = long(e, LINEAR, strength)
        begin = flip(seen)
        excess = np.minimum.accumulate(seen.value[begin:] - strength * least_penalty(e))[1:]
        away = float(np.linalg.norm(seen.points[begin] - target(seen.points[begin])))
        bound = descent_bound(seen.step[begin + 1 :] - seen.step[begin], s.rate(LINEAR), away, seen.force[begin:])
        found[f"β={strength:g}"] = float((excess / bound).max())
    return found


@app_c.claim(
    each(at_most(1)), "min (g - g*) + β(h - h_g*) after t1 over the bound", source="Lemma C.12, Equation 14",
    fails="the proof takes one point of Θ_g for the distance and another for h_g*",
)  # fmt: skip
def descent_on_both_as_printed(e):
    """The least (g - g*) + β(h - h_g*) is bounded likewise, with the distance to Θ_g."""
    problem = e.settings.loss(LINEAR)
    design, targets = np.asarray(problem.design), np.asarray(problem.targets)
    return both_gaps(e, lambda point: point - np.linalg.pinv(design) @ (design @ point - targets))


@app_c.claim(
    each(at_most(1)), "min (g - g*) + β(h - h_g*) after t1 over the bound", kind="corrected",
    source="Lemma C.12, Equation 14, with the distance to the interpolators of least h",
)  # fmt: skip
def descent_on_both(e):
    """The least (g - g*) + β(h - h_g*) is bounded likewise, with the distance to the interpolators of least h."""
    least = e.cached(lb.oracles.basis_pursuit, e.settings.loss(LINEAR)).solution
    return both_gaps(e, lambda point: least)


@app_c.claim(
    at_most(1), "f - f* over the bound after 10,000 steps", source="Lemma C.12, Theorem C.13",
    outside="f is not convex, which its subgradients being global asks", control=Set(saddle=0.5),
)  # fmt: skip
def descent_from_a_saddle(e):
    """The same bound for (uv - 1)²/2 + β(u² + v²)/2 from u = v = 0."""
    rate, strength, steps = 0.1, 0.1, 10_000
    u, forces = e.settings.saddle, [0.0]
    least = 0.5 * strength**2 + strength * (1 - strength)  # at u = v, u² = 1 - β
    values = []
    for _ in range(steps):  # u = v throughout
        slope = u * (u * u - 1) + strength * u
        values.append((u * u - 1) ** 2 / 2 + strength * u * u)
        forces.append(np.sqrt(2) * abs(slope))
        u -= rate * slope
    away = np.sqrt(2) * abs(e.settings.saddle - np.sqrt(1 - strength))
    bound = away**2 / (2 * rate * steps) + rate * max(forces) ** 2 / 2
    return float((min(values) - least) / bound)


@app_c.claim(at_most(1), "largest g(x_t) over (1 - μα(2 - αL))^t g(x0)", source="Theorem C.25, Equation 51")
def pl_rate(e):
    """Without a penalty, a μ-PL and L-smooth g falls by the factor 1 - μα(2 - αL) a step."""
    rate, seen = e.settings.rate(LINEAR), path(e, LINEAR, 0.0, FREE.format(kind=LINEAR))
    squares = np.linalg.svd(np.asarray(e.settings.loss(LINEAR).design), compute_uv=False) ** 2
    law = seen.loss[0] * (1 - squares[-1] * rate * (2 - rate * squares[0])) ** seen.step
    kept = law > 1e-24
    return float((seen.loss[kept] / law[kept]).max())


@app_c.claim(
    at_most(1 + 1e-9), "largest 4g over r²χ with r² = 2g/μ, at 200 points,", kind="corrected",
    source="Definition C.23, Theorem C.24", control=Set(share=0.02),
)  # fmt: skip
def pl_gives_cl(e):
    """A μ-PL function is r-CL (with ≤) at x for r² = 2g(x)/μ: x² + 3 sin² x, which is PL and not convex."""
    grid = np.linspace(-40, 40, 400_001)
    grid = grid[np.abs(grid) > 1e-3]
    value, slope = grid**2 + 3 * np.sin(grid) ** 2, 2 * grid + 3 * np.sin(2 * grid)
    steepness = slope**2 / value
    pl, found = steepness.min() / 2, []
    for point in np.linspace(-1.5, 1.5, 200):
        height = point**2 + 3 * np.sin(point) ** 2
        radius = np.sqrt(e.settings.share * 2 * height / pl)
        ball = np.abs(grid - point) <= radius
        found.append(4 * height / (radius**2 * steepness[ball].min()))
    return float(max(found))


def steepness_of_f(e, kind, strength, radius):
    """χ(f, x0, radius) over points of the ball and the iterates in it."""
    s, seen = e.settings, long(e, kind, strength)
    start = seen.points[0]
    inside = seen.points[np.linalg.norm(seen.points - start, axis=1) <= radius]
    points = np.concatenate([start + radius * in_ball(len(start)), inside])
    slopes = np.asarray(e.cached(gradients, kind, s.seed, s.misfit)(points))
    pulls = np.sign(points) if kind == LINEAR else points
    sizes = np.abs(points).sum(axis=1) if kind == LINEAR else (points**2).sum(axis=1) / 2
    values = np.array(e.cached(losses, kind, s.seed, s.misfit)(points)) + strength * sizes
    return float((np.square(slopes + strength * pulls).sum(axis=1) / values).min())


def losses(kind, seed, misfit):
    """g of every row of parameters."""
    import jax

    return jax.jit(jax.vmap(TheoremSettings(seed=seed, misfit=misfit).loss(kind).loss))


@app_c.claim(
    each(below(1)), "least 4f(x0) over ε²r²χ(f, x0, εr), over ε, smallest β,",
    source="Section 2.2, after Theorem 2.1; Theorem C.28",
    fails="a CL function has a zero in its ball; f ≥ βh has none",
    control=Set(strengths=(3e-9, 2e-9, 1e-9), slow_time=1e-12),
)  # fmt: skip
def f_is_cl_as_printed(e):
    """For small β, f = g + βh is εr-CL at the start, too."""
    s, strength, found = e.settings, min(e.settings.strengths), {}
    for kind in KINDS:
        start, radius = long(e, kind, strength).value[0], s.constants(kind).radius
        found[kind] = min(
            float(4 * start / ((share * radius) ** 2 * steepness_of_f(e, kind, strength, share * radius)))
            for share in SHARES
        )
    return found


def largest_strengths(e, kind):
    """(√Δ - B)/2C of Theorem C.28 for every ε."""
    s, c = e.settings, e.settings.constants(kind)
    start = np.asarray(s.loss(kind).init())
    ball, values = in_ball(len(start)), e.cached(losses, kind, s.seed, s.misfit)
    found = []
    for share in SHARES:
        points = start + share * c.radius * ball
        sizes = np.abs(points).sum(axis=1) if kind == LINEAR else (points**2).sum(axis=1) / 2
        heights = np.asarray(values(points))
        a, d = 4 * c.loss * heights.max(), (share * c.radius) ** 2 * c.chi * heights[heights > 0].min() / 2
        b, c2 = 4 * c.loss * sizes.max() + 4 * sizes[0] * heights.max(), 4 * sizes[0] * sizes.max()
        found.append(float((np.sqrt(b**2 - 4 * c2 * (a - d)) - b) / (2 * c2)))
    return found


@app_c.claim(
    each(above(0)), "largest (√Δ - B)/2C over ε", source="Theorem C.28, Equations 53 to 55",
    fails="A ≥ 2D for every ε: no β is small enough", control=OtherBound(each(below(0))),
)  # fmt: skip
def strengths_there_are_as_printed(e):
    """There is a β_max(ε) > 0 below which f is εr-CL."""
    return {kind: max(largest_strengths(e, kind)) for kind in KINDS}


@app_c.claim(
    each(near(0, by=0.2)), "slope in β of the steps from t1 until f - f* is a tenth",
    source="Section 2.2, after Theorem 2.1; Appendix C.3",
    fails="f - f* waits for the penalty: the steps go like 1/β, as in Theorem 2.1",
    control=OtherBound(each(near(-1, by=0.1))),
)  # fmt: skip
def f_decays_geometrically_as_printed(e):
    """f - f* ≤ (1-δ)^t (f(x0) - f*) with δ = Θ(α), for all t."""
    return {kind: log_slope(e.settings.strengths, steps_to_a_tenth(e, kind)) for kind in KINDS}


@app_c.claim(
    each(within(0, 1)), "largest |x_t - x0| over r, to the end,", source="Section 2.2, after Theorem 2.1",
    fails="the slow phase leaves the ball on its way to the minimum of f",
)  # fmt: skip
def stays_for_good_as_printed(e):
    """For small β the iterates stay in the ball for all t, and converge there to a minimiser of f."""
    found, s = {}, e.settings
    for kind in KINDS:
        points = long(e, kind, min(s.strengths)).points
        found[kind] = float(np.linalg.norm(points - points[0], axis=1).max() / s.constants(kind).radius)
    return found


@app_c.claim(
    each(at_least(1 - 1e-9)), "least norm of a subgradient at 500 points", source="Definition C.26",
    control=OtherBound(each(at_least(1.5))),
)  # fmt: skip
def norms_are_zsp(e):
    """The l1, l2 and nuclear norms are stationary at zero only: elsewhere a subgradient has norm one or more."""
    random = np.random.default_rng([e.settings.seed, 26])
    penalties = {"l1": lb.L1(1.0), "l2": lb.L2Norm(1.0), "nuclear": lb.NuclearNorm(1.0)}
    shapes = {"l1": (500, 5), "l2": (500, 5), "nuclear": (500, 4, 3)}
    found = {}
    for name, penalty in penalties.items():
        points = random.normal(size=shapes[name]) * random.uniform(size=(500, *[1] * (len(shapes[name]) - 1)))
        found[name] = min(float(np.linalg.norm(np.asarray(penalty.subgradient(point)))) for point in points[:60])
    return found


@app_c.figure
def app_c_figure(e):
    s, traces, steepness = e.settings, [], []
    for place, kind in enumerate(KINDS):
        shade = panels.shade_of(place, len(KINDS))
        traces.append(
            Line(s.strengths, [s.least(kind, b).loss for b in s.strengths], kind, marks="points", shade=shade)
        )
        strength, radius = min(s.strengths), s.constants(kind).radius
        start = long(e, kind, strength).value[0]
        ratios = [4 * start / ((x * radius) ** 2 * steepness_of_f(e, kind, strength, x * radius)) for x in SHARES]
        steepness.append(Line(SHARES, ratios, kind, shade=shade))
    law = s.least(KINDS[-1], s.strengths[0]).loss * (np.array(s.strengths) / s.strengths[0]) ** 2
    traces.append(Line(s.strengths, law, r"$\propto \beta^2$", "theory"))
    left = Panel(
        traces,
        Axis(r"$\beta$", "log", ticks={b: f"{b:g}" for b in s.strengths}),
        Axis(r"$g$ at the minimiser of $f$", "log"),
        legend="lower right",
    )
    ratio = Axis(r"$4f(x^{(0)}) / (\epsilon r)^2\chi(f)$", "log")
    right = Panel([*steepness, Rule(1.0, "CL below", across="y")], Axis(r"$\epsilon$"), ratio, legend="upper left")
    return Figure([[left, right]])
