"""Theorem 2.1 with numbers: r-CL at the start, memorisation in the ball, then f within Δt, on three small losses."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.beyond_l2.small_losses import FACTORS, KINDS, LINEAR, NETWORK, TheoremSettings
from latebloom.catalog.beyond_l2.theorem_paths import (
    FREE,
    dominated,
    first,
    flip,
    gaps,
    in_hand,
    long,
    path,
    steps_to_a_tenth,
    theorem_runs,
    times_over_delay,
)
from latebloom.catalog.bounds import above, at_least, at_most, below, each, near, within
from latebloom.catalog.controls import OtherBound, Set
from latebloom.catalog.measures import log_slope
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

FAR = Set(misfit=8.0, slow_time=0.02)  # targets so far from the outputs that there is no radius
COARSE = Set(rate_share=12.0, slow_time=0.2)  # a learning rate beyond α_max

thm2_1 = Entry(
    "beyond-l2/thm2.1",
    "Theorem 2.1: r-CL at the start, memorisation in the ball, then f within Δt",
    "On a linear, a factorised and a network loss: constants, ball, geometric decay, ε_g, and the gap after t1.",
    source="Section 2.2, Theorem 2.1; Appendix C.1, Theorem C.10",
    seconds=30,
    settings=TheoremSettings(),
    notes=(
        "The losses: three measurements of six entries with l1; two measurements of u ⊙ v, six parameters, with "
        "|x|²/2; three points and four tanh units, twelve parameters, with |x|²/2.",
        "χ, L₁ and L₂ are taken at 1000 points of the ball, χ as 2 σ_min(J)², which no residual can go below.",
        "The radius is the smallest of a grid at which Equation 29 has room for ε = 0.4 and γ = 0.1.",
        "f* is the Lasso's, or the least value of thirteen quasi-Newton descents; distances to minimisers are up to "
        "signs and the order of hidden units.",
        "On draw 1 f - f* of the factorised loss is not down to a tenth by αβt = 4, so that it has no time to compare.",
        "Lemma C.12 and the second half of the theorem need a convex f: only the linear loss has one.",
    ),
)


@thm2_1.runs
def thm2_1_runs(s):
    return theorem_runs(s)


@thm2_1.claim(
    each(below(1)), "4g(x0) over ((1-ε)/(1+γ))² r²χ at the best radius", kind="premise",
    source="Equation 2, Definition C.9, Lemma C.11", control=FAR,
)  # fmt: skip
def is_cl(e):
    """g is r-CL at the start for some r > 0, with room for ε and γ."""
    return {kind: e.settings.constants(kind).share for kind in KINDS}


@thm2_1.claim(
    each(at_least(0.9)), "sampled infimum of |∇g|²/g in the ball over χ", kind="ours",
    source="the theory's local_cl_constant", control=OtherBound(each(at_least(1.5))),
)  # fmt: skip
def chi_is_a_lower_bound(e):
    """The constant χ used here is, to a tenth, nowhere in the ball above |∇g|²/g."""
    s = e.settings
    found = {kind: s.constants(kind) for kind in KINDS}
    return {
        kind: lb.theory.local_cl_constant(s.loss(kind), s.loss(kind).init(), c.radius, samples=300).estimate / c.chi
        for kind, c in found.items()
    }


@thm2_1.claim(
    each(below(1)), "α over α_max and the largest β over β_max", kind="premise", source="Equation 7",
    control=Set(rate_share=1.2, slow_time=0.2),
)  # fmt: skip
def below_the_limits(e):
    """Learning rate and strength are below α_max and β_max of the proof."""
    s = e.settings
    rates = {f"α, {kind}": s.rate(kind) / s.constants(kind).alpha_max() for kind in KINDS}
    return rates | {f"β, {kind}": max(s.strengths) / s.constants(kind).beta_max for kind in KINDS}


@thm2_1.claim(
    each(at_most(1)), "largest distance from the start over r, while γ|G| ≥ β|H|,",
    source="Theorem 2.1 (first part), Lemma C.17", control=Set(rate_share=60.0, slow_time=0.02),
)  # fmt: skip
def stays_in_the_ball(e):
    """While the gradient of g dominates, the iterates stay in the ball B(x0, r)."""
    found = {}
    for kind in KINDS:
        seen = first(e, kind)
        away = np.linalg.norm(seen.points - seen.points[0], axis=1)[dominated(e, seen)]
        found[kind] = float(away.max() / e.settings.constants(kind).radius)
    return found


@thm2_1.claim(
    each(at_most(1)), "largest g(x_j) over (1-δ)^j g(x0), every β,", source="Theorem C.16, Lemma C.20, Equation 32"
)
def decays_geometrically(e):
    """Until then g falls geometrically, at the rate δ = (1-ε)χα."""
    s, found = e.settings, {}
    for kind in KINDS:
        seen = [long(e, kind, strength) for strength in s.strengths]
        law = [one.loss[0] * (1 - s.constants(kind).delta(s.rate(kind))) ** one.step for one in seen]
        kept = [dominated(e, one) for one in seen]
        found[kind] = max(
            float((one.loss[keep] / line[keep])[1:].max()) for one, line, keep in zip(seen, law, kept, strict=True)
        )
    return found


@thm2_1.claim(
    each(at_most(1)), "largest |R_j| over εα|∇g|²", source="Lemmas C.19 and C.21, Equation 37", control=COARSE
)
def remainder(e):
    """A step changes g by -α|∇g|² up to εα|∇g|²."""
    s, found = e.settings, {}
    for kind in KINDS:
        seen = first(e, kind)
        kept, rate = dominated(e, seen)[:-1], s.rate(kind)
        gone = np.abs(np.diff(seen.loss) + rate * seen.slope[:-1] ** 2)
        found[kind] = float((gone / (s.epsilon * rate * seen.slope[:-1] ** 2))[kept].max())
    return found


def path_lengths(e):
    """The length of the path over the bound of Lemma C.22, from the first step on."""
    s, found = e.settings, {}
    for kind in KINDS:
        seen, c = first(e, kind), s.constants(kind)
        length = s.rate(kind) * seen.force[dominated(e, seen)][:-1].sum()
        found[kind] = float(length / (2 * (1 + s.gamma) * np.sqrt(c.loss / c.chi) / (1 - s.epsilon)))
    return found


@thm2_1.claim(
    each(within(0.9, 1.1)), "Σ α|F| over √(4(1+γ)²g(x0)/χ)/(1-ε)", source="Lemma C.22, Equation 47",
    fails="an upper bound printed with a sign of equality", control=OtherBound(each(at_most(1))),
)  # fmt: skip
def path_length_as_printed(e):
    """The lengths of the steps add up to √(4(1+γ)²g(x0)/χ)/(1-ε)."""
    return path_lengths(e)


@thm2_1.claim(
    each(at_most(1)), "Σ α|F| over √(4(1+γ)²g(x0)/χ)/(1-ε)", kind="corrected", source="Lemma C.22", control=FAR
)
def path_length(e):
    """The lengths of the steps add up to no more than √(4(1+γ)²g(x0)/χ)/(1-ε)."""
    return path_lengths(e)


@thm2_1.claim(
    each(at_most(1)), "largest |∇g|² over 2Lg with L the largest curvature in the ball, every β,",
    source="Lemma C.4, Theorem C.10", control=OtherBound(each(at_most(0.5))),
)  # fmt: skip
def gradient_by_loss(e):
    """For an L-smooth g ≥ 0, |∇g|² ≤ 2Lg: a small loss has a small gradient."""
    found = {}
    for kind in KINDS:
        largest = e.settings.constants(kind).curvature
        seen = [long(e, kind, strength) for strength in e.settings.strengths]
        found[kind] = max(float((one.slope**2 / (2 * largest * one.loss))[one.loss > 1e-25].max()) for one in seen)
    return found


@thm2_1.claim(
    each(at_least(1)), "least γ|G(x_j)| τ^(k-j) over βL_h for j ≤ k, every β,", source="Theorem C.14, Equation 24",
    control=OtherBound(each(at_least(3))),
)  # fmt: skip
def gradient_dominates(e):
    """If γ|G(x0)| ≥ βL_h/τ^k, then γ|G(x_j)| ≥ βL_h/τ^(k-j) for all j ≤ k (L = pL₂, L_h of the norm)."""
    s, found = e.settings, {}
    for kind in KINDS:
        c, ratios = s.constants(kind), []
        for strength in s.strengths:
            seen = long(e, kind, strength)
            steps = in_hand(e, kind, seen, corrected=True)
            kept = seen.until(steps)
            falls = c.tau(s.rate(kind), corrected=True) ** (steps - seen.step[kept])
            ratios.append(float((s.gamma * seen.slope[kept] * falls / (strength * c.largest_pull(True))).min()))
        found[kind] = min(ratios)
    return found


@thm2_1.claim(
    each(at_most(1)),
    "g at t(ε_g) over ε_g = Dβ^C, and the distance from the start until then over r, largest,",
    source="Theorem 2.1 (first part), Equations 8 and 9",
)
def memorises_in_time(e):
    """For ε_g = Dβ^C there is a step t1 = t(ε_g) with g ≤ ε_g, all iterates up to it in the ball."""
    s, found = e.settings, {}
    for kind in KINDS:
        c, rate = s.constants(kind), s.rate(kind)
        for strength in s.strengths:
            seen, precision = long(e, kind, strength), c.precision(rate, strength)
            place = np.searchsorted(seen.step, c.in_time(rate, precision))
            away = np.linalg.norm(seen.points[: place + 1] - seen.points[0], axis=1).max() / c.radius
            name = f"{kind}, β={strength:g}"
            found[name] = max(float(seen.loss[place] / precision), float(away))
    return found


@thm2_1.claim(each(within(1.8, 2.2)), "slope in β of g at the end", kind="ours", source="sharpens Equation 9")
def reaches_beta_squared(e):
    """The training loss gets down to order β², far below the ε_g = Dβ^C of the theorem (C is about 0.2 or less)."""
    s = e.settings
    return {kind: log_slope(s.strengths, [float(long(e, kind, b).loss[-1]) for b in s.strengths]) for kind in KINDS}


@thm2_1.claim(each(above(0)), "C", source="Equation 9", control=OtherBound(each(above(0.5))))
def exponent_is_positive(e):
    """The exponent C = log(1-δ)/log τ is positive."""
    return {kind: e.settings.constants(kind).exponent(e.settings.rate(kind)) for kind in KINDS}


@thm2_1.claim(
    each(at_most(1)),
    "|x_k - x*| over r(1-δ)^(k/2), and g at the end over 1e-6 g(x0), the larger",
    source="Theorem C.15",
)
def free_descent_converges(e):
    """Without a penalty the iterates converge geometrically to a point of zero loss in the ball."""
    s, found = e.settings, {}
    for kind in KINDS:
        seen, c = path(e, kind, 0.0, FREE.format(kind=kind)), s.constants(kind)
        away = np.linalg.norm(seen.points - seen.points[-1], axis=1)
        law = c.radius * (1 - c.delta(s.rate(kind))) ** (seen.step / 2)
        kept = law > 1e-10
        found[kind] = max(float((away[kept] / law[kept]).max()), float(seen.loss[-1] / seen.loss[0] / 1e-6))
    return found


@thm2_1.claim(
    each(at_least(1.8)), "slope of |F|² at t(ε_g) in β", kind="premise", source="Theorem C.13, after Equation 10",
    fails="with ε_g = Dβ^C the gradient of g is still far larger than β|H|",
    control=Set(strengths=(300.0, 200.0, 100.0), slow_time=1e-9),
)  # fmt: skip
def force_of_order_beta_as_meant(e):
    """From t1 on |F|² = O(β²)."""
    s, found = e.settings, {}
    for kind in KINDS:
        c, rate, forces = s.constants(kind), s.rate(kind), []
        for strength in s.strengths:
            seen = long(e, kind, strength)
            place = np.searchsorted(seen.step, c.in_time(rate, min(c.loss, c.precision(rate, strength))))
            forces.append(float(seen.force[place] ** 2))
        found[kind] = log_slope(s.strengths, forces)
    return found


@thm2_1.claim(
    each(within(1.8, 2.2)), "slope in β of the largest |F|² since |G| ≤ β|H|", kind="corrected",
    source="Theorem C.13's hypothesis, with t1 where the penalty takes over",
)  # fmt: skip
def force_of_order_beta(e):
    """From the step at which the penalty takes over |F|² = O(β²)."""
    s = e.settings
    return {kind: log_slope(s.strengths, [gaps(e, kind, b).square * b**2 for b in s.strengths]) for kind in KINDS}


@thm2_1.claim(at_most(1), "largest time until f - f* ≤ (η + C'αβ)β/2 over Δt(η)", source="Theorem 2.1 (second part)")
def gap_within_delay(e):
    """By t1 + Δt(η), Δt = dist²(x(t1), Θ_f)/(αβη), f - f* has fallen to (η + C'αβ)β/2 (linear loss, every β)."""
    return float(np.nanmax(times_over_delay(e, LINEAR)))


@thm2_1.claim(
    each(at_most(1)), "largest time until f - f* ≤ (η + C'αβ)β/2 over Δt(η)", kind="ours",
    source="Theorem 2.1 (second part), beyond its convex f",
)  # fmt: skip
def gap_within_delay_beyond_convexity(e):
    """So it has for the factorised loss and the network, whose f is not convex."""
    return {kind: float(np.nanmax(times_over_delay(e, kind))) for kind in (FACTORS, NETWORK)}


@thm2_1.claim(
    at_least(0.5), "least time until f - f* ≤ (η + C'αβ)β/2 over Δt(η)",
    source="Theorem 2.1 (the 'if and only if'), Theorem C.13",
    fails="Δt is enough and not needed: the gap falls below far earlier", control=OtherBound(at_most(1)),
)  # fmt: skip
def only_if_as_printed(e):
    """f - f* falls to (η + C'αβ)β/2 only if t2 ≥ t1 + Δt(η) (linear loss, every β)."""
    return float(np.nanmin(times_over_delay(e, LINEAR)))


@thm2_1.claim(
    each(near(-1, by=0.1)), "slope in β of the steps from t1 until f - f* is a tenth",
    source="Section 2.2, after Theorem 2.1", control=OtherBound(each(near(0, by=0.2))), rate=0.6,
)  # fmt: skip
def delay_goes_like_one_over_beta(e):
    """f approaches f* within Θ(1/(αβ)) further steps."""
    return {kind: log_slope(e.settings.strengths, steps_to_a_tenth(e, kind)) for kind in KINDS}


@thm2_1.figure
def thm2_1_figure(e):
    s, rows = e.settings, [[], []]
    for kind in KINDS:
        c, rate, lines, slow = s.constants(kind), s.rate(kind), [], []
        for place, strength in enumerate(s.strengths):
            seen, shade = long(e, kind, strength), panels.shade_of(place, len(s.strengths))
            label = rf"$\beta$ = {strength:g}"
            lines.append(Line(seen.step[1:], seen.loss[1:] / seen.loss[0], label, shade=shade))
            left = gaps(e, kind, strength)
            bound = left.distance**2 / (2 * rate * left.step[1:]) + 0.5 * rate * left.square * strength**2
            clock = rate * strength * left.step[1:]
            slow.append(Line(clock, left.gap[1:] / strength, label, shade=shade))
            slow.append(Line(clock, bound / strength, "bound", "theory", name=f"{label}, bound", width=0.8))
        seen = long(e, kind, min(s.strengths))
        law = (1 - c.delta(rate)) ** seen.step[1:]
        kept = law > 1e-8
        lines.append(Line(seen.step[1:][kept], law[kept], r"$(1-\delta)^t$", "theory"))
        lines.append(Rule(float(seen.step[flip(seen)]), "$t_1$", "train", measured=True))
        loss = Axis("$g/g(x^{(0)})$", "log", low=1e-8)
        gap = Axis(r"$\min(f - f^*)/\beta$", "log", low=1e-6)
        rows[0].append(Panel(lines, panels.STEPS, loss, title=kind, legend="upper right"))
        rows[1].append(Panel(slow, Axis(r"$\alpha\beta(t - t_1)$", "log"), gap))
    return Figure(rows)
