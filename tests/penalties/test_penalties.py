"""Laws of the penalties, over the whole table of cases."""

from __future__ import annotations

import cvxpy
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CONVEX, PENALTIES, PROXIMABLE, SIZE, PenaltyCase
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import latebloom as lb
from latebloom.errors import CapabilityError, InputError, UnknownNameError
from latebloom.penalties import Sum

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


def examples(count: int = 6) -> list[np.ndarray]:
    """Vectors of several sizes, with exact zeros among their entries."""
    random = np.random.default_rng(0)
    drawn = [random.normal(size=SIZE) * scale for scale in np.geomspace(0.1, 2, count)]
    for vector in drawn[::2]:
        vector[random.integers(SIZE)] = 0.0
    return drawn


def test_the_table_covers_every_penalty_of_the_command_line():
    covered = {case.penalty.name() for case in PENALTIES}
    assert covered >= set(lb.penalties.TABLE)


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


@given(vector=vectors, step_size=step_sizes)
def test_moreau_identity_of_l1(vector, step_size):
    """Rung 1: the conjugate of `s|.|_1` is the indicator of a box, whose prox is clipping."""
    case = PENALTIES[0]
    bound = step_size * case.penalty.strength
    residue = vector - prox(case, vector, step_size)
    np.testing.assert_allclose(residue, np.clip(vector, -bound, bound), rtol=0, atol=1e-15)


@pytest.mark.parametrize("step_size", [1e-3, 0.3, 2.0])
def test_prox_of_l2_is_the_closed_form(step_size):
    vector = examples()[3]
    np.testing.assert_allclose(
        prox(PenaltyCase("", lb.L2(0.7)), vector, step_size), vector / (1 + 0.7 * step_size), rtol=1e-15
    )


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


@pytest.mark.parametrize("kind", [lb.L1, lb.L2, lb.L2Norm, lb.Lp, lb.NuclearNorm], ids=lambda kind: kind.name())
@pytest.mark.parametrize(
    ("strength", "message"),
    [
        (-1e-9, r"strength=-1e-09 is not allowed: strength must be finite and at least 0"),
        (float("nan"), r"strength=nan is not allowed"),
        (float("inf"), r"strength=inf is not allowed"),
        ("strong", r"strength must be a number, not 'strong': write it in digits"),
        (None, r"strength must be a number, not None"),
    ],
)
def test_bad_strengths_are_refused_at_construction(kind, strength, message):
    with pytest.raises(InputError, match=message):
        kind(strength)


@pytest.mark.parametrize("p", [0, 1, -0.5, 2, float("nan")])
def test_lp_is_for_exponents_between_0_and_1(p):
    with pytest.raises(InputError, match=r"p=.* is not allowed: p must be finite and above 0 and below 1"):
        lb.Lp(0.1, p=p)


def test_an_unknown_part_suggests_the_closest():
    params = {"embedding": jnp.ones(2), "bias": jnp.ones(1)}
    with pytest.raises(UnknownNameError, match=r"unknown part 'embeding': did you mean 'embedding'\? Known: bias, emb"):
        lb.OnParts(lb.L1(0.1), "embeding").value(params)


def test_parts_need_named_parameters():
    with pytest.raises(CapabilityError, match=r"needs parameters in a dictionary, not .*: name them"):
        lb.OnParts(lb.L1(0.1), "embedding").value(jnp.ones(2))


def test_on_parts_of_nothing_is_refused():
    with pytest.raises(InputError, match=r"at least one part: OnParts\(L1\(1e-5\), 'embedding'\)"):
        lb.OnParts(lb.L1(0.1))


def test_a_sum_of_one_is_refused():
    with pytest.raises(InputError, match="two terms or more, got 1: use the penalty itself"):
        Sum(lb.L1(0.1))


def test_a_sum_with_something_else_is_refused():
    with pytest.raises(InputError, match="penalt"):
        _ = lb.L1(0.1) + 3


@pytest.mark.parametrize("case", [case for case in PENALTIES if not case.has_prox], ids=str)
def test_a_penalty_without_a_prox_says_what_to_use(case):
    with pytest.raises(CapabilityError, match=r"needs a penalty with a prox; .* \+ .* has none: use GradientDescent"):
        case.penalty.prox(case.wrap(jnp.ones(SIZE)), 0.1)
