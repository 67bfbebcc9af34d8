"""Three small losses on which every constant of Theorem 2.1 can be computed: linear, factorised, a smooth network."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Settings
from latebloom.core.fields import count, number, numbers
from latebloom.core.seeds import generator

LINEAR, FACTORS, NETWORK = KINDS = ("linear", "factors", "network")
INPUTS = (-1.0, 0.0, 1.0)  # of the network
WIDTH = 4  # hidden units of the network
SAMPLES = 1000  # points of a ball at which its constants are taken
RADII = 1.15 ** np.arange(-10, 31)  # over 2 g/|∇g|, the smallest radius that is conceivable


class TheoremSettings(Settings):
    rate_share: float = number(default=0.9, above=0, note="α over α_max of Equation 7, of every loss")
    strengths: tuple[float, ...] = numbers(default=(3e-3, 1e-3, 3e-4), above=0, note="β, falling")
    slow_time: float = number(default=4.0, above=0, note="αβt at the end of the long runs")
    first_steps: int = count(default=800, note="of the runs of which every step is recorded")
    free_steps: int = count(default=40_000, note="of the runs without a penalty")
    misfit: float = number(default=1.0, above=0, note="distance of the targets from the outputs at the start, x")
    epsilon: float = number(default=0.4, above=0, below=1, note="ε of Lemma C.11")
    gamma: float = number(default=0.1, above=0, below=1, note="γ of Lemma C.11, less than ε")

    def loss(self, kind):
        """The loss of a kind."""
        return loss_of(kind, self.seed, self.misfit)

    def constants(self, kind):
        """The constants of the theorem at its start."""
        return constants(kind, self.seed, self.misfit, self.epsilon, self.gamma)

    def rate(self, kind):
        """α."""
        return self.rate_share * self.constants(kind).alpha_max()

    def least(self, kind, strength):
        """The minimum of f."""
        return least(kind, self.seed, self.misfit, strength)


def linear(seed, misfit):
    """`X a = y` with three measurements of a vector with one entry; l1."""
    random = generator(seed, "linear")
    design, start, truth = random.normal(size=(3, 6)) / np.sqrt(6), 0.3 * random.normal(size=6), np.zeros(6)
    truth[random.integers(6)] = 1.0
    outputs = design @ start
    return lb.problems.LinearRegression(design, outputs + misfit * (design @ truth - outputs), init=start)


def factors(seed, misfit):
    """`X (u ⊙ v) = y` with two measurements of a product of vectors around one; l2."""
    random = generator(seed, "factors")
    design, start = random.normal(size=(2, 3)), 1 + 0.2 * random.normal(size=6)
    targets = design @ (start[:3] * start[3:]) + 0.3 * misfit * unit(random.normal(size=2))

    def residuals(w):
        return design @ (w[:3] * w[3:]) - targets

    return lb.problems.LeastSquares(residuals, start, name=f"beyond-l2/thm2.1 factors {seed} {misfit:g}")


def network(seed, misfit):
    """Three points, four tanh units, all weights and biases learned; l2."""
    import jax.numpy as jnp

    random = generator(seed, "network")
    inputs, start = np.array(INPUTS)[:, None], random.normal(size=3 * WIDTH)

    def outputs(w):
        return jnp.tanh(1.5 * inputs * w[:WIDTH] + w[WIDTH : 2 * WIDTH]) @ w[2 * WIDTH :]

    targets = np.asarray(outputs(start)) + 0.1 * misfit * unit(random.normal(size=len(INPUTS)))

    def residuals(w):
        return outputs(w) - targets

    return lb.problems.LeastSquares(residuals, start, name=f"beyond-l2/thm2.1 network {seed} {misfit:g}")


MAKE = {LINEAR: linear, FACTORS: factors, NETWORK: network}


def penalty_of(kind):
    """The penalty's class."""
    return {LINEAR: lb.L1, FACTORS: lb.L2, NETWORK: lb.L2}[kind]


def unit(vector):
    """A vector of length one."""
    return vector / np.linalg.norm(vector)


@lru_cache(maxsize=64)
def loss_of(kind, seed, misfit):
    """The problem of a kind; one object a draw, so that nothing is compiled twice."""
    return MAKE[kind](seed, misfit)


@dataclass(frozen=True)
class Constants:
    """What Theorem C.10 and its proof name, of one loss at its start.

    The infimum χ and the suprema are taken over points of the ball; χ as `2 σ_min(J)²`, which is `|∇g|²/g` for the
    worst residual and so no more than it. `corrected` has pL₂ for √p L₂, and |H|₂ for |H|_∞ in L_h.
    """

    size: int
    loss: float
    gradient: float
    radius: float
    share: float  # 4 g over ((1-ε)/(1+γ))² r² χ: below one, g is r-CL with room for ε and γ
    chi: float
    first: float  # L_1
    second: float  # L_2
    curvature: float  # the largest eigenvalue of the Hessian in the ball
    pull: float  # |H| at the start
    pull_entry: float  # sup |H|_∞ in the ball
    pull_norm: float  # sup |H|_2 in the ball
    epsilon: float
    gamma: float

    def smoothness(self, corrected=False):
        """L: √p L₂ as printed."""
        return (self.size if corrected else math.sqrt(self.size)) * self.second

    def largest_pull(self, corrected=False):
        """L_h: of the entries, as printed."""
        return self.pull_norm if corrected else self.pull_entry

    @property
    def beta_max(self):
        return self.gamma * self.gradient / self.pull

    def alpha_max(self, corrected=False):
        """Equation 7."""
        step = self.radius / ((self.first + self.beta_max * self.pull_entry) * math.sqrt(self.size))
        curved = 2 * (self.epsilon - self.gamma) / (self.second * self.size)
        return min(step, curved, 1 / ((1 + self.gamma) * self.smoothness(corrected)))

    def delta(self, rate):
        return min(1.0, (1 - self.epsilon) * self.chi * rate)

    def tau(self, rate, corrected=False):
        return 1 - (1 + self.gamma) * rate * self.smoothness(corrected)

    def exponent(self, rate, corrected=False):
        """C of Equation 9."""
        return math.log1p(-self.delta(rate)) / math.log(self.tau(rate, corrected))

    def precision(self, rate, strength, corrected=False):
        """ε_g = D β^C of Equation 9."""
        start = self.largest_pull(corrected) / (self.gamma * self.gradient)
        return self.loss * (strength * start) ** self.exponent(rate, corrected)

    def in_time(self, rate, precision):
        """t(ε_g) of Equation 8."""
        return max(0, math.ceil(math.log(precision / self.loss) / math.log1p(-self.delta(rate))))

    def steps_in_hand(self, rate, strength, corrected=False):
        """The last k with γ|G(x0)| ≥ β L_h / τ^k, the hypothesis of Theorem C.14."""
        room = strength * self.largest_pull(corrected) / (self.gamma * self.gradient)
        return math.floor(math.log(room) / math.log(self.tau(rate, corrected))) if room < 1 else 0


@lru_cache(maxsize=64)
def constants(kind, seed, misfit, epsilon, gamma):
    """The constants on the smallest ball of `RADII` in which there is room for ε and γ."""
    import jax

    problem = loss_of(kind, seed, misfit)
    start = np.asarray(problem.init(), dtype=float)
    ball = in_ball(len(start))
    jacobians = jax.jit(jax.vmap(jax.jacobian(problem.residuals)))
    hessians = jax.jit(jax.vmap(jax.hessian(problem.loss)))
    first = np.asarray(problem.residuals(start))
    gradient, loss = np.asarray(jacobians(start[None]))[0].T @ first, float(first @ first / 2)

    def steepness(radius):
        slopes = np.asarray(jacobians(start + radius * ball))
        return 2 * float(np.linalg.eigvalsh(slopes @ slopes.transpose(0, 2, 1))[:, 0].min())

    radii = 2 * loss / np.linalg.norm(gradient) * RADII
    room = ((1 - epsilon) / (1 + gamma)) ** 2
    shares = np.array([4 * loss / (room * radius**2 * steepness(radius)) for radius in radii])
    place = int(np.argmax(shares < 0.9)) if (shares < 0.9).any() else int(shares.argmin())
    radius, entry, norm = float(radii[place]), 1.0, math.sqrt(len(start))
    if kind != LINEAR:  # h = |x|²/2
        entry, norm = float(np.abs(start).max() + radius), float(np.linalg.norm(start) + radius)
    return Constants(
        *(len(start), loss, float(np.linalg.norm(gradient)), radius, float(shares[place]), steepness(radius)),
        first=float(np.abs(jax.jit(jax.vmap(problem.gradient))(start + radius * ball)).max()),
        second=float(np.abs(hessians(start + 2 * radius * ball)).max()),
        curvature=float(np.linalg.eigvalsh(np.asarray(hessians(start + radius * ball))).max()),
        pull=math.sqrt(len(start)) if kind == LINEAR else float(np.linalg.norm(start)),
        pull_entry=entry,
        pull_norm=norm,
        epsilon=epsilon,
        gamma=gamma,
    )


def in_ball(size):
    """Points of the unit ball, its centre among them: half of them uniform, half at random distances."""
    random = generator(0, "unit ball")
    directions = random.normal(size=(SAMPLES, size))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    power = np.where(np.arange(SAMPLES) % 2, 1 / size, 1.0)[:, None]
    points = directions * random.uniform(size=(SAMPLES, 1)) ** power
    points[0] = 0.0
    return points


@dataclass(frozen=True, eq=False)
class Least:
    """The least value of f = g + βh, where it is taken, and g there."""

    value: float
    point: np.ndarray
    loss: float


@lru_cache(maxsize=64)
def least(kind, seed, misfit, strength):
    """The minimum of f: the Lasso, or the best of quasi-Newton descents from the start and from random points."""
    problem = loss_of(kind, seed, misfit)
    if kind == LINEAR:
        found = lb.oracles.lasso(problem, strength).solution
        return Least(objective(problem, kind, strength)(found), found, float(problem.loss(found)))
    import jax
    from scipy.optimize import minimize

    penalty = penalty_of(kind)(strength)
    both = jax.jit(jax.value_and_grad(lambda w: problem.loss(w) + penalty.value(w)))
    start, random = np.asarray(problem.init(), dtype=float), generator(seed, "descents")
    starts = [start, *(start + random.normal(size=len(start)) for _ in range(12))]
    tight: dict[str, Any] = {"jac": True, "method": "BFGS", "options": {"gtol": 1e-11, "maxiter": 5000}}
    ends = [minimize(lambda w: tuple(np.asarray(part) for part in both(w)), begin, **tight) for begin in starts]
    best = min(ends, key=lambda end: end.fun)
    return Least(float(best.fun), np.asarray(best.x), float(problem.loss(best.x)))


def objective(problem, kind, strength):
    """f = g + βh as a function of the parameters."""
    penalty = penalty_of(kind)(strength)
    return lambda w: float(problem.loss(w) + penalty.value(w))


def distance_to_least(kind, point, minimiser):
    """The distance of a point from the nearest minimum of f: signs, and hidden units, can be exchanged."""
    if kind == LINEAR:
        return float(np.linalg.norm(point - minimiser))
    here, there = (np.reshape(w, (-1, 3 if kind == FACTORS else WIDTH)).T for w in (point, minimiser))
    same, mirrored = ((here[:, None] - sign * there[None]) ** 2 for sign in (1, -1))
    costs = np.minimum(same.sum(-1), mirrored.sum(-1))
    if kind == FACTORS:
        return float(np.sqrt(np.trace(costs)))
    from scipy.optimize import linear_sum_assignment

    return float(np.sqrt(costs[linear_sum_assignment(costs)].sum()))
