"""The zero-loss set passes the laws of a manifold: its projection, its retraction, distances and angles."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
from cases import completion, sensing, sparse
from jax.flatten_util import ravel_pytree

from latebloom.problems import LinearRegression, ToyModel
from latebloom.zero_loss.normal_equations import DENSE
from latebloom.zero_loss.set import (
    distance_to_zero_loss,
    kkt_residual,
    residual_goal,
    retract,
    retraction,
    tangent_cosine,
    tangent_projection,
)

# Of one residual, of less than DENSE, with residuals that are zero for ever, and of more than DENSE.
CASES = {
    "curved": ToyModel("curved"),
    "regression": LinearRegression.random(features=8, samples=5, init_scale=3.0),
    "sensing": sensing(width=4, init_scale=0.7),
    "diagonal": sparse(depth=2, init_scale=2.0),
    "completion": completion(width=5, init_scale=0.7, truth_norm=3.0),
    "large": completion(shape=(8, 9), observed=50, width=6, init_scale=0.7, truth_norm=3.0),
}
IN_ALL = pytest.mark.parametrize("problem", CASES.values(), ids=CASES.keys())


def flat(params) -> np.ndarray:
    return np.asarray(ravel_pytree(params)[0])


def draw(problem, seed: int) -> jax.Array:
    """A random direction in the space of the parameters."""
    start, unravel = ravel_pytree(problem.init())
    return unravel(jnp.asarray(np.random.default_rng(seed).normal(size=start.size)))


project = jax.jit(tangent_projection)
onto = jax.jit(retraction)


def moved(params, direction, length):
    return jax.tree.map(lambda a, b: a + length * b, params, direction)


def test_the_cases_are_on_both_sides_of_the_dense_solver():
    sizes = {name: problem.residuals(problem.init()).size for name, problem in CASES.items()}
    assert sizes["large"] > DENSE
    assert sizes["completion"] <= DENSE


@IN_ALL
def test_projection_is_idempotent_symmetric_and_kills_what_changes_residuals(problem):
    point = onto(problem, problem.init())
    v, u = draw(problem, 1), draw(problem, 2)
    pv, pu = project(problem, point, v), project(problem, point, u)
    size = np.linalg.norm(flat(v))
    np.testing.assert_allclose(flat(project(problem, point, pv)), flat(pv), atol=1e-9 * size)
    assert flat(v) @ flat(pu) == pytest.approx(flat(pv) @ flat(u), abs=1e-9 * size**2)
    change = jax.jvp(problem.residuals, (point,), (pv,))[1]
    assert np.linalg.norm(change) <= 1e-9 * size


@IN_ALL
def test_projection_against_a_singular_value_decomposition(problem):
    """Rung 2: the null space by NumPy."""
    point, v = onto(problem, problem.init()), draw(problem, 3)
    unravel = ravel_pytree(point)[1]
    jacobian = np.asarray(jax.jacobian(lambda w: problem.residuals(unravel(w)))(flat(point)))
    _, sigma, rows = np.linalg.svd(jacobian)
    rows = rows[: int(np.sum(sigma > 1e-6 * sigma[0]))]
    expected = flat(v) - rows.T @ (rows @ flat(v))
    np.testing.assert_allclose(flat(project(problem, point, v)), expected, atol=1e-8 * np.linalg.norm(flat(v)))


@IN_ALL
def test_retraction_reaches_zero_loss_stays_there_and_is_of_first_order(problem):
    """`R(w + εv) = w + εv + O(ε²)` for a tangent v: halving ε divides the gap by four, or there is none."""
    point = onto(problem, problem.init())
    assert np.linalg.norm(problem.residuals(point)) <= float(residual_goal(problem))
    np.testing.assert_allclose(flat(onto(problem, point)), flat(point), atol=1e-12)
    tangent = project(problem, point, draw(problem, 4))
    gaps = []
    for length in (2e-2, 1e-2):
        ahead = moved(point, tangent, length)
        gaps.append(np.linalg.norm(flat(onto(problem, ahead)) - flat(ahead)))
    if problem.linear:
        assert max(gaps) <= 1e-9
    else:
        assert np.log2(gaps[0] / gaps[1]) == pytest.approx(2, abs=0.3)


@pytest.mark.parametrize("name", ["regression", "large"])
def test_a_metric_says_which_way_a_retraction_goes(name):
    """Rung 2, NumPy: steps `-D Jᵀ(J D Jᵀ)⁻¹ r`, of which one is enough where residuals are linear."""
    problem = CASES[name]
    start, unravel = ravel_pytree(problem.init())
    metric = np.exp(np.random.default_rng(5).normal(size=start.size))
    goal = residual_goal(problem)
    found = jax.jit(lambda w: retract(problem, w, goal, jnp.asarray(metric)))(start)
    assert float(found.residual) <= float(goal)
    w = np.asarray(start)
    jacobian = jax.jit(jax.jacobian(lambda w: problem.residuals(unravel(w))))
    for _ in range(1 if problem.linear else 12):
        rows = np.asarray(jacobian(w))
        rows = rows[np.abs(rows).sum(axis=1) > 0]  # entries that are not observed have none
        residual = np.asarray(problem.residuals(unravel(w)))
        residual = residual[problem.live_residuals()] if problem.live_residuals() is not None else residual
        w = w - metric * (rows.T @ np.linalg.solve(rows * metric @ rows.T, residual))
    # The equations of a step are solved to 1e-4, since the next one corrects the rest: the ends differ by as much.
    np.testing.assert_allclose(found.point, w, atol=1e-9 if problem.linear else 5e-3)
    plain = retract(problem, start, goal).point
    assert np.linalg.norm(plain - found.point) > 0.1


def test_distance_on_a_line_and_on_the_diagonal_of_a_hyperbola():
    """Closed forms: |Xw - y| for a unit row; √2 |a - 1| from (a, a) to w1 w2 = 1."""
    line = LinearRegression([[0.6, 0.8]], [2.0])
    assert float(distance_to_zero_loss(line, jnp.array([1.0, -3.0]))) == pytest.approx(abs(0.6 - 2.4 - 2))
    for a in (0.7, 1.4):
        found = distance_to_zero_loss(ToyModel("curved"), jnp.array([a, a]))
        assert float(found) == pytest.approx(np.sqrt(2) * abs(a - 1), rel=1e-7)


def test_distance_is_right_to_second_order_on_a_hyperbola():
    """Rung 2: the nearest point by SciPy; the relative error falls at least as the distance."""
    toy, foot = ToyModel("curved"), np.array([0.5, 2.0])
    normal = np.array([2.0, 0.5]) / np.hypot(2.0, 0.5)
    errors = []
    for length in (1e-1, 1e-2):
        point = foot + length * normal
        exact = np.sqrt(
            scipy.optimize.minimize_scalar(
                lambda u, point=point: (u - point[0]) ** 2 + (1 / u - point[1]) ** 2,
                bounds=(0.3, 0.8),
                method="bounded",
                options={"xatol": 1e-13},
            ).fun
        )
        errors.append(abs(float(distance_to_zero_loss(toy, jnp.asarray(point))) / exact - 1))
    assert errors[0] < 0.05
    assert errors[1] < 0.12 * errors[0]


def test_distance_is_nan_where_there_is_no_zero_loss():
    tall = LinearRegression([[1.0], [1.0]], [0.0, 1.0])
    assert np.isnan(distance_to_zero_loss(tall, jnp.zeros(1)))


def test_cosine_of_a_hyperbola_falls_linearly_with_the_distance():
    toy, foot = ToyModel("curved"), jnp.array([0.5, 2.0])
    normal = jnp.array([2.0, 0.5]) / jnp.hypot(2.0, 0.5)
    cosine = jax.jit(tangent_cosine)
    cosines = [float(cosine(toy, foot + length * normal)) for length in (1e-2, 1e-3, 1e-4)]
    np.testing.assert_allclose(np.diff(np.log10(cosines)), -1, atol=0.02)


def test_kkt_residual_vanishes_at_least_norm_only():
    toy = ToyModel("curved")
    assert float(kkt_residual(toy, jnp.array([1.0, 1.0]))) <= 1e-12
    # On the hyperbola the tangent at (u, 1/u) is (u, -1/u)/|.|: |Pw|/|w| is |u² - u⁻²| / (u² + u⁻²).
    assert float(kkt_residual(toy, jnp.array([0.5, 2.0]))) == pytest.approx((4 - 0.25) / (4 + 0.25))
    regression = CASES["regression"]
    least = np.linalg.pinv(regression.design) @ regression.targets
    assert float(kkt_residual(regression, jnp.asarray(least))) <= 1e-9
    assert float(kkt_residual(regression, jnp.zeros(8))) == 0.0


def test_degenerate_points_give_finite_numbers():
    """Both axes cross at the origin, where J = 0: everything is tangent."""
    singular, origin = ToyModel("singular"), jnp.zeros(2)
    np.testing.assert_allclose(tangent_projection(singular, origin, jnp.array([1.0, 2.0])), [1.0, 2.0])
    found = retract(singular, jnp.array([1e-8, 1e-8]), 1e-20)
    assert np.isfinite(found.point).all()
    assert float(found.residual) <= 1e-16
