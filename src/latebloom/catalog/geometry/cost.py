"""Theorem 5.1 at finite weight decay: the best second layer, the cost of the first, and the dynamics it drives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings, Study
from latebloom.catalog.bounds import at_least, at_most, each, within
from latebloom.catalog.controls import Altered, Set
from latebloom.catalog.measures import distance, log_slope
from latebloom.core.fields import count, number, numbers
from latebloom.figures import Axis, Figure, Line, Panel, panels

COST, TOY = "cost of the first layer", "cost of w1 in w1 w2 = 1"
ISOLATED, RUN = "isolated", "joint, κ={:g}"


class CostSettings(Settings):
    """A small network for modular addition; λ is the paper's, which multiplies |θ|²."""

    modulus: int = count(default=7, least=3, note="p, of addition on unordered pairs, 70 % of them to train on")
    width: int = count(default=32, note="d_h, of ReLU units: more than there are training pairs")
    decays: tuple[float, ...] = numbers(
        default=(1e-1, 1e-2, 1e-3, 1e-4, 1e-5), above=0, note="λ of Equations 10 to 20, largest first"
    )
    ridge_factor: float = number(default=1.0, above=0, note="of λ in Equation 16, where it is 1")
    speeds: tuple[float, ...] = numbers(default=(1.0, 10.0, 100.0), above=0, note="κ of the second layer, joint runs")
    decay: float = number(default=0.01, above=0, note="λ of the runs")
    slow_time: float = number(default=1.0, above=0, note="2λt at the end of the runs")

    @property
    def fastest(self):
        """The name of the run with the fastest second layer."""
        return RUN.format(max(self.speeds))


WRONG = Set(ridge_factor=2.0)
thm51 = Entry(
    "geometry/thm5.1",
    "Theorem 5.1: with the second layer at its best the first one descends on a cost of its own",
    "At every weight decay the slope of the cost is the loss's slope at the best second layer; joint training is that "
    "dynamics when the second layer is fast.",
    source="Sections 5.2 to 6.3, Theorem 5.1, Equations 9 to 20",
    seconds=15,
    settings=CostSettings(),
    notes=(
        "λ is the paper's, in λ|θ|²; the loss is the sum of squares. Equations are written in NumPy as printed, and "
        "compared with iterative least squares, automatic differentiation and differences of a numerical minimum.",
        "The runs start from an interpolating second layer.",
    ),
)


def pieces(s):
    """Inputs, targets and the first layer at the start."""
    problem = lb.problems.ModularNet(s.modulus, s.width, seed=s.seed)
    return np.asarray(problem.inputs), np.asarray(problem.targets), np.asarray(problem.init()["first"])


def ridge(hidden: Any, targets: Any, decay: float, of: Any = np) -> Any:
    """`(HᵀH + λI)⁻¹HᵀY`, Equation 16."""
    return of.linalg.solve(hidden.T @ hidden + decay * of.eye(hidden.shape[1]), hidden.T @ targets)


def compare(s) -> dict[str, np.ndarray]:
    """A row a λ: gaps of the printed equations to what they are said to be."""
    import jax
    import jax.numpy as jnp
    from scipy.sparse.linalg import lsqr

    inputs, targets, first = pieces(s)
    hidden = np.maximum(inputs @ first, 0.0)
    squares = lambda weights: jnp.sum(weights**2)  # noqa: E731

    def loss(one, two, decay):  # Equation 14
        return squares(jax.nn.relu(inputs @ one) @ two - targets) + decay * (squares(one) + squares(two))

    def cost(one, decay):  # Equation 17
        return loss(one, ridge(jax.nn.relu(inputs @ one), targets, s.ridge_factor * decay, jnp), decay)

    gram = np.linalg.pinv(hidden @ hidden.T) @ targets
    limit = float(np.sum(first**2) + np.sum(targets * gram))  # Equation 20 over λ
    rows = {"optimum": [], "envelope": [], "cost": [], "second": []}
    for decay in s.decays:
        best = ridge(hidden, targets, s.ridge_factor * decay)
        tight = {"damp": np.sqrt(decay), "atol": 1e-14, "btol": 1e-14, "iter_lim": 20_000}
        found = np.column_stack([lsqr(hidden, column, **tight)[0] for column in targets.T])
        whole = jax.jit(jax.grad(cost))(jnp.asarray(first), decay)
        rows["optimum"].append(distance(best, found))
        rows["envelope"].append(distance(whole, jax.grad(loss)(jnp.asarray(first), jnp.asarray(best), decay)))
        rows["cost"].append(float(cost(jnp.asarray(first), decay)) / decay / limit - 1)
        rows["second"].append(distance(best, hidden.T @ gram))
    eigenvalues = np.linalg.eigvalsh(hidden.T @ hidden)
    sizes = {"condition": eigenvalues[0] / eigenvalues[-1], "parameters": 2 * s.modulus * s.width, "km": targets.size}
    return {key: np.array(column) for key, column in rows.items()} | {
        key: np.full(len(s.decays), value, dtype=float) for key, value in sizes.items()
    }


def toy(s) -> dict[str, np.ndarray]:
    """For `L = (w1 w2 - 1)²`: the slope of R by differences of a numerical minimum, and of L at that minimum."""
    from scipy.optimize import minimize_scalar

    def loss(one, two, decay):
        return (one * two - 1) ** 2 + decay * (one**2 + two**2)

    def best(one, decay):
        found: Any = minimize_scalar(lambda two: loss(one, two, decay), bracket=(0.0, 2.0), options={"xtol": 1e-12})
        return found.x

    step, places = 1e-4, np.array([0.5, 1.0, 2.0])
    rows = []
    for decay in s.decays:
        ends = [[loss(one + sign * step, best(one + sign * step, decay), decay) for one in places] for sign in (-1, 1)]
        slope = (np.array(ends[1]) - ends[0]) / (2 * step)
        twos = np.array([s.ridge_factor * best(one, decay) for one in places])
        partial = 2 * (places * twos - 1) * twos + 2 * decay * places
        rows.append(np.abs(slope - partial).max() / decay)
    return {"gap": np.array(rows)}


@thm51.studies
def thm51_studies(s):
    told = {"experiment": "geometry/thm5.1", "version": 1, "seed": s.seed}
    return [Study(COST, told, lambda: compare(s)), Study(TOY, told, lambda: toy(s))]


@thm51.runs
def thm51_runs(s):
    problem = lb.problems.ModularNet(s.modulus, s.width, seed=s.seed)
    # ReLU's kinks are met all the time: at rtol = 1e-4 a joint flow takes 7e5 gradients.
    shared = {"solver": "rkc", "rtol": 1e-2, "atol": 1e-3, "records_per_decade": 10}
    decay = 2 * s.decay
    parts = [lb.probes.Trajectory()]
    jobs = {ISOLATED: lb.FlowJob(lb.problems.Isolated(problem, decay), None, time=s.slow_time, probes=parts, **shared)}
    for speed in s.speeds:
        faster = lb.problems.FastPart(problem, "second", speed)
        penalty = faster.decay(decay)
        jobs[RUN.format(speed)] = lb.FlowJob(faster, penalty, time=s.slow_time / decay, probes=parts, **shared)
    return jobs


LARGE = Set(decays=(30.0, 10.0, 3.0))
NARROW = Set(width=8)


def by_decay(e, study, column):
    """A column of a study by its λ."""
    return {f"λ={decay:g}": float(row) for decay, row in zip(e.settings.decays, e.tables[study][column], strict=True)}


@thm51.claim(
    each(at_most(1e-6)),
    "relative gap to the minimum that iterative least squares (LSQR) finds,",
    source="Equations 10, 15 and 16",
    control=WRONG,
)
def ridge_optimum(e):
    """The second layer that is best for a first one is (HᵀH + λI)⁻¹HᵀY."""
    return by_decay(e, COST, "optimum")


@thm51.claim(
    each(at_most(1e-8)),
    "relative gap of ∇R, by automatic differentiation through Equation 16, to ∂L_λ/∂W1 at φ(W1),",
    source="Theorem 5.1, Equations 9 to 12 and 17",
    control=WRONG,
)
def envelope(e):
    """With the second part at its best, the first one follows the gradient flow of R = min L_λ."""
    return by_decay(e, COST, "envelope")


@thm51.claim(
    each(at_most(0.01)),
    "gap of the slope of R, by differences of a numerical minimum, to ∂L_λ/∂w1 there, over λ,",
    source="Theorem 5.1, on (w1 w2 - 1)² + λ|w|²",
    control=WRONG,
)
def envelope_by_differences(e):
    """The same where nothing is differentiated and the minimum is found by a search."""
    return by_decay(e, TOY, "gap")


@thm51.claim(at_most(1e-3), "relative gap of R/λ at the smallest λ", source="Equations 17 and 20", control=LARGE)
def cost_in_the_limit(e):
    """For small λ the cost is λ|W1|² + λ tr(Yᵀ(HHᵀ)⁻¹Y)."""
    return abs(float(e.tables[COST]["cost"][np.argmin(e.settings.decays)]))


def small(e, column):
    """The slope in λ of a gap, over the three smallest."""
    order = np.argsort(e.settings.decays)[:3]
    return log_slope(np.array(e.settings.decays)[order], np.abs(e.tables[COST][column])[order])


@thm51.claim(
    within(0.9, 1.1),
    "slope of the relative gap of R/λ to Equation 20 in λ, over the three smallest,",
    source="Equations 17 and 20",
    kind="ours",
    control=LARGE,
)
def cost_is_off_by_order_lambda(e):
    """The limit is reached with an error of first order in λ."""
    return small(e, "cost")


@thm51.claim(
    at_least(1e-12),
    "smallest eigenvalue of HᵀH over the largest",
    source="Equation 19",
    fails="it is rounding: with more units than samples HᵀH is singular and has no inverse",
    control=NARROW,
)
def equation_19_as_printed(e):
    """In the limit λ → 0 the best second layer is (HᵀH)⁻¹HᵀY."""
    return float(e.tables[COST]["condition"][0])


@thm51.claim(
    within(0.9, 1.1),
    "slope of the relative gap in λ, over the three smallest,",
    source="Equations 16 and 19",
    kind="corrected",
    control=LARGE,
)
def second_layer_in_the_limit(e):
    """Corrected: in the limit λ → 0 it is Hᵀ(HHᵀ)⁻¹Y, with an error of first order in λ."""
    return small(e, "second")


@thm51.claim(
    at_least(1.0), "parameters over training outputs, d/(km),", source="Assumption 4.3", kind="premise", control=NARROW
)
def overparametrised(e):
    """There are at least as many parameters as outputs on the training data."""
    return float(e.tables[COST]["parameters"][0] / e.tables[COST]["km"][0])


@thm51.claim(
    at_least(1.0),
    "training outputs over parameters, km/d,",
    source="Appendix B, proof of Lemma B.1",
    fails="Assumption 4.3 and Theorem B.2 say the opposite, and the runs meet that",
    control=NARROW,
)
def more_outputs_than_parameters_as_printed(e):
    """That the tangent space is the null space is derived from km ≥ d."""
    return float(e.tables[COST]["km"][0] / e.tables[COST]["parameters"][0])


def first_of(e, name):
    """The first layer at every record, a row each."""
    return e[name]["parameters"][:, : e.settings.modulus * e.settings.width]


def velocity_gap(e, name):
    """How far the first layer's velocity in a joint run is from -∇R, over its length: the largest from slow time 0.1 on
    to the end.
    """
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    s, faster = e.settings, e.problem(name)
    unravel = ravel_pytree(faster.init())[1]
    isolated = e.problem(ISOLATED)

    def gap(row):
        params = faster.original(unravel(row))
        velocity = faster.problem.gradient(params)["first"] + 2 * s.decay * params["first"]
        cost = 2 * s.decay * isolated.gradient(params["first"])
        return jnp.linalg.norm(velocity - cost) / jnp.linalg.norm(cost)

    rows = e[name]["parameters"][2 * s.decay * e[name]["time"] >= 0.1]
    return float(np.max(jax.jit(lambda rows: jax.lax.map(gap, rows))(jnp.asarray(rows))))


VELOCITY = "gap of the first layer's velocity to -∇R over its length, from slow time 0.1 on,"
FAST = Altered("a fast second layer", lambda e: _all_at(e, e.settings.fastest))
SLOW = Altered("a second layer as slow as the first", lambda e: _all_at(e, RUN.format(min(e.settings.speeds))))


def _all_at(e, name):
    """One joint run in the place of all."""
    names = [RUN.format(speed) for speed in e.settings.speeds]
    return replace(
        e, runs={**e.runs, **dict.fromkeys(names, e[name])}, jobs={**e.jobs, **dict.fromkeys(names, e.jobs[name])}
    )


@thm51.claim(
    at_most(0.2),
    VELOCITY,
    source="Equation 18, in joint training with κ = 1",
    outside="the second layer is not the fast one that Section 5.3 speaks of: it learns at the speed of the first",
    control=FAST,
)
def velocity_as_printed(e):
    """The velocity of the first layer is about -∇R."""
    return velocity_gap(e, RUN.format(min(e.settings.speeds)))


@thm51.claim(at_most(0.2), VELOCITY, source="Equation 18 with Section 5.3, κ = 100", control=SLOW)
def velocity_with_a_fast_second_layer(e):
    """Where the second layer is the fast component, the velocity of the first one is about -∇R."""
    return velocity_gap(e, e.settings.fastest)


def path_gaps(e):
    """The distance of the first layer from the isolated dynamics at the end, over its norm, for every speed."""
    end = first_of(e, ISOLATED)[-1]
    return [distance(first_of(e, RUN.format(speed))[-1], end) for speed in e.settings.speeds]


@thm51.claim(
    at_most(0.2),
    "distance of the first layer from the gradient flow of R at the end, over its norm, for κ = 100,",
    source="Theorem 5.1, Section 5.3",
    control=SLOW,
)
def follows_the_flow_of_the_cost(e):
    """A fast second layer is about at its best, and the first one follows the gradient flow of R."""
    return path_gaps(e)[int(np.argmax(e.settings.speeds))]


@thm51.figure
def thm51_figure(e):
    s, gaps = e.settings, e.tables[COST]
    shown = {"cost": r"cost: Eq. 17 against Eq. 20", "second": "second layer: Eq. 16 against its limit"}
    limits = [
        Line(s.decays, np.abs(gaps[column]), label, f"cycle {place}", "points", symbol=panels.SYMBOLS[place])
        for place, (column, label) in enumerate(shown.items())
    ]
    least = float(np.abs(gaps["cost"]).min())
    limits.append(Line(s.decays, least * np.array(s.decays) / min(s.decays), "slope 1", "theory"))
    norm = lambda name: np.linalg.norm(first_of(e, name), axis=1)  # noqa: E731
    paths = [
        Line(2 * s.decay * e[name]["time"], norm(name), name, shade=panels.shade_of(place, len(s.speeds)))
        for place, name in enumerate(RUN.format(speed) for speed in s.speeds)
    ]
    paths.append(Line(e[ISOLATED]["time"], norm(ISOLATED), "gradient flow of the cost", "theory"))
    left = Panel(limits, Axis(r"the paper's $\lambda$", "log"), Axis("relative gap", "log"), legend="upper left")
    clock = Axis(r"slow time $2\lambda t$", "log", low=s.slow_time / 1e3, high=s.slow_time)
    right = Panel(paths, clock, Axis(r"norm of the first layer $|W_1|$"), legend="lower left")
    return Figure([[left, right]])
