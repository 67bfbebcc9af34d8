"""Networks that fit a few samples of a function of one variable: ReLU (Figure 3), diagonal linear (Figure 4)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.bounds import at_least, at_most, holds, within
from latebloom.catalog.measures import times
from latebloom.catalog.riemannian.phases import FLOW, WITHOUT, DecaySettings, clock, slow_scale
from latebloom.core.fields import count, number, numbers
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

BRIEF, SMALL = "flow to time 5", "small steps to time 5"
DECAY = "weight decay"
RELU_GRID, FOURIER_GRID = np.linspace(-2.0, 2.0, 201), np.linspace(-1.0, 1.0, 401)  # where functions are shown


class ReluSettings(DecaySettings):
    width: int = count(default=100, note="m, hidden units")
    samples: int = count(default=10, note="n")
    init_variance: float = number(default=4.0, least=0, note="of the weights")
    time: float = number(default=1e5, above=0, note="printed; see the claim on time and iterations")
    iterations: int = count(default=1_000_000, note="printed; the flow stands for them")
    short_time: float = number(default=5.0, above=0, note="up to which the flow is compared with small steps")
    small_step: float = number(default=2e-5, above=0, note="1/100 of the stable step")
    memorised_at: float = number(default=5e-2, above=0, note="relative error of t1")
    generalised_at: float = number(default=2e-1, above=0, note="relative error of t2")
    snapshots: tuple[float, ...] = numbers(default=(1.0, 1e3, 1e5), least=0, note="times at which it is shown")


class FourierSettings(DecaySettings):
    frequencies: int = count(default=30, note="d, of the features 1, cos(πkx/2), sin(πkx/2), k = 1..d")
    samples: int = count(default=12, note="n")
    cosines: tuple[int, ...] = numbers(default=(0, 6), whole=True, least=0, note="k in the teacher; 0 is the 1")
    sines: tuple[int, ...] = numbers(default=(21,), whole=True, least=1, note="k in the teacher")
    init_variance: float = number(default=0.1, least=0, note="of the weights")
    time: float = number(default=1e6, above=0, note="ten times the printed t3")
    memorised_at: float = number(default=5e-2, above=0, note="relative error of t1")
    generalised_at: float = number(default=5e-2, above=0, note="relative error of t2")
    snapshots: tuple[float, ...] = numbers(default=(0.0, 1e2, 1e5), least=0, note="times at which it is shown")


fig3 = Entry(
    "riemannian/fig3",
    "A two-layer ReLU network groks: errors, norm, number of kinks, snapshots of the function",
    "The flow fits ten samples with some forty kinks, then drifts in a time of order 1/λ to a function with few.",
    source="Section 5, Figure 3",
    seconds=20,
    settings=ReluSettings(seed=10),
    seed_reason="of the first 16 draws the one that ends closest to the teacher, with two samples on every piece",
    notes=(
        "The paper does not print its teacher; this one is three ReLUs with kinks at -1, 0.2 and 1.2 and slope changes "
        "1, -1.5 and 2.",
        "How well the end generalises depends on the samples: over 16 draws the test error ends between 0.03 and 0.53.",
        "Gradient flow instead of 1e6 iterations, which with a stable step end at time 4e3 at most.",
    ),
)
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


@fig3.runs
def fig3_runs(s):
    problem = lb.problems.ReluRegression(s.width, s.samples, init_variance=s.init_variance, seed=s.seed)
    penalty = lb.L2(s.weight_decay)
    probes = lb.probes.FunctionValues(RELU_GRID), lb.probes.Kinks()
    common = {"probes": probes, "memorised_at": s.memorised_at, "generalised_at": s.generalised_at}
    # Late kinks stick to samples and the flow slides there: rtol 1e-3 costs more than five times the gradients and
    # moves the test error at time 1e4 by less than 5e-3.
    flow = {"solver": "rkc", "rtol": 1e-2, "atol": 1e-3, "max_gradients": 1_000_000, **common}
    steps = round(s.short_time / s.small_step)
    return {
        FLOW: lb.FlowJob(problem, penalty, time=s.time, **flow),
        BRIEF: lb.FlowJob(problem, penalty, time=s.short_time, **flow),
        SMALL: lb.TrainJob(problem, lb.GradientDescent(s.small_step), penalty, steps=steps, **common),
    }


@fig4.runs
def fig4_runs(s):
    problem = lb.problems.DiagonalNet(
        s.frequencies, s.samples, cosines=s.cosines, sines=s.sines, init_variance=s.init_variance, seed=s.seed
    )
    flow = {
        "time": s.time,
        "solver": "rkc",
        "rtol": 1e-3,  # against 1e-4 the end agrees to 3e-6 and t2 to 5e-5
        "probes": (lb.probes.Components(), lb.probes.FunctionValues(FOURIER_GRID)),
        "memorised_at": s.memorised_at,
        "generalised_at": s.generalised_at,
    }
    return {
        DECAY: lb.FlowJob(problem, lb.L2(s.weight_decay), **flow),
        WITHOUT: lb.FlowJob(problem, lb.L2(0.0), **flow),
    }


def moment(run, column, time):
    """A column at a time, between records linear in time."""
    return float(np.interp(time, run["time"], run[column]))


@fig3.claim(at_most(1e-2), "loss at time 1 over the initial one", source="Section 5", rate=0.9)
def loss_drops_by_1(e):
    """By t = 1 the training loss has dropped to nearly zero."""
    return moment(e[FLOW], "train_loss", 1.0) / float(e[FLOW]["train_loss"][0])


@fig3.claim(at_most(0.1), "λ t1, at a training error of 0.05 of |y|,", source="Caption of Figure 3", rate=0.8)
def memorises_early(e):
    """The training loss drops quickly to zero."""
    return times(e.settings.weight_decay, e[FLOW].t1)


@fig3.claim(
    within(0.2, 5.0),
    "λ t2, at a test error of 0.2 (it depends on where the ten samples fall),",
    source="Caption of Figure 3",
    rate=0.6,
)
def generalises_late(e):
    """The test loss remains high for an extended period before eventually improving."""
    return times(e.settings.weight_decay, e[FLOW].t2)


@fig3.claim(at_least(3.0), "test error at time 10 over that at the end", source="Section 5", rate=0.85)
def improves(e):
    """The solution of low norm generalises much better than that of the unregularised flow."""
    return moment(e[FLOW], "test_error", 10.0) / e[FLOW].final["test_error"]


@fig3.claim(
    within(0.33, 0.42),
    "norm at time 1/λ over that at time 10 (e⁻¹ = 0.37 for directions that the data do not hold)",
    id="norm-falls-around-1/λ",
    source="Section 5",
    rate=0.95,
)
def norm_falls(e):
    """Around time t = 1/λ the weight norms begin to decrease."""
    run = e[FLOW]
    return moment(run, "l2_norm", 1 / e.settings.weight_decay) / moment(run, "l2_norm", 10.0)


@fig3.claim(at_least(30), "kinks at time 10", source="Figure 3", rate=0.9)
def many_kinks_first(e):
    """The first interpolant is bent by many units."""
    return moment(e[FLOW], "kinks", 10.0)


@fig3.claim(
    at_most(6),
    "kinks of more than 0.05 in slope at the end (the teacher has 3)",
    source="Section 5, Figure 3",
    rate=0.9,
)
def few_kinks(e):
    """Solutions of low norm have a small number of kinks."""
    return e[FLOW].final["kinks"]


@fig3.claim(
    at_most(1e-2),
    "training error at the end over |y|",
    source="Section 5",
    fails="at λ = 1e-3 weight decay holds it at 0.02 to 0.06",
)
def zero_loss_as_printed(e):
    """By t ≈ 1e5 the weights have drifted to a zero training loss solution."""
    return e[FLOW].final["train_error"]


@fig3.claim(
    at_most(1.0),
    "step 0.1 over the largest stable one, 2/sharpness at the start,",
    source="Section 5, Appendix D.1",
    fails="the sharpness is 400 to 730",
)
def steps_and_time_as_printed(e):
    """1e6 iterations of gradient descent with a small step reach time 1e5."""
    problem = e.problem(FLOW)
    return e.settings.time / e.settings.iterations * problem.sharpness(problem.init()) / 2


@fig3.claim(at_most(1e-2), "relative difference of the functions at time 5", source="beyond the paper", rate=0.85)
def flow_is_the_limit(e):
    """Across kinks the flow agrees with gradient descent at a hundredth of the stable step."""
    flow, small = (e[name]["function_values"][-1] for name in (BRIEF, SMALL))
    return float(np.linalg.norm(flow - small) / np.linalg.norm(small))


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


@fig4.claim(at_least(0.5), "recovery error at time 1e3", source="Appendix D.2, Figure 4", rate=0.95)
def overfits_first(e):
    """This solution is that of the unregularised flow, and it does not generalise."""
    return moment(e[DECAY], "test_error", 1e3)


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
    rate=0.9,
)
def norm_rises_first(e, least, before):
    """Before it falls the norm of the weights rises: fitting the data costs norm."""
    norm, peak = e[DECAY]["l2_norm"], int(e[DECAY]["l2_norm"].argmax())
    return float(norm.max() / norm[0]), norm.max() >= least * norm[0] and e[DECAY]["time"][peak] < before


@fig4.claim(
    within(0.2, 2.0),
    "λt at which half of the fall is done",
    id="norm-falls-around-1/λ",
    source="Appendix D.2",
    rate=0.95,
)
def norm_falls_after_peak(e):
    """Around time t = 1/λ the weight norms begin to decrease."""
    peak = int(e[DECAY]["l2_norm"].argmax())
    norm = e[DECAY]["l2_norm"][peak:]
    return float(e[DECAY]["slow_time"][peak:][np.flatnonzero(norm <= (norm[0] + norm[-1]) / 2)[0]])


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
    rate=0.75,
)
def ends_at_lasso(e):
    """At λ > 0 the end is the Lasso solution of strength λ, since min (|u|² + |v|²)/2 over u ⊙ v = a is |a|_1."""
    found = distances(e, e.cached(lb.oracles.lasso, e.problem(DECAY), e.settings.weight_decay))
    return None if found is None else float(found[-1])


@fig4.claim(within(0.98, 1.001), "(|u|² + |v|²) / (2 |β*|_1) at the end", source="Appendix D.2")
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


@fig4.claim(
    holds("the basis-pursuit solution is the teacher to {by:g}; on about 85 % of draws", by=1e-6),
    source="Appendix D.2: under RIP conditions",
    rate=0.7,
)
def oracle_is_exact(e, by):
    """Basis pursuit recovers the teacher from 12 samples."""
    return oracle_recovers(e, by), oracle_recovers(e, by)


@fig4.claim(
    at_least(0.5), "recovery error without weight decay at the end", source="Section 4, Proposition 1", rate=0.95
)
def weight_decay_is_needed(e):
    """Without weight decay the flow stays where it first interpolates."""
    return e[WITHOUT].final["test_error"]


def title_of(run, row, time):
    """A time, powers of ten as such, and the number of kinks where it was counted."""
    power = round(np.log10(time)) if time > 0 else 0
    shown = f"time $10^{{{power}}}$" if power > 1 and time == 10.0**power else f"time {time:g}"
    return f"{shown}: {run['kinks'][row]:.0f} kinks" if "kinks" in run.columns else shown


KEY = (
    Line([], [], "teacher", "cycle 5", "dotted", width=1.4),
    Line([], [], "network", "test", width=1.1),
    Line([], [], "samples", "theory", "points", symbol="x"),
)


def snapshot(run, time, grid, target, points, vertical):
    """The network's function at a time, over the teacher and the samples."""
    row = int(np.abs(run["time"] - time).argmin())
    shown = (grid, target(grid)), (grid, run["function_values"][row]), (points, target(points))
    traces = [replace(line, x=x, y=y) for line, (x, y) in zip(KEY, shown, strict=True)]
    return Panel(traces, Axis("$x$"), vertical, title=title_of(run, row, time), legend=None)


def network_figure(e, run, learning, grid, target, *, start, low, tag):
    """Panels over time with 1/λ marked, above the function at some times."""
    s, points = e.settings, np.asarray(e.problem().points)
    scale = slow_scale(s, role="grey", marks="dashed", width=0.8, tag=tag)
    above = [replace(panel, traces=[*panel.traces, scale], x=clock(s, start)) for panel in learning]
    vertical = Axis("$f_w(x)$", low=low, high=5)
    below = [snapshot(run, time, grid, target, points, vertical) for time in s.snapshots]
    return Figure(panels.in_rows([*above, *below], 3), height=2.1, key=KEY)


@fig3.figure
def fig3_figure(e):
    run, problem = e[FLOW], e.problem(FLOW)
    kinks = [
        panels.curve(run, "kinks", role="norm"),
        Rule(problem.teacher.shape[1], "teacher", across="y"),
        *panels.milestones(run),
    ]
    decay = run["l2_norm"][0] * np.exp(-run["slow_time"])
    bare = Line(run["time"], decay, r"$e^{-\lambda t}\,|w_0|_2$", "theory", "dashed")
    learning = [
        replace(panels.errors(run, test="test error", legend="lower left"), y=Axis("relative error", "log", low=2e-3)),
        panels.norm(run, "l2_norm", "norm $|w|_2$", bare, legend="lower left"),
        Panel(kinks, clock(e.settings), Axis("kinks in $[-2, 2]$"), legend=(0.25, 0.25)),
    ]
    target = lambda x: np.asarray(problem.predict(problem.teacher, x))  # noqa: E731
    return network_figure(e, run, learning, RELU_GRID, target, start=1e-2, low=-3, tag=False)


@fig4.figure
def fig4_figure(e):
    run, problem, truth = e[DECAY], e.problem(DECAY), np.asarray(e.problem(DECAY).truth)
    bare = panels.curve(e[WITHOUT], "test_error", r"recovery, $\lambda = 0$", "test", "dotted", width=1.0)
    limit = Rule(float(np.sqrt(2 * basis_pursuit(e).value)), r"$\sqrt{2\,|\beta^*|_1}$", across="y")
    errors = panels.errors(run, test="recovery", legend="lower left")
    learning = [
        replace(errors, traces=[*errors.traces, bare]),
        panels.norm(run, "l2_norm", "norm $|w|_2$", limit, legend=(0.3, 0.25)),
        replace(panels.components(run, truth), y=Axis(r"coefficients $u_i v_i$")),
    ]
    target = lambda x: np.asarray(problem.function(truth, x))  # noqa: E731
    return network_figure(e, run, learning, FOURIER_GRID, target, start=0.1, low=-2.5, tag=True)
