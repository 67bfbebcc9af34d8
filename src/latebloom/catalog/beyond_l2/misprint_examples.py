"""Small examples that refute a printed sentence: a quadratic, a matrix of ones, four numbers."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Settings
from latebloom.core.fields import count, number, numbers

ROUNDING = 1e-9


class MisprintSettings(Settings):
    learning_rate: float = number(default=0.5, above=0, note="α of the blog post's theorem")
    strength: float = number(default=0.5, least=0, note="β of the blog post's theorem")
    pl_constant: float = number(default=0.1, above=0, most=1, note="μ of Theorem C.25, with L = 1")
    size: int = count(default=4, note="p, of the Hessian of ones and of the subgradient of signs")
    room: float = number(default=1.0, above=0, note="r² over 2g/μ of the blog post's PL ⇒ CL")
    entries: tuple[float, ...] = numbers(default=(3.0, 2.5, 1.0, 0.75), note="start of descent on the norm alone")
    step: float = number(default=0.5, above=0, note="α of descent on the norm alone")
    skew: float = number(default=1.0, note="part of B of Lemma C.43 that is not symmetric")
    second: float = number(default=0.0, least=0, note="second singular value of A of Lemma C.45, after 2")
    lowest: float = number(default=-1.0, note="least value of the convex function (x - 1)² + constant")
    draws: int = count(default=200, note="of random matrices and points")

    def random(self, number):
        """Random numbers of one claim."""
        return np.random.default_rng([self.seed, number])


def excess(rate, strength, fall, cosine=-1.0):
    """g(x1)/g(x0) less 1 - δ, for g = |x|²/2 in the plane (L = μ = 1), |H| = |G| at an angle to G."""
    pull = strength * np.array([cosine, np.sqrt(1 - cosine**2)])
    moved = np.array([1.0, 0.0]) - rate * (np.array([1.0, 0.0]) + pull)
    return float(moved @ moved - (1 - fall))


def one_step(constant):
    """g(x1)/g(x0) of g = (x² + μy²)/2 with α = 1/L = 1 from the y axis."""
    return (1 - constant) ** 2


def admissible(choose):
    """The share of τ = √(a/b) for which a choice has 0 < γ < ε < 1 and τ < (1-ε)/(1+γ)."""

    def works(tau):
        return any(0 < g < x < 1 and tau < (1 - x) / (1 + g) for x, g in choose(tau))

    return float(np.mean([works(tau) for tau in np.linspace(0.01, 0.99, 99)]))


def waves(s):
    """Pairs of points, a random sum of waves on them with its gradients, and its smoothness L."""
    random = s.random(3)
    ways, heights = random.normal(size=(5, 2)), random.normal(size=5)
    bound = float((np.abs(heights) * (ways**2).sum(axis=1)).sum())
    x, y = random.uniform(-3, 3, size=(2, 20 * s.draws, 2))

    def value(points):
        return np.cos(points @ ways.T) @ heights

    def gradient(points):
        return -(np.sin(points @ ways.T) * heights) @ ways

    return x, y, value, gradient, bound


def cocoercivity(e):
    """L⟨∇g(y)-∇g(x), y-x⟩ over |∇g(y)-∇g(x)|² of random pairs, for a quadratic with L = 1."""
    random = e.settings.random(5)
    apart = random.normal(size=(e.settings.draws, 2))
    change = apart * [1.0, 0.3]
    return (apart * change).sum(axis=1) / (change**2).sum(axis=1)


def after_shrinking(s):
    """How many entries are not zero after sign descent on |a|₁, how many were multiples of the step, how many not."""
    values = np.array(s.entries)
    ratios = values / s.step
    multiple = np.abs(ratios - np.round(ratios)) < ROUNDING
    for _ in range(int(np.abs(ratios).max()) + 2):
        values = np.where(np.abs(values) < ROUNDING, 0.0, values - s.step * np.sign(values))
    return int(np.sum(np.abs(values) > ROUNDING)), int(multiple.sum()), int((~multiple).sum())


def rank_left(s):
    """The rank after descent on the nuclear norm alone, by decompositions, and the theory's two counts."""
    random = s.random(6)
    size = len(s.entries)
    u, v = (np.linalg.qr(random.normal(size=(size, size)))[0] for _ in range(2))
    matrix = u @ np.diag(s.entries) @ v.T
    said = lb.theory.shrinking_steps(matrix, s.step)
    for _ in range(said.steps + 2):
        left, sigma, right = np.linalg.svd(matrix)
        kept = sigma > ROUNDING
        matrix = matrix - s.step * left[:, kept] @ right[kept]
    return int(np.sum(np.linalg.svd(matrix, compute_uv=False) > ROUNDING)), said.rank_as_printed, said.rank


def polar(matrix):
    """H(A) = U Vᵀ."""
    left, _, right = np.linalg.svd(matrix)
    return left @ right


def turned(s, skew):
    """The largest |H(A - A*) - H(A)| over random A = UΣVᵀ and A* = UBVᵀ with |B| = 0.9 σ_min(A)."""
    random, found = s.random(7), []
    for _ in range(s.draws):
        values, drawn = np.diag(random.uniform(1, 2, size=3)), random.normal(size=(3, 3))
        inner = (drawn + drawn.T) / 2 + skew * (drawn - drawn.T) / 2
        inner *= 0.9 * values.diagonal().min() / np.linalg.norm(inner, 2)
        found.append(float(np.linalg.norm(polar(values - inner) - np.eye(3))))
    return max(found)


def turns(s):
    """For A = diag(2, second) and A* = diag(0, size): the turn of the subgradient, the printed bound, one true."""
    sizes = np.geomspace(1e-3, 1, 31)
    found = [lb.theory.wedin_bound(np.diag([2.0, s.second]), np.diag([0.0, size])) for size in sizes]
    columns = {name: np.array([getattr(one, name) for one in found]) for name in ("measured", "bound", "corrected")}
    return {"size": sizes, **columns}
