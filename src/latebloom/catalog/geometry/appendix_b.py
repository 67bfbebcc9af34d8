"""Appendix B, step by step: tangent and null space (Lemma B.1), the normal foot (Proposition B.4), the constants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import latebloom as lb
from latebloom.catalog.bounds import at_least, at_most, each, within
from latebloom.catalog.controls import Altered, OtherBound
from latebloom.catalog.geometry.controls import exchanged_columns
from latebloom.catalog.measures import log_slope
from latebloom.core.seeds import generator

LOCAL, NEAREST, SINGULAR = "at points of the {}", "nearest points", "at the crossing"
STEPS = (3e-2, 1e-2, 3e-3, 1e-3)  # lengths of moves along and across the set
NEAR = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)  # the x of the remainder and of the cosine
REACH = NEAR[0]  # a_inf: the remainder is measured up to here
MOVES = (0.1, 0.5)  # of the points whose nearest point is sought
SEARCHED = ("w1 w2 = 1", "w1 w2 w3 = 1")


def local(problem: Any, feet: np.ndarray, random: np.random.Generator) -> dict[str, np.ndarray]:
    """At points of zero loss: null space of the Hessian, distances after moves along and across it, the remainder."""
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    start, unravel = ravel_pytree(problem.init())
    loss = lambda w: problem.loss(unravel(w))  # noqa: E731
    far = lambda w: lb.zero_loss.distance_to_zero_loss(problem, unravel(w))  # noqa: E731
    distances = jax.jit(lambda rows: jax.lax.map(far, rows))
    slopes, hessian = jax.jit(lambda rows: jax.lax.map(jax.grad(loss), rows)), jax.jit(jax.hessian(loss))
    rows = np.asarray(jax.jacobian(lambda w: problem.residuals(unravel(w)).ravel())(start))
    residuals = int((np.abs(rows).max(axis=1) > 0).sum())  # what is not observed is no sample
    moves, near = np.array(STEPS)[:, None], np.array(NEAR)[:, None]
    found: dict[str, list[Any]] = {
        key: [] for key in ("nullity", "expected", "least", "along", "across", "remainder", "cosine")
    }
    for foot in feet:
        curvature = np.asarray(hessian(jnp.asarray(foot)))
        values, vectors = np.linalg.eigh(curvature)
        null = values <= 1e-9 * max(values[-1], 1.0)
        tangent, normal = vectors[:, null], vectors[:, ~null]
        along, across = (_direction(space, random) for space in (tangent, normal))
        slope = np.asarray(slopes(jnp.asarray(foot + near * across)))
        found["nullity"].append(null.sum())
        found["expected"].append(start.size - residuals)
        found["least"].append(values[~null].min(initial=np.inf))
        found["along"].append(distances(jnp.asarray(foot + moves * along)))
        found["across"].append(distances(jnp.asarray(foot + moves * across)))
        found["remainder"].append(np.linalg.norm(slope - near * (curvature @ across), axis=1) / near[:, 0] ** 2)
        sizes = np.maximum(np.linalg.norm(slope, axis=1), 1e-300)  # at a singular point there is no slope
        found["cosine"].append(np.linalg.norm(slope @ tangent, axis=1) / sizes)
    return {key: np.array(column, dtype=float) for key, column in found.items()}


def _direction(space: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A random unit vector of the span of columns; zero if there are none."""
    vector = space @ random.normal(size=space.shape[1])
    return vector / max(float(np.linalg.norm(vector)), 1e-300)


def at_the_crossing(seed: int) -> dict[str, np.ndarray]:
    """The same at the singular point of `w1 w2 = 0`, where the Hessian is zero."""
    return local(lb.problems.ToyModel("singular"), np.zeros((1, 2)), generator(seed, SINGULAR))


def nearest(seed: int, points: int) -> dict[str, np.ndarray]:
    """Points off two sets, and the cosine with the tangent space of what leads to the nearest point of the set, and to
    where Gauss-Newton steps lead; a row a set and length of move. The nearest point is searched without derivatives.
    """
    random = generator(seed, NEAREST)
    rows = {"nearest": [], "retracted": [], "longer": []}
    for size in (2, 3):
        for move in MOVES:
            made = [_both_feet(np.exp(random.normal(scale=0.5, size=size - 1)), move, random) for _ in range(points)]
            for key, column in zip(rows, zip(*made, strict=True), strict=True):
                rows[key].append(column)
    return {key: np.array(column) for key, column in rows.items()}


def _both_feet(free: np.ndarray, move: float, random: np.random.Generator) -> tuple[float, float, float]:
    from scipy.optimize import minimize

    on_the_set = lambda logs: np.exp(np.append(logs, -np.sum(logs)))  # noqa: E731
    direction = random.normal(size=free.size + 1)
    point = on_the_set(np.log(free)) + move * direction / np.linalg.norm(direction)
    options = {"xatol": 1e-9, "fatol": 1e-17, "maxiter": 4000}
    away = lambda logs: float(np.sum((on_the_set(logs) - point) ** 2))  # noqa: E731
    foot = on_the_set(minimize(away, np.log(free), method="Nelder-Mead", options=options).x)
    led = point.copy()
    for _ in range(50):
        slope = np.prod(led) / led
        led -= slope * (np.prod(led) - 1) / (slope @ slope)
    longer = float(np.linalg.norm(led - point) / np.linalg.norm(foot - point))
    return _tangent_share(point, foot), _tangent_share(point, led), longer


def _tangent_share(point: np.ndarray, foot: np.ndarray) -> float:
    """The cosine of a displacement from `prod(w) = 1` with its tangent space at the foot."""
    gap, slope = point - foot, 1 / foot
    along = gap - slope * (slope @ gap) / (slope @ slope)
    return float(np.linalg.norm(along) / np.linalg.norm(gap))


def declare(entry: Any, kinds: tuple[str, ...]) -> None:
    """The claims of Appendix B, for the entry that has the studies."""
    singular = Altered(
        "at a singular point",
        lambda e: replace(e, tables={**e.tables, **{LOCAL.format(kind): e.tables[SINGULAR] for kind in kinds}}),
    )
    normal = exchanged_columns("moves across the set", *((LOCAL.format(kind), "along", "across") for kind in kinds))
    feet = exchanged_columns("the feet of Gauss-Newton steps", (NEAREST, "nearest", "retracted"))

    def of_each(e, read):
        return {kind: float(read(e.tables[LOCAL.format(kind)])) for kind in kinds}

    @entry.claim(
        each(within(0, 0)),
        "dimension of the Hessian's null space less d - km, largest gap over points of three problems,",
        source="Lemma B.1; Theorem B.2",
        control=singular,
    )
    def null_space_has_the_dimension(e):
        """At a regular point of zero loss the null space of the Hessian has the dimension of the tangent space."""
        return of_each(e, lambda table: np.abs(table["nullity"] - table["expected"]).max())

    @entry.claim(
        each(within(1.9, 2.1)),
        "slope of the distance to the set in the length of a move along a null direction, the least of three problems,",
        source="Lemma B.1; Theorem B.2",
        control=normal,
    )
    def null_directions_are_available(e):
        """Every null direction of the Hessian is tangent: along it one stays on the set up to second order."""
        return of_each(e, lambda table: min(log_slope(STEPS, row) for row in table["along"]))

    @entry.claim(
        each(within(0.95, 1.05)),
        "slope of the distance in the length of a move across, the one furthest from 1,",
        source="Lemma B.1, Part II",
        control=normal,
    )
    def other_directions_leave_the_set(e):
        """No other direction is: a move across the null space leaves the set to first order."""
        slopes = lambda table: [log_slope(STEPS, row) for row in table["across"]]  # noqa: E731
        return of_each(e, lambda table: max(slopes(table), key=lambda slope: abs(slope - 1)))

    @entry.claim(
        at_most(1e-4),
        "largest cosine of θ - proj(θ) with the tangent space, on w1 w2 = 1 and w1 w2 w3 = 1 (a search without "
        "derivatives finds the nearest point to 1e-8),",
        source="Proposition B.4",
        control=feet,
    )
    def displacement_is_normal(e):
        """What leads from a point to its projection is normal to the zero-loss set there."""
        return float(e.tables[NEAREST]["nearest"].max())

    @entry.claim(
        at_most(1.02),
        "largest ratio, for points moved by 0.1,",
        source="Definition 4.8, against a search without derivatives",
        kind="ours",
        control=Altered(
            "points moved by 0.5",
            lambda e: replace(
                e, tables={**e.tables, NEAREST: {k: column[::-1] for k, column in e.tables[NEAREST].items()}}
            ),
        ),
    )
    def distances_are_distances(e):
        """The distance by Gauss-Newton steps, which entries measure, is the infimum up to second order."""
        return float(e.tables[NEAREST]["longer"][:: len(MOVES)].max())

    def constants(table):
        """λ_inf, M_sup, and from them x0 and C."""
        least, most = table["least"].min(), table["remainder"].max()
        return min(REACH, least / (2 * most)), 2 * most / least

    @entry.claim(
        each(at_most(1.0)),
        "largest cosine over C·x below x0, with M_sup and λ_inf of the sampled points,",
        source="Appendix B, end of the proof of Theorem 4.13",
        control=OtherBound(each(at_most(0.1))),
    )
    def constant_of_the_proof(e):
        """C = 2 M_sup/λ_inf and x0 = min(a_inf, λ_inf/(2 M_sup)) are constants of the theorem."""

        def share(table):
            reach, constant = constants(table)
            near = np.array(NEAR) < reach
            return (table["cosine"] / (constant * np.array(NEAR)))[:, near].max(initial=0.0) if near.any() else np.nan

        return of_each(e, share)

    @entry.claim(
        each(at_least(1e-6)),
        "smallest |∇²L α| over unit normals α at the sampled points,",
        source="Appendix B, λ_inf",
        control=singular,
    )
    def normal_curvature_is_positive(e):
        """On normal directions the Hessian is bounded away from zero."""
        return of_each(e, lambda table: table["least"].min() if np.isfinite(table["least"]).all() else 0.0)
