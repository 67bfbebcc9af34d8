"""Losses and their logarithms against sixty digits."""

from __future__ import annotations

from decimal import Decimal, localcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from latebloom.problems.losses import LOSSES, log_softplus

MARGINS = (-1e4, -800.0, -30.0, -1.0, -1e-9, 0.0, 1e-9, 0.5, 11.0, 12.0, 30.0, 36.0, 800.0, 1e4)


def exact(power: Decimal) -> tuple[Decimal, Decimal]:
    """`log(1 + power)` and its logarithm; below 1e-25 by the series, since the sum would need more digits."""
    value = power - power**2 / 2 if power < Decimal("1e-25") else (1 + power).ln()
    return value, value.ln()


def expected(loss: str, margin: float) -> tuple[Decimal, Decimal]:
    power = (-Decimal(margin)).exp()
    return (power, -Decimal(margin)) if loss == "exponential" else exact(power)


@pytest.fixture(autouse=True)
def sixty_digits():
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 60, 10**6, -(10**6)
        yield


@pytest.mark.parametrize("name", ["logistic", "exponential"])
@pytest.mark.parametrize("label", [1.0, -1.0])
def test_log_values_against_sixty_digits_at_margins_up_to_1e4(name, label):
    logs = [float(expected(name, margin)[1]) for margin in MARGINS]
    found = LOSSES[name].log_value(label * jnp.array(MARGINS), jnp.full(len(MARGINS), label))
    np.testing.assert_allclose(found, logs, rtol=2e-15, atol=2e-16)


@pytest.mark.parametrize("name", ["logistic", "exponential"])
def test_values_against_sixty_digits_where_floats_reach(name):
    margins = np.array([m for m in MARGINS if abs(m) < 700])
    values = [float(expected(name, margin)[0]) for margin in margins.tolist()]
    np.testing.assert_allclose(LOSSES[name].value(margins, np.ones(len(margins))), values, rtol=4e-15)


def test_the_mean_is_summed_in_logarithms():
    margins = [5000.0, 5001.0, 1e4]
    mean = sum((expected("logistic", m)[0] for m in margins), Decimal(0)) / 3
    loss = LOSSES["logistic"]
    assert float(loss.mean(jnp.array(margins), jnp.ones(3))) == 0.0
    assert float(loss.log_loss(jnp.array(margins), jnp.ones(3))) == pytest.approx(float(mean.ln()), rel=1e-15)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_cross_entropy_against_sixty_digits(scale):
    outputs = scale * np.random.default_rng(0).normal(size=(20, 5))
    labels = np.random.default_rng(1).integers(5, size=20)
    pairs = []
    for row, label in zip(outputs.tolist(), labels, strict=True):
        others = [(Decimal(z) - Decimal(row[label])).exp() for j, z in enumerate(row) if j != label]
        pairs.append(exact(sum(others, Decimal(0))))
    values, logs = ([float(x) for x in column] for column in zip(*pairs, strict=True))
    np.testing.assert_allclose(LOSSES["cross_entropy"].value(outputs, labels), values, rtol=1e-12)
    np.testing.assert_allclose(LOSSES["cross_entropy"].log_value(outputs, labels), logs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", LOSSES)
def test_slopes_are_derivatives(name):
    random = np.random.default_rng(2)
    if name == "cross_entropy":
        outputs, targets = random.normal(size=(4, 3)), jnp.array([0, 2, 1, 0])
    else:
        outputs, targets = random.normal(size=4), jnp.array([1.0, -1.0, -1.0, 1.0])
    derivative = jax.grad(lambda f: jnp.sum(LOSSES[name].value(f, targets)))(jnp.asarray(outputs))
    np.testing.assert_allclose(LOSSES[name].slope(jnp.asarray(outputs), targets), derivative, rtol=1e-12)


def test_squared_loss_of_an_exact_fit_has_logarithm_minus_infinity():
    loss = LOSSES["squared"]
    assert float(loss.value(jnp.array(3.0), jnp.array(1.0))) == 4.0
    assert float(loss.log_value(jnp.array(1.0), jnp.array(1.0))) == -np.inf


def test_the_logarithm_can_be_differentiated_everywhere():
    slopes = jax.vmap(jax.grad(log_softplus))(jnp.array([-1e4, -20.0, 0.0, 20.0, 1e4]))
    assert np.isfinite(slopes).all()
    np.testing.assert_allclose(np.asarray(slopes)[[0, -1]], [1.0, 1e-4], rtol=1e-9)


def test_closed_form_slope_of_log_softplus():
    """`σ(x) / log(1 + e^x)`, at zero too, where every output of a network that starts at zero is."""
    slope = jax.vmap(jax.grad(log_softplus))
    at = jnp.array([-40.0, -11.5, -1.0, -1e-9, 0.0, 1e-9, 1.0, 40.0])
    expected = jax.nn.sigmoid(at) / jnp.log1p(jnp.exp(at))
    np.testing.assert_allclose(slope(at), expected, rtol=1e-12)
    assert float(slope(jnp.zeros(1))[0]) == pytest.approx(0.5 / np.log(2), rel=1e-15)
