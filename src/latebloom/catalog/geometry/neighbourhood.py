"""Near the zero-loss set weight decay keeps to it (Theorem 4.9), and moves along it as the norm does (Remark 4.14)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings
from latebloom.catalog.bounds import at_least, at_most, each, within
from latebloom.catalog.controls import Set
from latebloom.catalog.geometry.common import SCALE_NOTE
from latebloom.catalog.geometry.controls import UNEVEN, Remade
from latebloom.catalog.measures import log_slope
from latebloom.core.fields import number, numbers
from latebloom.core.seeds import generator
from latebloom.figures import Axis, Figure, Line, Panel, panels

PLANE, CURVED, LEAKY, NET = SETS = ("plane", "curved", "leaky_sum", "tanh net")
INPUTS, UNITS, SAMPLES = 2, 4, 3  # of the network: 16 weights, three residuals
LARGE = Set(decays=(10.0, 3.0, 1.0))
RUN = "{kind}, λ={decay:g}"


class StabilitySettings(Settings):
    """Flows from points of zero loss, on four sets."""

    decays: tuple[float, ...] = numbers(default=(3e-2, 1e-2, 3e-3, 1e-3, 3e-4), above=0, note="λ, multiplies |w|²")
    slow_time: float = number(default=20.0, above=0, note="2λt at the end")
    tolerance: float = number(default=1e-8, above=0, note="relative, per step of Runge-Kutta-Chebyshev")
    plane_start: tuple[float, ...] = numbers(default=(-1.0, 1.0, 3.0), note="of zero loss: w1 + w2 + w3 = 3")
    curved_start: tuple[float, ...] = numbers(default=(0.4, 2.5), note="of zero loss: w1 w2 = 1")
    leaky_sum_start: tuple[float, ...] = numbers(default=(-1.0, 3.0), note="of zero loss: leaky ReLU of w1 + w2 = 2")

    def start(self, kind):
        """Where the flow on one set starts."""
        if kind == NET:
            return generator(self.seed, "start of the tanh net").normal(size=UNITS * (INPUTS + 2))
        return getattr(self, f"{kind}_start")


thm49 = Entry(
    "geometry/thm4.9",
    "Theorem 4.9: weight decay keeps to the zero-loss set",
    "From a point of zero loss the flow stays within a distance of order λ of the zero-loss set.",
    source="Section 4.3, Theorem 4.9; Appendix A",
    seconds=20,
    settings=StabilitySettings(),
    notes=(
        SCALE_NOTE,
        "Distances are to the point that Gauss-Newton steps of least norm lead to.",
        "The network has 2 inputs, 4 tanh units with biases and one output, weights N(0, 1) and three samples, whose "
        "targets are its outputs at the start.",
    ),
    controls=(LARGE,),
)


@lru_cache(maxsize=8)
def tanh_net(seed):
    """A network of one hidden layer on three samples, which its start fits: the start is a point of zero loss."""
    import jax.numpy as jnp

    start = jnp.asarray(StabilitySettings(seed=seed).start(NET))
    inputs = jnp.asarray(generator(seed, "inputs of the tanh net").normal(size=(SAMPLES, INPUTS)))

    def outputs(weights):
        first, shift, second = jnp.split(weights, (UNITS * INPUTS, UNITS * (INPUTS + 1)))
        return jnp.tanh(inputs @ first.reshape(INPUTS, UNITS) + shift) @ second

    targets = outputs(start)
    residuals = lambda weights: jnp.sqrt(2.0) * (outputs(weights) - targets)  # noqa: E731
    return lb.problems.LeastSquares(residuals, start, name=f"tanh net of 4 units on 3 samples, seed {seed}")


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
        problem = tanh_net(s.seed) if kind == NET else lb.problems.ToyModel(kind, init=s.start(kind))
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


@thm49.claim(at_most(1e-2), "largest distance at the smallest λ over |θ(0)|, on four sets,", source="Theorem 4.9")
def stability(e):
    """For every ε there is a λ below which a trajectory that starts at zero loss never leaves the ε-neighbourhood of
    the zero-loss set."""
    s = e.settings
    return max(
        float(distances(e, kind, min(s.decays))[1].max()) / float(np.linalg.norm(s.start(kind))) for kind in SETS
    )


@thm49.claim(
    each(within(0.85, 1.15)), "slope of the largest distance in λ,", source="sharpens Theorem 4.9", kind="ours"
)
def order_lambda(e):
    """The distance is of order λ at regular points (the theorem gives no rate)."""
    return {kind: log_slope(e.settings.decays, largest(e, kind)) for kind in SETS}


def in_steps(job):
    """Gradient descent with a learning rate beyond 2 over the curvature of w1 w2 = 1, in the place of the flow."""
    if isinstance(job, lb.FlowJob) and getattr(job.problem, "kind", None) == CURVED:
        return lb.TrainJob(job.problem, lb.GradientDescent(0.2), job.penalty, steps=400, probes=job.probes)
    return None


STEPS = Remade("steps of 0.2 in the place of the flow, at a curvature of 13", in_steps)


@thm49.claim(
    at_most(1e-7),
    "largest relative rise between two records",
    source="Appendix A, proof of Lemma A.1",
    control=STEPS,
)
def descent(e):
    """Gradient flow never increases L + λ|θ|²."""
    rises = [
        np.diff(run["train_loss"] + run["penalty_value"]).max() / run["penalty_value"][0] for run in e.runs.values()
    ]
    return float(max(rises))


@thm49.claim(at_most(1.0), "largest loss over λ|θ(0)|²", source="Appendix A, Lemma A.1", control=STEPS)
def loss_bound(e):
    """The loss stays below λ|θ(0)|²."""
    return float(max(run["train_loss"].max() / run["penalty_value"][0] for run in e.runs.values()))


@thm49.claim(
    at_least(1.9),
    "slope of the largest loss in λ, on w1 w2 = 1 (1 if the bound were tight),",
    source="sharpens Lemma A.1",
    kind="ours",
)
def loss_of_order_lambda_squared(e):
    """The loss is of order λ², and not λ as in the bound."""
    decays = e.settings.decays
    return log_slope(decays, [float(e[RUN.format(kind=CURVED, decay=decay)]["train_loss"].max()) for decay in decays])


@thm49.claim(
    at_most(1 + 1e-9),
    "largest norm over that of the start",
    source="Appendix A, proof of Theorem 4.9",
    control=Set(curved_start=(0.1, 2.0)),
)
def norm_never_above_the_start(e):
    """A trajectory from a point of zero loss never reaches a norm above its initial one."""
    return float(max((run["l2_norm"] / run["l2_norm"][0]).max() for run in e.runs.values()))


def along(e, decay):
    """The network's path at slow times 0.05 to 4: where the tangent space has 13 dimensions and a choice.

    A row each: the motion, the norm's descent along the zero-loss set `-Pθ`, and the loss gradient along it `P∇L`;
    P projects on the tangent space at the nearest point of the set.
    """
    import jax
    import jax.numpy as jnp

    name = RUN.format(kind=NET, decay=decay)
    problem, penalty, run = e.problem(name), e.job(name).penalty, e[name]

    def one(weights):
        foot, slope = lb.zero_loss.retraction(problem, weights), problem.gradient(weights)
        onto = lambda vector: lb.zero_loss.tangent_projection(problem, foot, vector)  # noqa: E731
        return jnp.stack([-slope - penalty.subgradient(weights), -onto(weights), onto(slope)])

    chosen = (run["slow_time"] >= 0.05) & (run["slow_time"] <= 4)
    return np.asarray(jax.jit(lambda rows: jax.lax.map(one, rows))(jnp.asarray(run["parameters"][chosen])))


@thm49.claim(
    at_least(0.99),
    "smallest cosine of the motion with -Pθ on the network's path, at the smallest λ,",
    source="Section 3.2; Section 4.4",
    control=UNEVEN,
)
def optimal_direction(e):
    """Learning does not follow some direction that lowers the norm, but the one that lowers it best on the set."""
    motion, descent, _ = np.moveaxis(along(e, min(e.settings.decays)), 1, 0)
    lengths = np.linalg.norm(motion, axis=1) * np.linalg.norm(descent, axis=1)
    return float((np.sum(motion * descent, axis=1) / lengths).min())


def share_of_the_loss(e, decay):
    """What the loss gradient moves along the set, over what weight decay does: the largest share on the path."""
    _, descent, loss = np.moveaxis(along(e, decay), 1, 0)
    return float((np.linalg.norm(loss, axis=1) / (2 * decay * np.linalg.norm(descent, axis=1))).max())


@thm49.claim(
    at_most(0.1),
    "motion along the set by the loss over that by weight decay, on the network's path, at the smallest λ,",
    source="Remark 4.14",
)
def loss_moves_nothing(e):
    """Near the set the loss gradient induces no movement: learning is driven by weight decay alone."""
    return share_of_the_loss(e, min(e.settings.decays))


@thm49.claim(within(0.7, 1.3), "slope of that share in λ", source="Remark 4.14 with Theorems 4.9 and 4.13", kind="ours")
def share_of_order_lambda(e):
    """The loss's share of the motion along the set is of order λ."""
    return log_slope(e.settings.decays, [share_of_the_loss(e, decay) for decay in e.settings.decays])


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
        law = found[-1] * np.array(s.decays) / s.decays[-1]
        over_decay.append(Line(s.decays, law, "slope 1", "theory", name=f"{kind}, slope 1"))
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
    )
    return Figure([[left, right]])
