"""The equations J D Jᵀ u = b: dense and by conjugate gradients."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from cases import completion
from jax.flatten_util import ravel_pytree

from latebloom.zero_loss.normal_equations import DENSE, Linearised
from latebloom.zero_loss.set import (
    linearised,
)


def test_an_inverse_kept_from_nearby_saves_products_and_changes_no_answer():
    """Rung 2: conjugate gradients with and without it solve the same equations, as NumPy does."""
    problem = completion(shape=(7, 7), observed=30, width=4, init_scale=0.7, truth_norm=3.0)
    flat = ravel_pytree(problem.init())[0]
    rows = jnp.asarray(problem.live_residuals())
    nearby = linearised(problem, 1.02 * flat).keep(rows)
    plain, helped = linearised(problem, flat), linearised(problem, flat, nearby=nearby)
    b = plain.apply(jnp.cos(jnp.arange(flat.size)))
    (u, products), (v, fewer) = plain.solve(b), helped.solve(b)
    assert b.size > DENSE
    assert int(fewer) < int(products) / 3
    np.testing.assert_allclose(plain.transpose(u), helped.transpose(v), atol=1e-9)
    jacobian = np.asarray(jax.vmap(plain.transpose)(jnp.eye(b.size)))
    expected = jacobian.T @ np.linalg.lstsq(jacobian @ jacobian.T, np.asarray(b), rcond=None)[0]
    np.testing.assert_allclose(helped.transpose(v), expected, atol=1e-9)


def test_the_floor_is_refined_away_where_the_jacobian_has_full_rank():
    """Closed form: J = diag(1, 1e-3), u = (b1, 1e6 b2). A factor with a floor of 1e-13 alone is off by 1e-7 of it."""
    sizes = jnp.array([1.0, 1e-3])
    here = Linearised.at(lambda w: sizes * w, jnp.zeros(2))
    u, products = here.solve(jnp.array([2.0, 3.0]))
    np.testing.assert_allclose(u, [2.0, 3e6], rtol=1e-12)
    assert int(products) == 2


def test_where_the_jacobian_loses_its_rank_the_floor_keeps_the_answer_finite():
    here = Linearised.at(lambda w: jnp.array([w[0], w[0]]), jnp.zeros(2))
    u, _ = here.solve(jnp.array([1.0, 1.0]))
    np.testing.assert_allclose(here.transpose(u), [1.0, 0.0], atol=1e-9)
