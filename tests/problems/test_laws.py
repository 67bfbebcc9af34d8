"""Laws of the problems, over the whole table of cases; what one class alone promises is in its own file."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import PROBLEMS, Mute, ProblemCase, completion, problem_case, without_a_case
from plain import moved

from latebloom.errors import CapabilityError
from latebloom.problems import (
    AbstractEntries,
    AbstractLabelled,
    AbstractLeastSquares,
    AbstractLinear,
    AbstractProblem,
    AbstractRows,
    require_least_squares,
    require_linear,
)

CASES = pytest.mark.parametrize("case", PROBLEMS, ids=str)


def of(kind: type, *, but: Any = lambda problem: False) -> pytest.MarkDecorator:
    """Over the cases whose problem is of this kind."""
    chosen = [case for case in PROBLEMS if isinstance(case.problem, kind) and not but(case.problem)]
    return pytest.mark.parametrize("case", chosen, ids=str)


@jax.jit
def measure(problem: Any, params: Any) -> dict[str, Any]:
    """All that the laws read off one point, as one program."""
    found = {"loss": problem.loss(params), "gradient": problem.gradient(params)}
    found |= {"train_error": problem.train_error(params), "test_error": problem.test_error(params)}
    if isinstance(problem, AbstractLeastSquares):
        found["residuals"] = problem.residuals(params)
    return found | {"autodiff": jax.grad(problem.loss)(params)}


def point(case: ProblemCase) -> Any:
    """Not the start, where many are special: biases are zero there, outputs vanish."""
    return moved(case.problem.init())


@cache
def at(name: str) -> dict[str, Any]:
    """What is measured at the point of a case."""
    return measure(problem_case(name).problem, point(problem_case(name)))


def assert_close(found: Any, expected: Any, slack: float) -> None:
    """Every leaf, relative to the largest entry of all."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    size = max(float(np.abs(leaf).max()) for leaf in jax.tree.leaves(expected))
    for mine, its in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert mine.shape == its.shape
        np.testing.assert_allclose(mine, its, rtol=0, atol=slack * size)


def test_every_problem_has_a_case():
    records = [case.problem for case in PROBLEMS]
    assert not (sentence := without_a_case(AbstractProblem, records, "tests/cases/problems.py")), sentence


# The loss and its gradient


@CASES
def test_the_gradient_is_autodiff(case):
    """Rung 2: the hand-written gradient against JAX's derivative of the loss."""
    assert_close(at(case.name)["gradient"], at(case.name)["autodiff"], case.slack)


@CASES
def test_the_gradient_is_the_slope_of_the_loss(case):
    """Rung 2, without derivatives: the remainder of the first-order model falls as the square of the step, or faster.

    A slope that is off by a share leaves a remainder that falls as the step; so does a kink in between.
    """
    problem, params = case.problem, point(case)
    direction = moved(jax.tree.map(np.zeros_like, params), 1.0, seed=1)
    leaves = zip(jax.tree.leaves(at(case.name)["gradient"]), jax.tree.leaves(direction), strict=True)
    slope = sum(float(np.vdot(g, d)) for g, d in leaves)
    sizes = np.array([1e-3, 1e-4])
    ahead = [jax.tree.map(lambda w, d, t=t: np.asarray(w) + t * np.asarray(d), params, direction) for t in sizes]
    losses = np.array([float(measure(problem, there)["loss"]) for there in ahead])
    remainders = np.abs(losses - float(at(case.name)["loss"]) - sizes * slope)
    order = np.log10(remainders[0] / remainders[1])
    assert order > 1.9


@CASES
def test_loss_and_errors_are_finite_numbers_and_never_negative(case):
    found = at(case.name)
    for name in ("loss", "train_error", "test_error"):
        assert found[name].shape == ()
        assert found[name] >= 0 or (name == "test_error" and not case.problem.has_test)
    assert np.isfinite(found["loss"])
    assert np.isfinite(found["train_error"])
    assert np.isfinite(found["test_error"]) == case.problem.has_test


@CASES
def test_a_start_is_the_same_every_time(case):
    again = case.problem if type(case.problem).__module__.startswith("cases") else case.problem.but()
    jax.tree.map(np.testing.assert_array_equal, case.problem.init(), again.init())
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(case.problem.init()))


# Capabilities


@CASES
def test_capabilities_are_as_the_table_says(case):
    assert case.problem.linear is case.linear
    assert case.problem.degree == case.degree
    if case.linear:
        assert require_linear(case.problem, "this test") is case.problem
    else:
        with pytest.raises(CapabilityError, match=r"this test needs a problem that is linear.*use depth=1"):
            require_linear(case.problem, "this test")
    if isinstance(case.problem, AbstractLeastSquares):
        assert require_least_squares(case.problem, "this test") is case.problem
    else:
        with pytest.raises(CapabilityError, match="this test needs a least-squares problem"):
            require_least_squares(case.problem, "this test")


@of(AbstractLeastSquares)
def test_the_loss_is_half_the_sum_of_squares(case):
    residuals = np.asarray(at(case.name)["residuals"])
    assert residuals.ndim == 1
    assert float(at(case.name)["loss"]) == pytest.approx(0.5 * residuals @ residuals, rel=1e-13)


@of(AbstractLinear)
def test_residuals_are_those_of_the_design(case):
    """The design measures the array row by row; entries have a residual of zero where nothing is observed."""
    problem, params = case.problem, point(case)
    array = np.asarray(problem.end_to_end(params))
    if case.linear:
        np.testing.assert_array_equal(array, params)
    expected = np.asarray(problem.design) @ array.ravel() - np.asarray(problem.targets)
    found = np.asarray(problem.residuals(params))
    if isinstance(problem, AbstractEntries):
        seen = np.asarray(problem.mask).ravel() > 0
        assert (found[~seen] == 0).all()
        found = found[seen]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


@of(AbstractLinear)
def test_errors_are_relative_distances(case):
    problem, params = case.problem, point(case)
    array, truth, targets = (np.asarray(a) for a in (problem.end_to_end(params), problem.truth, problem.targets))
    gap = np.asarray(problem.design) @ array.ravel() - targets
    train = np.linalg.norm(gap) / np.linalg.norm(targets)
    assert float(at(case.name)["train_error"]) == pytest.approx(train, rel=1e-12)
    test = np.linalg.norm(array - truth) / np.linalg.norm(truth)
    assert float(at(case.name)["test_error"]) == pytest.approx(test, rel=1e-12)


@pytest.mark.parametrize("case", [case for case in PROBLEMS if case.linear], ids=str)
def test_the_sharpness_is_the_largest_curvature(case):
    """Rung 2: an SVD of the design, wide or tall, instead of the eigenvalues of the smaller Gram matrix."""
    assert case.problem.sharpness() == pytest.approx(np.linalg.norm(case.problem.design, 2) ** 2, rel=1e-12)


@jax.jit
def model(problem: Any, params: Any) -> Any:
    """What the degree speaks of: scores of all classes, the effective weight, or residuals but for a constant."""
    if isinstance(problem, AbstractLabelled) and problem.labelled:
        return problem.scores(params, "train")
    if hasattr(problem, "problem"):
        return model(problem.problem, params)
    if isinstance(problem, AbstractLeastSquares):
        return problem.residuals(params) - problem.residuals(jax.tree.map(jnp.zeros_like, params))
    return problem.end_to_end(params)


@pytest.mark.parametrize("case", [case for case in PROBLEMS if case.degree], ids=str)
def test_the_model_is_homogeneous_of_its_degree(case):
    params = point(case)
    scaled = np.asarray(model(case.problem, jax.tree.map(lambda leaf: 1.5 * np.asarray(leaf), params)))
    expected = 1.5**case.degree * np.asarray(model(case.problem, params))
    np.testing.assert_allclose(scaled, expected, rtol=0, atol=1e-13 * np.abs(expected).max())
    assert np.abs(expected).max() > 1e-3


@CASES
def test_outputs_move_as_the_residuals_do_or_are_refused(case):
    problem, params = case.problem, point(case)
    if not problem.has_outputs and type(problem).outputs is AbstractProblem.outputs:
        with pytest.raises(CapabilityError, match=f"{type(problem).__name__} gives no outputs on its training set"):
            problem.outputs(params)
        return
    found = problem.outputs(params)
    assert found.ndim == 1
    if isinstance(problem, AbstractLeastSquares):
        np.testing.assert_array_equal(found, problem.residuals(params))


@CASES
def test_the_logarithm_of_the_loss_is_that_or_is_refused(case):
    problem, params = case.problem, point(case)
    if problem.has_log_loss:
        assert float(jax.jit(problem.log_loss)(params)) == pytest.approx(
            np.log(float(at(case.name)["loss"])), abs=1e-12
        )
    else:
        with pytest.raises(CapabilityError, match=f"{type(problem).__name__} gives no logarithm of its loss"):
            problem.log_loss(params)


def test_a_problem_without_any_capability_is_a_problem():
    problem = Mute()
    assert (problem.linear, problem.degree, problem.has_outputs, problem.has_log_loss) == (False, None, False, False)
    assert_close(problem.gradient(problem.init()), -jax.nn.sigmoid(-problem.init()), 1e-15)


# Rows and answers


@jax.jit
def on_rows(problem: Any, params: Any, rows: Any) -> tuple[Any, Any, Any]:
    """Loss, gradient and autodiff on some rows."""
    autodiff = jax.grad(problem.loss_on)(params, rows)
    return problem.loss_on(params, rows), problem.gradient_on(params, rows), autodiff


@of(AbstractRows)
def test_an_epoch_of_minibatches_has_the_full_loss_and_gradient_in_the_mean(case):
    """And on some rows, too, the gradient is JAX's derivative of the loss."""
    problem, params = case.problem, point(case)
    parts = np.split(np.random.default_rng(0).permutation(problem.rows), [4])
    found = [on_rows(problem, params, rows) for rows in parts]
    for _, gradient, autodiff in found:
        assert_close(gradient, autodiff, case.slack)
    shares = [len(rows) / problem.rows for rows in parts]
    assert np.dot(shares, [float(loss) for loss, _, _ in found]) == pytest.approx(
        float(at(case.name)["loss"]), rel=1e-12
    )
    mean = jax.tree.map(lambda few, rest: shares[0] * few + shares[1] * rest, found[0][1], found[1][1])
    assert_close(mean, at(case.name)["gradient"], case.slack)


@partial(jax.jit, static_argnames="part")
def answers(problem: Any, params: Any, part: str) -> dict[str, Any]:
    """All that is counted on a part of the data, as one program."""
    read = {name: getattr(problem, name) for name in ("scores", "correct", "accuracy", "wrong", "class_margins")}
    return {name: function(params, part) for name, function in read.items()}


@of(AbstractLabelled, but=lambda problem: not problem.labelled)
@pytest.mark.parametrize("part", ["train", "test"])
def test_answers_are_counted(case, part):
    """Rung 2: NumPy's argmax, row by row; shares of a whole number of rows, 0 and 1 exactly."""
    found, labels = answers(case.problem, point(case), part), np.asarray(case.problem.labels(part))
    scores = np.asarray(found["scores"])
    assert scores.shape[0] == len(labels)
    right = sum(int(np.argmax(row)) == label for row, label in zip(scores, labels, strict=True))
    assert int(found["correct"]) == right
    assert float(found["accuracy"]) == pytest.approx(right / len(labels), abs=1e-15)
    assert float(found["wrong"]) == pytest.approx(1 - right / len(labels), abs=1e-15)
    if part == "test":
        assert float(at(case.name)["test_error"]) == pytest.approx(1 - right / len(labels), abs=1e-15)
    margins = np.asarray(found["class_margins"])
    assert margins.shape == (len(labels), scores.shape[1] - 1)
    assert (margins.min(axis=1) > 0).sum() == right
    others = [np.delete(row, label) for row, label in zip(scores, labels, strict=True)]
    own = scores[np.arange(len(labels)), labels]
    np.testing.assert_allclose(np.sort(margins), np.sort(own[:, None] - others), atol=1e-12)


def test_residuals_that_are_not_live_are_zero_for_ever():
    problem = completion(shape=(7, 7), observed=30, width=4, init_scale=0.7, truth_norm=3.0)
    residuals = problem.residuals(jax.tree.map(lambda w: w + 1.0, problem.init()))
    others = np.setdiff1d(np.arange(residuals.size), problem.live_residuals())
    assert len(others) == 19
    assert not np.asarray(residuals)[others].any()
