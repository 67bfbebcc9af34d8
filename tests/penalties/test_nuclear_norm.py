"""The nuclear norm against NumPy's SVD: value, polar factor and its accuracy, singular-value thresholding."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import completion
from plain import polar, shrink_singular_values

import latebloom as lb
from latebloom.penalties.nuclear_norm import RANK_TOLERANCE, WRITTEN_OUT

value_of = jax.jit(lambda penalty, params: penalty.value(params))
subgradient_of = jax.jit(lambda penalty, params: penalty.subgradient(params))
prox_of = jax.jit(lambda penalty, params, step_size: penalty.prox(params, step_size))

ONE = lb.NuclearNorm(1.0)
MIDDLE = (7, 5)
SHAPES = [(1, 1), (2, 2), (5, 5), MIDDLE, (5, 7), (16, 16), (17, 16), (18, 20), (40, 40)]


def with_singular_values(shape: tuple[int, int], values, seed: int = 0) -> np.ndarray:
    """A matrix with these singular values and random singular vectors."""
    random, rank = np.random.default_rng(seed), len(values)
    left, right = (np.linalg.qr(random.normal(size=(side, rank)))[0] for side in shape)
    return left * np.asarray(values) @ right.T


def nuclear(matrix: np.ndarray) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False).sum())


def subgradient(matrix: np.ndarray) -> np.ndarray:
    return np.asarray(subgradient_of(ONE, jnp.asarray(matrix)))


def prox(matrix: np.ndarray, threshold: float) -> np.ndarray:
    return np.asarray(prox_of(ONE, jnp.asarray(matrix), threshold))


def test_both_ways_to_multiply_are_tried():
    assert any(max(shape) <= WRITTEN_OUT for shape in SHAPES)
    assert any(max(shape) == WRITTEN_OUT for shape in SHAPES)
    assert any(max(shape) == WRITTEN_OUT + 1 for shape in SHAPES)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_value_subgradient_and_prox_are_those_of_an_svd(shape):
    """Rung 2: well-conditioned matrices, singular values between 1 and 3, of every size and orientation."""
    for seed in range(3):
        matrix = with_singular_values(shape, np.linspace(3, 1, min(shape)), seed)
        assert float(value_of(lb.NuclearNorm(0.3), matrix)) == pytest.approx(0.3 * nuclear(matrix), rel=1e-13)
        # Rounding: condition 3, at most 40 columns.
        np.testing.assert_allclose(subgradient(matrix), polar(matrix), rtol=0, atol=1e-13)
        np.testing.assert_allclose(prox(matrix, 1.7), shrink_singular_values(matrix, 1.7), rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", [(5, 5), MIDDLE, (5, 7), (18, 20)], ids=str)
def test_equal_singular_values_have_one_polar_factor(shape):
    """The singular vectors are not unique, their product is."""
    matrix = with_singular_values(shape, np.full(min(shape), 2.0))
    np.testing.assert_allclose(subgradient(matrix), matrix / 2, rtol=0, atol=1e-14)


@pytest.mark.parametrize("shape", [(5, 5), MIDDLE, (5, 7), (18, 20)], ids=str)
@pytest.mark.parametrize("ratio", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
def test_small_singular_values_cost_the_square_of_their_ratio(shape, ratio):
    """The Gram matrix squares the condition: two small singular values mix by `rounding / ratio²`.

    Measured: 1e-10 at a ratio of 1e-3, 2e-6 at 1e-5 (2e-2 at 1e-7); the factor 20 is twice the largest of 20 draws.
    The operator norm leaves 1 by as much, and so does the inequality of a subgradient.
    """
    bound = 20 * np.finfo(float).eps / ratio**2
    for seed in range(5):
        small = ratio * np.random.default_rng(seed).uniform(1, 3, size=min(shape) // 2)
        matrix = with_singular_values(shape, np.concatenate([np.ones(min(shape) - len(small)), small]), seed)
        found = subgradient(matrix)
        assert np.linalg.norm(found - polar(matrix), 2) <= bound
        assert np.linalg.norm(found, 2) <= 1 + bound


@pytest.mark.parametrize("shape", [(2, 2), MIDDLE, (18, 20)], ids=str)
@pytest.mark.parametrize("ratio", [1e-3, 1e-5, 1e-6])
def test_a_single_small_singular_value_costs_its_ratio_only(shape, ratio):
    """It has nobody of its size to mix with; measured 1e-13, 1e-11, 1e-10."""
    for seed in range(5):
        matrix = with_singular_values(shape, [*np.ones(min(shape) - 1), ratio], seed)
        assert np.linalg.norm(subgradient(matrix) - polar(matrix), 2) <= 20 * np.finfo(float).eps / ratio


@pytest.mark.parametrize("shape", [(5, 5), MIDDLE, (5, 7), (18, 20)], ids=str)
@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("rest", [0.0, 1e-12, 0.1 * RANK_TOLERANCE])
def test_directions_without_a_singular_value_contribute_nothing(shape, rank, rest):
    """The subgradient of least norm: `U Vᵀ` over the singular values that are not zero, whose norm is √rank."""
    values = np.zeros(min(shape)) + rest
    values[:rank] = np.linspace(2, 1, rank)
    matrix = with_singular_values(shape, values)
    found, expected = subgradient(matrix), polar(matrix, rank)
    # Singular vectors of the rest leak into those kept by their ratio.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14 + 10 * rest)
    assert np.linalg.norm(found) == pytest.approx(np.sqrt(rank), rel=1e-8)
    left, _, right = np.linalg.svd(matrix)
    np.testing.assert_allclose(left[:, rank:].T @ found @ right[rank:].T, 0, atol=1e-14 + 10 * rest)


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), MIDDLE, (5, 7), (18, 20)], ids=str)
def test_the_zero_matrix_has_a_zero_subgradient(shape):
    zero = np.zeros(shape)
    np.testing.assert_array_equal(subgradient(zero), zero)
    np.testing.assert_array_equal(prox(zero, 0.5), zero)
    np.testing.assert_array_equal(prox(zero, 0.0), zero)
    assert float(value_of(ONE, zero)) == 0


def kinks(shape: tuple[int, int]) -> list[np.ndarray]:
    """Matrices where the nuclear norm is not smooth, or nearly so, and some where it is."""
    size = min(shape)
    spectra = [np.zeros(size), np.ones(size), np.linspace(3, 1, size)]
    spectra += [np.where(np.arange(size) < rank, 2.0, 0.0) for rank in range(1, size)]
    spectra += [np.where(np.arange(size) < 2, 1.0, tiny) for tiny in (1e-3, 1e-9, 1e-12, 1e-16)]
    drawn = [with_singular_values(shape, values, seed) for seed, values in enumerate(spectra)]
    exact = np.zeros(shape)
    exact[0, :2], exact[1, 0] = (3.0, -1.0), 2.0
    return [*drawn, exact, np.ones(shape)]


@pytest.mark.parametrize("shape", [(5, 5), MIDDLE, (18, 20)], ids=str)
def test_the_subgradient_inequality_holds_at_the_kinks(shape):
    """`|B|_* >= |A|_* + <H, B - A>` for all pairs, and for B in the directions that A does not have."""
    matrices = kinks(shape)
    for here in matrices:
        slope = subgradient(here)
        # 20 eps/(1e-3)² is what the smallest ratio here costs; below RANK_TOLERANCE, the part left out.
        assert np.linalg.norm(slope, 2) <= 1 + 5e-9
        outside = here - polar(here) * 0.5
        for there in (*matrices, -here, outside, here + polar(here)):
            assert nuclear(there) >= nuclear(here) + np.sum(slope * (there - here)) - 1e-7


@pytest.mark.parametrize("shape", [(5, 5), MIDDLE, (5, 7), (18, 20)], ids=str)
@pytest.mark.parametrize("threshold", [1e-9, 0.1, 1.5])
def test_prox_is_singular_value_thresholding(shape, threshold):
    """Rung 2, at matrices of every rank; and what is cut off is in the subdifferential at the prox, times the step."""
    for matrix in kinks(shape):
        found = prox(matrix, threshold)
        # The singular values move by rounding only, even where their vectors mix: they are all as small as that.
        np.testing.assert_allclose(found, shrink_singular_values(matrix, threshold), rtol=0, atol=1e-11)
        dual = (matrix - found) / threshold
        slack = 1e-13 / threshold
        assert np.linalg.norm(dual, 2) <= 1 + slack + 1e-8
        assert np.sum(dual * found) == pytest.approx(nuclear(found), abs=1e-8 + 10 * slack)


@pytest.mark.parametrize("shape", [MIDDLE, (5, 7), (18, 20)], ids=str)
def test_prox_is_firmly_nonexpansive(shape):
    matrices = kinks(shape)
    for threshold in (0.1, 1.5):
        moved = [prox(matrix, threshold) for matrix in matrices]
        for i, (here, mine) in enumerate(zip(matrices, moved, strict=True)):
            for there, its in zip(matrices[:i], moved[:i], strict=True):
                gap = mine - its
                assert np.sum(gap**2) <= np.sum(gap * (here - there)) + 1e-10


@pytest.mark.parametrize("shape", [(1, 1), MIDDLE, (5, 7), (18, 20)], ids=str)
def test_a_threshold_above_all_singular_values_gives_exact_zeros(shape):
    for seed in range(3):
        matrix = with_singular_values(shape, np.linspace(1, 0.1, min(shape)), seed)
        np.testing.assert_array_equal(prox(matrix, 1.0 + 1e-12), np.zeros(shape))
        np.testing.assert_array_equal(prox(matrix, 1e300), np.zeros(shape))


def test_a_threshold_lowers_the_rank_and_never_raises_it():
    matrix = with_singular_values(MIDDLE, [5.0, 4.0, 3.0, 2.0, 1.0])
    for threshold, rank in ((0.5, 5), (1.5, 4), (3.5, 2), (4.5, 1), (5.5, 0)):
        assert np.linalg.matrix_rank(prox(matrix, threshold), tol=1e-12) == rank


@pytest.mark.parametrize("scale", [1e-140, 1e-20, 1e20, 1e140])
def test_the_size_of_a_matrix_does_not_matter(scale):
    """The polar factor is homogeneous of degree 0, the prox of degree 1."""
    matrix = with_singular_values(MIDDLE, [5.0, 4.0, 3.0, 2.0, 1.0])
    np.testing.assert_allclose(subgradient(scale * matrix), polar(matrix), rtol=0, atol=1e-13)
    shrunk = shrink_singular_values(matrix, 2.5)
    np.testing.assert_allclose(prox(scale * matrix, 2.5 * scale) / scale, shrunk, rtol=0, atol=1e-13)


# Where it can be put


def test_a_sum_over_the_layers_of_a_deep_factorisation():
    params = completion(depth=3, width=3, init_scale=0.7).init()
    assert [layer.shape for layer in params.values()] == [(6, 3), (3, 3), (3, 5)]
    penalty = lb.NuclearNorm(0.4)
    expected = 0.4 * sum(nuclear(np.asarray(layer)) for layer in params.values())
    assert float(value_of(penalty, params)) == pytest.approx(expected, rel=1e-13)
    slope, moved = subgradient_of(penalty, params), prox_of(penalty, params, 0.5)
    for name, layer in params.items():
        # The conditions of these layers are below 10.
        np.testing.assert_allclose(slope[name], 0.4 * polar(np.asarray(layer)), rtol=0, atol=1e-13)
        np.testing.assert_allclose(moved[name], shrink_singular_values(np.asarray(layer), 0.2), rtol=0, atol=1e-13)


def test_on_parts_leaves_the_other_layers_alone():
    params = completion(depth=2, width=3, init_scale=0.7).init()
    penalty = lb.OnParts(lb.NuclearNorm(0.4), "A2")
    assert float(value_of(penalty, params)) == pytest.approx(0.4 * nuclear(np.asarray(params["A2"])), rel=1e-13)
    np.testing.assert_array_equal(subgradient_of(penalty, params)["A1"], np.zeros((6, 3)))
    np.testing.assert_array_equal(prox_of(penalty, params, 0.5)["A1"], params["A1"])


def test_matrices_and_named_matrices_are_taken():
    params = {"weights": jnp.ones((2, 2)), "bias": jnp.ones(2)}
    lb.NuclearNorm(0.5).check(params["weights"])
    lb.OnParts(lb.NuclearNorm(0.5), "weights").check(params)


@pytest.mark.parametrize("smallest", [0.5, 1e-2, 1e-4, 0.0])
def test_polar_factor_in_single_precision(smallest):
    """Rung 2: as accurate as an SVD in single precision, whose error grows as 6e-8 over the smallest share.

    With eigenvectors of AᵀA in single precision it is off by 0.1 at a share of 1e-3, and by 1 where the rank is lower.
    """
    shape = (40, 20)
    values = np.geomspace(1.0, smallest, 20) if smallest else np.ones(12)
    matrix = with_singular_values(shape, values)
    found = np.asarray(subgradient_of(ONE, jnp.asarray(matrix.astype(np.float32))))
    assert found.dtype == np.float32
    expected = polar(matrix) if smallest else matrix  # with singular values 1 and 0 it is its own polar factor
    assert np.linalg.norm(found - expected, 2) < 2e-7 / (smallest or 1.0)
