"""One triangle of the products of rows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from latebloom.linalg.gram import lower_gram


@pytest.mark.parametrize("rows", [5, 300])
def test_one_triangle_of_the_products_of_rows(rows):
    """Rung 2: one block and two, against NumPy; the derivative is that of the whole matrix."""
    features = jnp.asarray(np.random.default_rng(rows).normal(size=(rows, rows + 2)))
    expected = np.asarray(features) @ np.asarray(features).T + 0.5 * np.eye(rows)
    np.testing.assert_allclose(np.tril(lower_gram(features, 0.5)), np.tril(expected), rtol=1e-13, atol=1e-12)
    volume = lambda gram: jnp.sum(jnp.log(jnp.diagonal(jax.scipy.linalg.cho_factor(gram, lower=True)[0])))  # noqa: E731
    slopes = jax.grad(lambda h, ridge: volume(lower_gram(h, ridge)), argnums=(0, 1))(features, 0.5)
    inverse = np.linalg.inv(expected)  # d log det(HHᵀ + ridge I) / 2
    np.testing.assert_allclose(slopes[0], inverse @ np.asarray(features), rtol=1e-8, atol=1e-10)
    assert slopes[1] == pytest.approx(np.trace(inverse) / 2)


def test_its_derivative_is_symmetric():
    """Rung 1: `dH Hᵀ + H dHᵀ + d(ridge) I`, the whole of it, whatever reads one triangle."""
    random = np.random.default_rng(0)
    features, change = random.normal(size=(2, 4, 6))
    _, found = jax.jvp(lower_gram, (jnp.asarray(features), 0.5), (jnp.asarray(change), 0.1))
    expected = change @ features.T + features @ change.T + 0.1 * np.eye(4)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
