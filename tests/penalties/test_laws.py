"""Laws of the penalties, over the whole table of cases."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CONVEX, PENALTIES, PROXIMABLE, SIZE, PenaltyCase, without_a_case
from cases.penalties import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import latebloom as lb
from latebloom.penalties import AbstractPenalty, Sum

# Strengths and step sizes are arguments, so one program a kind of penalty serves all examples.
value_of = jax.jit(lambda penalty, params: penalty.value(params))
subgradient_of = jax.jit(lambda penalty, params: penalty.subgradient(params))
derivative_of = jax.jit(jax.grad(lambda params, penalty: penalty.value(params)))
prox_of = jax.jit(lambda penalty, params, step_size: penalty.prox(params, step_size))
values_of = jax.jit(jax.vmap(lambda penalty, params: penalty.value(params), in_axes=(None, 0)))

# Halves make exact zeros and ties common: the kinks are where laws break.
entries = st.one_of(st.integers(-8, 8).map(lambda n: n / 2), st.floats(-5, 5))
vectors = arrays(np.float64, SIZE, elements=entries)
step_sizes = st.sampled_from([0.01, 0.5, 1.0, 3.0])


def value(case: PenaltyCase, vector: np.ndarray) -> float:
    return float(value_of(case.penalty, case.wrap(jnp.asarray(vector))))


def subgradient(case: PenaltyCase, vector: np.ndarray) -> np.ndarray:
    return case.flat(subgradient_of(case.penalty, case.wrap(jnp.asarray(vector))))


def prox(case: PenaltyCase, vector: np.ndarray, step_size: float) -> np.ndarray:
    return case.flat(prox_of(case.penalty, case.wrap(jnp.asarray(vector)), step_size))


def prox_objective(case: PenaltyCase, candidates: np.ndarray, vector: np.ndarray, step_size: float) -> np.ndarray:
    """`|v - w|²/2 + step_size · penalty(v)` for every row `v`."""
    wrapped = jax.vmap(case.wrap)(jnp.asarray(candidates))
    penalties = np.asarray(values_of(case.penalty, wrapped))
    return 0.5 * ((candidates - vector) ** 2).sum(axis=1) + step_size * penalties


def test_every_penalty_has_a_case():
    records = [case.penalty for case in PENALTIES]
    assert not (sentence := without_a_case(AbstractPenalty, records, "tests/cases/penalties.py")), sentence


@pytest.mark.parametrize("case", PENALTIES, ids=str)
def test_has_prox_is_as_the_table_says(case):
    assert case.penalty.has_prox is case.has_prox


@pytest.mark.parametrize("case", PENALTIES, ids=str)
def test_value_is_zero_at_zero_and_never_negative(case):
    assert value(case, np.zeros(SIZE)) == 0
    assert all(value(case, vector) >= 0 for vector in examples())


@pytest.mark.parametrize("case", PENALTIES, ids=str)
def test_strength_multiplies_the_value(case):
    """Every penalty is linear in its strengths, strength included in value and subgradient alike."""
    doubled = jax.tree.map(lambda leaf: leaf, case.penalty)
    terms = doubled.penalty if isinstance(doubled, lb.OnParts) else doubled
    terms = terms.terms if isinstance(terms, Sum) else (terms,)
    rebuilt = [type(term)(**(term.parameters() | {"strength": 2 * term.strength})) for term in terms]
    twice = rebuilt[0] if len(rebuilt) == 1 else Sum(*rebuilt)
    twice = lb.OnParts(twice, *doubled.parts) if isinstance(doubled, lb.OnParts) else twice
    params = case.wrap(jnp.asarray(examples()[2]))
    assert float(value_of(twice, params)) == pytest.approx(2 * float(value_of(case.penalty, params)), rel=1e-14)
    np.testing.assert_allclose(
        case.flat(subgradient_of(twice, params)), 2 * case.flat(subgradient_of(case.penalty, params)), rtol=1e-14
    )


@pytest.mark.parametrize("case", PENALTIES, ids=str)
def test_subgradient_is_autodiff_away_from_kinks(case):
    """Rung 2: JAX's derivative of the value; no entry is zero, so every penalty here is smooth."""
    vector = np.array([0.7, -1.3, 0.2, -0.05, 2.0, -3.1])
    expected = case.flat(derivative_of(case.wrap(jnp.asarray(vector)), case.penalty))
    np.testing.assert_allclose(subgradient(case, vector), expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("case", PENALTIES, ids=str)
def test_subgradient_is_zero_at_zero(case):
    np.testing.assert_array_equal(subgradient(case, np.zeros(SIZE)), np.zeros(SIZE))


@pytest.mark.parametrize("case", CONVEX, ids=str)
@given(here=vectors, there=vectors)
def test_subgradient_inequality(case, here, there):
    below = value(case, here) + subgradient(case, here) @ (there - here)
    assert value(case, there) >= below - case.slack


@pytest.mark.parametrize("case", PROXIMABLE, ids=str)
@pytest.mark.parametrize("step_size", [0.1, 1.0, 2.5])
def test_prox_beats_its_neighbours(case, step_size):
    """No perturbation of any size, of all entries or of one, and no support change lowers the objective."""
    random = np.random.default_rng(1)
    for vector in examples():
        best = prox(case, vector, step_size)
        moves = random.normal(size=(300, SIZE)) * np.geomspace(1e-4, 10, 300)[:, None]
        alone = moves * (np.arange(SIZE) == random.integers(SIZE, size=300)[:, None])
        switched = np.array([np.where([mask >> i & 1 for i in range(SIZE)], vector, 0) for mask in range(2**SIZE)])
        rivals = np.concatenate([best[None], best + moves, best + alone, switched, best * (switched != 0)])
        heights = prox_objective(case, rivals, vector, step_size)
        assert heights.min() >= heights[0] - 1e-13


@pytest.mark.parametrize("case", [case for case in PROXIMABLE if case.separable], ids=str)
@pytest.mark.parametrize("step_size", [0.1, 1.0, 2.5])
def test_prox_is_the_global_minimum_on_a_grid_entry_by_entry(case, step_size):
    """Rung 2, brute force: needed for l_p, whose objective has two local minima an entry."""
    grid = np.concatenate([[0.0], np.linspace(-6, 6, 40_001)])
    for vector in examples(3):
        best = prox(case, vector, step_size)
        for entry in range(SIZE):
            candidates = np.repeat(best[None], len(grid), axis=0)
            candidates[:, entry] = grid
            heights = prox_objective(case, candidates, vector, step_size)
            least = prox_objective(case, best[None], vector, step_size)[0]
            assert least <= heights.min() + 1e-13
            # The grid's spacing is 3e-4.
            assert abs(grid[heights.argmin()] - best[entry]) <= 3e-4


@pytest.mark.parametrize("case", [case for case in PROXIMABLE if case.convex], ids=str)
@given(here=vectors, there=vectors, step_size=step_sizes)
def test_prox_is_firmly_nonexpansive_if_convex(case, here, there, step_size):
    moved = prox(case, here, step_size) - prox(case, there, step_size)
    assert moved @ moved <= moved @ (here - there) + 1e-12
