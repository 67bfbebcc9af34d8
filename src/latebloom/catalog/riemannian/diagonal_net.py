"""A diagonal linear network that fits a few samples of a Fourier series (Figure 4), and its manifold (Prop. 5)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.bounds import at_least, at_most, below, holds, near, within
from latebloom.catalog.controls import Altered, Instead
from latebloom.catalog.measures import distance, over, times
from latebloom.catalog.riemannian.curvature import rank
from latebloom.catalog.riemannian.phases import AROUND, WITHOUT, DecaySettings, half_fall
from latebloom.catalog.riemannian.snapshots import moment, network_figure
from latebloom.core.fields import count, number, numbers
from latebloom.figures import Axis, Rule, panels

FOURIER_GRID = np.linspace(-1.0, 1.0, 401)  # where functions are shown
DECAY = "weight decay"
START = "without weight decay, initial variance {:g}"


class FourierSettings(DecaySettings):
    frequencies: int = count(default=30, note="d, of the features 1, cos(πkx/2), sin(πkx/2), k = 1..d")
    samples: int = count(default=12, note="n")
    cosines: tuple[int, ...] = numbers(default=(0, 6), whole=True, least=0, note="k in the teacher; 0 is the 1")
    sines: tuple[int, ...] = numbers(default=(21,), whole=True, least=1, note="k in the teacher")
    init_variance: float = number(default=0.1, least=0, note="of the weights")
    small_variances: tuple[float, ...] = numbers(
        default=(1e-3, 1e-6, 1e-12), least=0, note="of smaller starts, without weight decay"
    )
    time: float = number(default=1e6, above=0, note="ten times the printed t3")
    memorised_at: float = number(default=5e-2, above=0, note="relative error of t1")
    generalised_at: float = number(default=5e-2, above=0, note="relative error of t2")
    snapshots: tuple[float, ...] = numbers(default=(0.0, 1e2, 1e5), least=0, note="times at which it is shown")


fig4 = Entry(
    "riemannian/fig4",
    "A diagonal linear network groks a sparse Fourier series: errors, norm, coefficients, snapshots",
    "The flow memorises by time 1e2, then drifts for a time of order 1/λ to the minimum-l1 interpolator.",
    source="Appendix D.2, Figure 4",
    seconds=15,
    settings=FourierSettings(weight_decay=1e-4),
    seed_reason="the first draw on which basis pursuit recovers the teacher (it does on about 85 % of draws)",
    notes=(
        "Gradient flow instead of the paper's gradient descent, whose step size is not printed.",
        "The test measure is the error of the coefficients, which is that of the function over a period, [-2, 2].",
        "Run to time 1e6: by the printed 1e5, 15 of 24 draws are within 0.05 of the basis-pursuit solution.",
    ),
)


@fig4.runs
def fig4_runs(s):
    def problem(variance):
        return lb.problems.DiagonalNet(
            s.frequencies, s.samples, cosines=s.cosines, sines=s.sines, init_variance=variance, seed=s.seed
        )

    drawn = problem(s.init_variance)
    flow = {
        "time": s.time,
        "solver": "rkc",
        "rtol": 1e-3,  # against 1e-4 the end agrees to 3e-6 and t2 to 5e-5
        "probes": (lb.probes.Components(), lb.probes.FunctionValues(FOURIER_GRID)),
        "memorised_at": s.memorised_at,
        "generalised_at": s.generalised_at,
    }
    return {
        DECAY: lb.FlowJob(drawn, lb.L2(s.weight_decay), **flow),
        WITHOUT: lb.FlowJob(drawn, lb.L2(0.0), **flow),
        **{START.format(x): lb.FlowJob(problem(x), lb.L2(0.0), **flow) for x in s.small_variances},
    }


def basis_pursuit(e):
    """The interpolator of minimum l1 norm."""
    return e.cached(lb.oracles.basis_pursuit, e.problem(DECAY))


def distances(e, oracle):
    """How far the coefficients are from an oracle's, relative to them, at every record; None if it has none."""
    if not oracle.solved:
        return None
    return np.linalg.norm(e[DECAY]["components"] - oracle.solution, axis=1) / np.linalg.norm(oracle.solution)


def distance_at(e, time):
    """The relative distance to the basis-pursuit solution at a time."""
    found = distances(e, basis_pursuit(e))
    return None if found is None else float(np.interp(time, e[DECAY]["time"], found))


@fig4.claim(
    at_most(100), "t1, at a training error of 0.05 of |y|,", id="memorises-early", source="Appendix D.2", rate=0.9
)
def memorises_by_100(e):
    """By t = 1e2 the training loss has dropped to nearly zero."""
    return e[DECAY].t1


@fig4.claim(
    at_least(0.5), "recovery error at time 1e3", source="Appendix D.2, Figure 4", rate=0.95,
    control=Instead({DECAY: START.format(1e-12)}),
)  # fmt: skip
def overfits_first(e):
    """This solution does not generalise."""
    return moment(e[DECAY], "test_error", 1e3)


@fig4.claim(at_most(0.05), "relative distance of the coefficients at time 1e2", source="Appendix D.2", rate=0.9)
def follows_unregularised_flow(e):
    """By t = 1e2 the iterates closely approximate the solution of the unregularised flow."""
    here, bare = (e[name].at("components", time=1e2) for name in (DECAY, WITHOUT))
    return distance(here, bare)


@fig4.claim(at_least(1.3), "norm without weight decay at the end over that with it", source="Appendix D.2", rate=0.9)
def early_norm_is_not_low(e):
    """The solution of the unregularised flow does not have a low norm."""
    return e[WITHOUT].final["l2_norm"] / e[DECAY].final["l2_norm"]


def least_entropy(problem):
    """The interpolator at the least Bregman distance of the hyperbolic entropy from the start, by Newton's method.

    With p = (u + v)/√2 and q = (u - v)/√2 the flow multiplies p by exp(ν) and q by exp(-ν), ν in the range of Xᵀ:
    it ends where `X (p² exp(2ν) - q² exp(-2ν)) / 2 = y`, the stationarity of `Σ (p² exp(2ν) + q² exp(-2ν)) / 4 - yᵀμ`.
    """
    from scipy.optimize import minimize

    design, targets, (u, v) = (
        np.asarray(part, dtype=float) for part in (problem.design, problem.targets, problem.start)
    )
    plus, minus = (u + v) ** 2 / 2, (u - v) ** 2 / 2

    def parts(dual):
        return plus * np.exp(2 * design.T @ dual), minus * np.exp(-2 * design.T @ dual)

    def value(dual):
        return sum(part.sum() for part in parts(dual)) / 4 - targets @ dual

    def slope(dual):
        grown, shrunk = parts(dual)
        return design @ (grown - shrunk) / 2 - targets

    def curvature(dual):
        return (design * sum(parts(dual))) @ design.T

    options = {"xtol": 1e-14, "maxiter": 1000}
    with np.errstate(over="ignore"):  # a step too long is taken back
        found = minimize(value, np.zeros(len(targets)), jac=slope, hess=curvature, method="Newton-CG", options=options)
    grown, shrunk = parts(found.x)
    return (grown - shrunk) / 2


@fig4.claim(
    at_most(1e-2), "relative distance of the coefficients at the end", source="Appendix D.2: Woodworth et al.", rate=0.9
)
def implicit_bias(e):
    """The limit of the unregularised flow is the interpolator that the hyperbolic entropy of the start picks."""
    return distance(e[WITHOUT]["components"][-1], e.cached(least_entropy, e.problem(WITHOUT)))


def starts(e):
    """The runs without weight decay, from the largest start to the smallest."""
    return [e[WITHOUT], *(e[START.format(variance)] for variance in e.settings.small_variances)]


@fig4.claim(
    at_most(0.1), "relative distance to the basis-pursuit solution at the end, from variance 1e-12",
    source="Appendix D.2, footnote 4", rate=0.35,
)  # fmt: skip
def small_start_without_decay(e):
    """A much smaller start reaches the same solution without weight decay."""
    solution = basis_pursuit(e).solution
    return distance(starts(e)[-1]["components"][-1], solution)


@fig4.claim(
    at_least(1.5), "t1 from variance 1e-12 over t1 from 0.1", source="Appendix D.2, footnote 4; Section 6", rate=0.9
)
def small_start_is_slower(e):
    """It costs longer training: small starts converge slowly."""
    return over(starts(e)[-1].t1, e[WITHOUT].t1)


@fig4.claim(
    holds("each less than {factor:g} times that of the next larger start", factor=0.95), source="Sections 1 and 6",
    rate=0.75,
)  # fmt: skip
def larger_starts_generalise_worse(e, factor):
    """The solution of the unregularised flow generalises poorly from large weights: its error grows with the start."""
    errors = [run.final["test_error"] for run in starts(e)]
    return errors, all(small < factor * large for large, small in pairwise(errors))


@fig4.claim(
    at_least(2.0), "time from variance 1e-12 to fit over that of weight decay from 0.1", source="Section 6", rate=0.75
)
def grokking_is_a_compromise(e):
    """Grokking fits fast and generalises late: it interpolates before a small start does, and ends as well."""
    small, end = starts(e)[-1], e[DECAY].final["test_error"]
    if end > 2 * max(small.final["test_error"], 0.01):
        return None
    return over(small.t1, e[DECAY].t1)


@fig4.claim(
    within(2, 50),
    "λ t2, at a recovery error of 0.05,",
    id="generalises-late",
    source="Caption of Figure 4",
    rate=0.75,
)
def recovers_late(e):
    """The test loss remains flat for an extended period and decreases after the transition at t ≈ 1/λ."""
    return times(e.settings.weight_decay, e[DECAY].t2)


@fig4.claim(
    holds("largest norm at least {least:g} of the initial one, before time {before:g}", least=1.03, before=1e3),
    source="Figure 4, not said in the text",
    kind="ours",
    rate=0.9,
)
def norm_rises_first(e, least, before):
    """Before it falls the norm of the weights rises: fitting the data costs norm."""
    norm, peak = e[DECAY]["l2_norm"], int(e[DECAY]["l2_norm"].argmax())
    return float(norm.max() / norm[0]), norm.max() >= least * norm[0] and e[DECAY]["time"][peak] < before


@fig4.claim(*AROUND, id="norm-falls-around-1/λ", source="Appendix D.2", rate=0.95)
def norm_falls_after_peak(e):
    """Around time t = 1/λ the weight norms begin to decrease."""
    run = e[DECAY]
    return half_fall(e.settings, run, "l2_norm", after=float(run["time"][run["l2_norm"].argmax()]))


@fig4.claim(
    at_most(0.03), "relative distance to the basis-pursuit solution at time 1e6", source="Appendix D.2", rate=0.75
)
def ends_at_basis_pursuit(e):
    """The product u ⊙ v ends at the interpolator of minimum l1 norm."""
    return distance_at(e, e.settings.time)


@fig4.claim(at_most(0.05), "relative distance at time 1e5 (it depends on the draw)", source="Appendix D.2", rate=0.45)
def ends_by_1e5(e):
    """It has converged to it by t3 ≈ 1e5."""
    return distance_at(e, 1e5)


@fig4.claim(
    at_most(1e-2),
    "relative distance to the Lasso solution at time 1e6",
    source="Appendix C, with the penalty kept",
    kind="ours",
    rate=0.75,
)
def ends_at_lasso(e):
    """At λ > 0 the end is the Lasso solution of strength λ, since min (|u|² + |v|²)/2 over u ⊙ v = a is |a|_1."""
    found = distances(e, e.cached(lb.oracles.lasso, e.problem(DECAY), e.settings.weight_decay))
    return None if found is None else float(found[-1])


@fig4.claim(within(0.98, 1.001), "(|u|² + |v|²) / (2 |β*|_1) at the end", source="Appendix D.2", rate=0.9)
def minimum_norm(e):
    """The weights end at the minimum-norm interpolator, |u|² + |v|² = 2 |β*|_1."""
    return e[DECAY].final["l2_norm"] ** 2 / (2 * basis_pursuit(e).value)


def oracle_recovers(e, by=1e-6):
    """Whether basis pursuit finds the teacher."""
    return lb.oracles.recovers(basis_pursuit(e), e.problem(DECAY).truth, tolerance=by)


@fig4.claim(
    holds("recovery error at the end at most {most:g} exactly where basis pursuit recovers the teacher", most=5e-2),
    source="Appendix D.2",
    rate=0.9,
)
def recovers_where_the_oracle_does(e, most):
    """l1 minimisation recovers the sparsest solution, which explains the zero test loss."""
    found = {"flow": e[DECAY].final["test_error"] <= most, "oracle": oracle_recovers(e)}
    return found, found["flow"] == found["oracle"]


def with_few_samples(e):
    """The same problem with four samples."""
    return replace(e, jobs=fig4.jobs(e.settings.but(samples=4)))


@fig4.claim(
    holds("the basis-pursuit solution is the teacher to {by:g}; on about 85 % of draws", by=1e-6),
    source="Appendix D.2: under RIP conditions",
    rate=0.7,
    control=Altered("there are four samples", with_few_samples),
)
def oracle_is_exact(e, by):
    """Basis pursuit recovers the teacher from 12 samples."""
    return oracle_recovers(e, by), oracle_recovers(e, by)


@fig4.claim(
    at_least(0.5), "recovery error without weight decay at the end", source="Section 4, Proposition 1", rate=0.95,
    control=Instead({WITHOUT: DECAY}),
)  # fmt: skip
def weight_decay_is_needed(e):
    """Without weight decay the flow stays where it first interpolates."""
    return e[WITHOUT].final["test_error"]


def rank_of_defining_function(e, run):
    """The rank of DH at the end of a run, H = Xᵀ(X(u² - v²) - y), in the coordinates of Proposition 5."""
    u, v = np.asarray(run.params)
    design = np.asarray(e.problem(DECAY).design)
    turned = np.concatenate([(u + v) / 2, -(u - v) / 2])  # u ⊙ v is the difference of squares of these
    return rank(2 * design.T @ np.concatenate([design, design], axis=1) * turned)


@fig4.claim(
    near(0, by=0), "rank of DH less n, at the limit of the unregularised flow", source="Proposition 5",
    control=Instead({WITHOUT: DECAY}),
)  # fmt: skip
def manifold_of_dimension_2d_less_n(e):
    """Where no coordinate is zero the critical points form a manifold of dimension 2d - n: DH has rank n."""
    return rank_of_defining_function(e, e[WITHOUT]) - e.settings.samples


@fig4.claim(
    below(0), "rank of DH less n, at the end of the slow phase", source="Appendix C, Eq. 25 and Proposition 5",
    control=Instead({DECAY: WITHOUT}), rate=0.4,
)  # fmt: skip
def ends_singular(e):
    """The set is singular where coordinates are zero: at the sparse vectors of least norm the rank is lower."""
    return rank_of_defining_function(e, e[DECAY]) - e.settings.samples


@fig4.figure
def fig4_figure(e):
    run, problem, truth = e[DECAY], e.problem(DECAY), np.asarray(e.problem(DECAY).truth)
    bare = panels.curve(e[WITHOUT], "test_error", r"recovery, $\lambda = 0$", "test", "beside")
    limit = Rule(float(np.sqrt(2 * basis_pursuit(e).value)), r"$\sqrt{2\,|\beta^*|_1}$", across="y")
    errors = panels.errors(run, test="recovery", legend="lower left")
    learning = [
        replace(errors, traces=[*errors.traces, bare]),
        panels.norm(run, "l2_norm", "norm $|w|_2$", limit),
        replace(panels.components(run, truth), y=Axis(r"coefficients $u_i v_i$")),
    ]
    target = lambda x: np.asarray(problem.function(truth, x))  # noqa: E731
    return network_figure(e, run, learning, FOURIER_GRID, target, start=0.1, low=-2.5)
