"""Proxes and subgradients against closed forms, published formulas and cvxpy; what a composition does to its parts."""

from __future__ import annotations

import cvxpy
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import SIZE
from cases.penalties import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import latebloom as lb
from latebloom.penalties import Sum

prox_of = jax.jit(lambda penalty, params, step_size: penalty.prox(params, step_size))
halves = st.integers(-8, 8).map(lambda n: n / 2)  # exact zeros and ties


@given(arrays(np.float64, SIZE, elements=halves | st.floats(-5, 5)), st.sampled_from([0.01, 0.5, 1.0, 3.0]))
def test_moreau_identity_of_l1(vector, step_size):
    """Rung 1: the conjugate of `s|.|_1` is the indicator of a box, whose prox is clipping."""
    bound = step_size * 0.3
    residue = vector - np.asarray(prox_of(lb.L1(0.3), jnp.asarray(vector), step_size))
    np.testing.assert_allclose(residue, np.clip(vector, -bound, bound), rtol=0, atol=1e-15)


@pytest.mark.parametrize("step_size", [1e-3, 0.3, 2.0])
def test_prox_of_l2_is_the_closed_form(step_size):
    vector = examples()[3]
    found = prox_of(lb.L2(0.7), jnp.asarray(vector), step_size)
    np.testing.assert_allclose(found, vector / (1 + 0.7 * step_size), rtol=1e-15)


@pytest.mark.parametrize("step_size", [1e-6, 1e-3, 0.4, 2.0])
def test_prox_of_l_half_is_half_thresholding(step_size):
    """Rung 1: Xu, Chang, Xu and Zhang, "L1/2 regularization", 2012; they minimise `(v - w)² + λ|v|^½`, λ = 2c."""
    vector = np.linspace(-4, 4, 801) * max(step_size, 1e-3) ** (2 / 3)
    weight = 2 * step_size * 0.4
    size = np.maximum(np.abs(vector), 1e-100)
    angle = np.arccos(np.minimum(weight / 8 * (size / 3) ** -1.5, 1.0))
    above = np.abs(vector) > 54 ** (1 / 3) / 4 * weight ** (2 / 3)
    expected = np.where(above, 2 / 3 * vector * (1 + np.cos(2 * np.pi / 3 - 2 / 3 * angle)), 0.0)
    found = prox_of(lb.Lp(0.4, p=0.5), jnp.asarray(vector), step_size)
    # arccos and cos near the threshold cost the published formula three digits.
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 0.8, 0.99])
@pytest.mark.parametrize("step_size", [1e-8, 1e-3, 1.0, 100.0])
def test_prox_of_lp_solves_its_equation_above_the_threshold(p, step_size):
    """Newton reaches the root of `v + c p v^(p-1) = |w|` to rounding, just above the threshold as well."""
    c = step_size * 0.4
    threshold = (2 - p) / (2 * (1 - p)) * (2 * c * (1 - p)) ** (1 / (2 - p))
    vector = threshold * np.array([1 + 1e-9, 1.001, 1.1, 2, 10, 1e4])
    found = np.asarray(prox_of(lb.Lp(0.4, p=p), jnp.asarray(vector), step_size))
    np.testing.assert_allclose(found + c * p * found ** (p - 1), vector, rtol=1e-13)
    below = threshold * np.array([0.0, 0.5, 1 - 1e-9, -(1 - 1e-9), 0.9, -0.9])
    np.testing.assert_array_equal(prox_of(lb.Lp(0.4, p=p), jnp.asarray(below), step_size), np.zeros(6))


@pytest.mark.parametrize("weights", [(0.3, 0.7, 0.5), (0.3, 0.7, 0), (0.3, 0, 0.5), (0, 0.7, 0.5), (1, 0.1, 2)])
def test_prox_of_sums_is_what_cvxpy_finds(weights):
    """Rung 2: an interior-point solver knows nothing of how the proxes compose."""
    l1, l2, norm = weights
    parts = [make(weight) for make, weight in zip((lb.L1, lb.L2, lb.L2Norm), weights, strict=True) if weight]
    penalty, step_size = Sum(*parts), 0.8
    for vector in examples(3):
        v = cvxpy.Variable(SIZE)
        penalties = l1 * cvxpy.norm1(v) + l2 / 2 * cvxpy.sum_squares(v) + norm * cvxpy.norm2(v)
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(v - vector) / 2 + step_size * penalties))
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        # The objective is 1-strongly convex: a gap of 1e-9 is a distance of at most √(2e-9).
        np.testing.assert_allclose(prox_of(penalty, jnp.asarray(vector), step_size), v.value, atol=4.5e-5)


def test_the_order_of_the_terms_does_not_matter():
    terms = (lb.L1(0.3), lb.L2(0.7), lb.L2Norm(0.5))
    vector = jnp.asarray(examples()[4])
    np.testing.assert_array_equal(prox_of(Sum(*terms), vector, 0.8), prox_of(Sum(*terms[::-1]), vector, 0.8))


def test_a_sum_adds_values_subgradients_and_strengths():
    first, second, third = lb.L1(0.3), lb.Lp(0.2, p=0.5), lb.L2(0.7)
    together = first + second + third
    vector = jnp.asarray(examples()[1])
    assert together.strengths == (0.3, 0.2, 0.7)
    assert float(together.value(vector)) == pytest.approx(sum(float(t.value(vector)) for t in together.terms))
    np.testing.assert_allclose(
        together.subgradient(vector), sum(np.asarray(t.subgradient(vector)) for t in together.terms), rtol=1e-15
    )


def test_l2_norm_is_tensor_by_tensor():
    params = {"a": jnp.array([3.0, 4.0]), "b": jnp.array([[0.0, 5.0]])}
    assert float(lb.L2Norm(2.0).value(params)) == 20.0
    shrunk = lb.L2Norm(1.0).prox({"a": jnp.array([0.3, 0.4]), "b": jnp.array([0.0, 5.0])}, 1.0)
    assert shrunk["a"].tolist() == [0.0, 0.0]
    assert shrunk["b"].tolist() == [0.0, 4.0]


@pytest.mark.parametrize("inner", [lb.L1(0.3), lb.L2(0.3), lb.L2Norm(0.3), lb.Lp(0.3)], ids=lambda p: p.name())
def test_on_parts_touches_only_the_named_parts(inner):
    params = {"embedding": jnp.array([1.0, -2.0]), "bias": jnp.array([5.0]), "out": jnp.array([-7.0])}
    penalty = lb.OnParts(inner, "embedding", "out")
    named = {"embedding": params["embedding"], "out": params["out"]}
    slope, moved = penalty.subgradient(params), prox_of(penalty, params, 1.0)
    assert slope["bias"].tolist() == [0.0]
    assert moved["bias"].tolist() == [5.0]
    assert float(penalty.value(params)) == float(inner.value(named))
    for part in named:
        np.testing.assert_array_equal(slope[part], inner.subgradient(named)[part])
        np.testing.assert_allclose(moved[part], prox_of(inner, named, 1.0)[part], rtol=1e-15)
        assert not np.array_equal(moved[part], params[part])


def test_norms_of_tiny_and_huge_tensors():
    penalty = lb.L2Norm(1.0)
    np.testing.assert_allclose(penalty.subgradient(jnp.array([3e-200, 4e-200])), [0.6, 0.8])
    np.testing.assert_allclose(penalty.prox(jnp.array([3e200, 4e200]), 1.0), [3e200, 4e200])


def test_a_penalty_of_no_strength_moves_nothing():
    np.testing.assert_array_equal(lb.Lp(0.0).prox(jnp.array([1e-300, -2.0, 0.0]), 1.0), [1e-300, -2.0, 0.0])


def test_parts_are_told_apart():
    assert lb.OnParts(lb.L1(1.0), "a b") != lb.OnParts(lb.L1(1.0), "a", "b")
