"""Probes of the end-to-end matrix against NumPy and SciPy, as columns of a run, and where they cannot be used."""

from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from cases import completion, sensing
from plain import as_matrix, moved

import latebloom as lb
from latebloom.probes import (
    Components,
    DistanceTo,
    EffectiveRank,
    LayerBalance,
    NuclearNormOfMatrix,
    NumericalRank,
    SingularValues,
    SubspaceAngles,
)

OF_A_MATRIX = (SingularValues(), NuclearNormOfMatrix(), EffectiveRank(), NumericalRank(), SubspaceAngles())
# One shape for all of them, so that each probe is compiled once or twice.
PROBLEMS = {
    "completion": completion(init_scale=0.5),
    "depth-2": completion(depth=2, init_scale=0.5),
    "depth-3": completion(depth=3, width=3, init_scale=0.5),
    "sensing": sensing(init_scale=0.5),
}
IN_ALL = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())

measure_of = jax.jit(lambda probe, problem, penalty, params: probe.measure(problem, penalty, params))


def measured(probe, problem, params, penalty=None) -> np.ndarray:
    return np.asarray(measure_of(probe, problem, penalty, params))


def entropy_rank(sizes: np.ndarray) -> float:
    shares = sizes[sizes > 0] / sizes.sum()
    return float(np.exp(-np.sum(shares * np.log(shares))))


def balance(first: np.ndarray, second: np.ndarray) -> float:
    inner, outer = first.T @ first, second @ second.T
    return float(np.linalg.norm(inner - outer) / (np.linalg.norm(inner) + np.linalg.norm(outer)))


@IN_ALL
def test_singular_values_and_what_is_made_of_them(problem):
    """Rung 2: NumPy's SVD of the product of the layers."""
    params = moved(problem.init())
    sizes = np.linalg.svd(as_matrix(problem, params), compute_uv=False)
    np.testing.assert_allclose(measured(SingularValues(), problem, params), sizes, rtol=0, atol=1e-13)
    assert measured(NuclearNormOfMatrix(), problem, params) == pytest.approx(sizes.sum(), rel=1e-13)
    assert measured(EffectiveRank(), problem, params) == pytest.approx(entropy_rank(sizes), rel=1e-9)
    for tolerance in (1e-3, 0.3, 0.8):
        expected = (sizes > tolerance * sizes[0]).sum()
        assert measured(NumericalRank(tolerance), problem, params) == expected


@IN_ALL
def test_subspace_angles_are_those_of_scipy(problem):
    """Rung 2: the largest principal angles between the two leading left, and right, singular subspaces."""
    params = moved(problem.init())
    mine, truth = np.linalg.svd(as_matrix(problem, params)), np.linalg.svd(np.asarray(problem.truth))
    left = scipy.linalg.subspace_angles(mine[0][:, :2], truth[0][:, :2])[0]
    right = scipy.linalg.subspace_angles(mine[2][:2].T, truth[2][:2].T)[0]
    assert left > 0.1
    assert right > 0.1
    # arcsin loses half the digits at π/2; no angle here is within 0.01 of it.
    np.testing.assert_allclose(measured(SubspaceAngles(), problem, params), [left, right], rtol=1e-10)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 1.0, np.pi / 2 - 1e-3, np.pi / 2])
def test_small_and_right_angles(angle):
    """Rung 1: the truth with one left singular vector turned out of its plane by a known angle."""
    problem = PROBLEMS["completion"]
    left, _, right = np.linalg.svd(np.asarray(problem.truth))
    turned = np.cos(angle) * left[:, 1] + np.sin(angle) * left[:, 3]
    matrix = np.outer(left[:, 0], right[0]) + 0.5 * np.outer(turned, right[1])
    found = measured(SubspaceAngles(), problem, jnp.asarray(matrix))
    # Rounding 1e-15 of the sine; at a right angle its root.
    np.testing.assert_allclose(found, [angle, 0.0], rtol=0, atol=1e-7 if angle == np.pi / 2 else 2e-13)


def test_a_missing_direction_is_at_a_right_angle():
    problem = PROBLEMS["completion"]
    left, _, right = np.linalg.svd(np.asarray(problem.truth))
    matrix = jnp.asarray(np.outer(left[:, 0], right[0]) + 0.5 * np.outer(left[:, 2], right[2]))
    np.testing.assert_allclose(measured(SubspaceAngles(), problem, matrix), np.pi / 2, atol=1e-7)


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_the_rank_of_the_truth_is_read_off(rank):
    problem = completion(rank=rank, init_scale=0.5)
    truth = problem.truth
    assert measured(EffectiveRank(), problem, truth) == pytest.approx(rank, rel=1e-12)
    assert measured(NumericalRank(), problem, truth) == rank
    assert measured(NuclearNormOfMatrix(), problem, truth) == pytest.approx(np.sqrt(rank), rel=1e-13)
    np.testing.assert_allclose(measured(SubspaceAngles(), problem, truth), 0, atol=1e-13)
    # With all directions of the truth kept, the subspace of the five columns is everything.
    other = scipy.linalg.subspace_angles(np.linalg.svd(problem.init())[0][:, :rank], np.linalg.svd(truth)[0][:, :rank])
    assert measured(SubspaceAngles(), problem, problem.init())[0] == pytest.approx(other[0], rel=1e-9)


@pytest.mark.parametrize("name", ["depth-2", "depth-3"])
def test_the_balance_of_layers(name):
    problem = PROBLEMS[name]
    params = moved(problem.init())
    layers = [np.asarray(params[f"A{k + 1}"]) for k in range(problem.depth)]
    expected = [balance(first, second) for first, second in pairwise(layers)]
    found = measured(LayerBalance(), problem, params)
    assert found.shape == (problem.depth - 1,)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (found > 0.01).all()
    assert (found < 1).all()


def test_balanced_layers_have_no_imbalance_and_one_layer_alone_has_all():
    problem = PROBLEMS["depth-2"]
    left, sizes, right = np.linalg.svd(np.asarray(problem.truth), full_matrices=False)
    balanced = {"A1": left * np.sqrt(sizes), "A2": np.sqrt(sizes)[:, None] * right}
    assert measured(LayerBalance(), problem, balanced)[0] == pytest.approx(0, abs=1e-14)
    alone = {"A1": np.asarray(left), "A2": np.zeros((5, 5))}
    assert measured(LayerBalance(), problem, alone)[0] == 1


def test_gradient_flow_keeps_the_imbalance_and_l2_removes_it():
    """Small steps without a penalty change the difference by the square of the step; with l2 it decays."""
    problem = PROBLEMS["depth-2"]
    penalties = [lb.L2(0.0), lb.L2(0.1)]
    job = lb.TrainJob(problem, lb.GradientDescent(0.01), steps=3_000, probes=[LayerBalance()])
    free, pulled = lb.run([job.but({"penalty": penalty}) for penalty in penalties])
    gaps = []
    for params in (problem.init(), free.params, pulled.params):
        first, second = (np.asarray(params[name]) for name in ("A1", "A2"))
        gaps.append(first.T @ first - second @ second.T)
    assert np.linalg.norm(gaps[1] - gaps[0]) < 0.02 * np.linalg.norm(gaps[0])
    # exp(-2 · 0.1 · 0.01 · 3000) is 2.5e-3.
    assert np.linalg.norm(gaps[2]) < 4e-3 * np.linalg.norm(gaps[0])
    assert pulled["layer_balance"][-1, 0] < 0.05 < free["layer_balance"][-1, 0]


@IN_ALL
def test_the_zero_matrix_gives_finite_numbers(problem):
    zero = jax.tree.map(jnp.zeros_like, problem.init())
    for probe in (*OF_A_MATRIX, *([] if problem.linear else [LayerBalance()])):
        assert np.isfinite(measured(probe, problem, zero)).all(), probe
    np.testing.assert_array_equal(measured(SingularValues(), problem, zero), np.zeros(5))
    assert measured(NumericalRank(), problem, zero) == 0
    assert measured(NuclearNormOfMatrix(), problem, zero) == 0
    if not problem.linear:
        np.testing.assert_array_equal(measured(LayerBalance(), problem, zero), np.zeros(problem.depth - 1))


# In a run


@pytest.fixture(scope="module")
def run():
    probes = [*OF_A_MATRIX, LayerBalance(), Components(), DistanceTo("truth", PROBLEMS["depth-3"].truth)]
    return lb.train(PROBLEMS["depth-3"], lb.GradientDescent(0.1), lb.NuclearNorm(1e-2), steps=200, probes=probes)


def test_components_are_the_entries_of_the_product(run):
    found, problem = run, PROBLEMS["depth-3"]
    matrix = as_matrix(problem, found.params)
    np.testing.assert_allclose(found["components"][-1], np.ravel(matrix), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found["distance_to_truth"], found["test_error"], rtol=1e-12)
    assert found["test_error"][-1] < found["test_error"][0]


def test_the_columns_agree_with_each_other(run):
    found = run
    np.testing.assert_allclose(found["nuclear_norm"], found["singular_values"].sum(axis=1), rtol=1e-12)
    ranks = [entropy_rank(sizes) for sizes in found["singular_values"]]
    np.testing.assert_allclose(found["effective_rank"], ranks, rtol=1e-9)
    assert (np.diff(found["singular_values"], axis=1) <= 0).all()
    assert (found["effective_rank"] <= 3 + 1e-6).all()  # the width
    table = found.to_frame()
    np.testing.assert_array_equal(table["singular_values[4]"], found["singular_values"][:, 4])


def test_a_run_on_layers_comes_back_as_it_was(run, tmp_path):
    found = run
    store = lb.Store(tmp_path)
    again = lb.load(found.save(store), store)
    assert again.configuration == found.configuration
    assert (again.milestones, again.outcome) == (found.milestones, found.outcome)
    assert set(again.columns) == set(found.columns)
    for name, values in found.columns.items():
        np.testing.assert_array_equal(again[name], values)
    leaves = jax.tree_util.tree_leaves_with_path(found.params)
    assert len(jax.tree.leaves(again.params)) == len(leaves) == 3
    for stored, (_, layer) in zip(jax.tree.leaves(again.params), leaves, strict=True):
        np.testing.assert_array_equal(stored, layer)


def test_fill_in_is_zero_for_the_observed_table_and_one_for_the_truth():
    problem = lb.problems.MultiplicationTable(6, 0.7, form="product", depth=1, init_kind="zeros")
    probe = lb.probes.FillIn()
    assert float(probe.measure(problem, None, problem.values)) == 0
    unseen = np.asarray(problem.truth)[np.asarray(problem.mask) == 0].max()
    expected = unseen / np.asarray(problem.values).max()
    assert float(probe.measure(problem, None, problem.truth)) == pytest.approx(expected)
