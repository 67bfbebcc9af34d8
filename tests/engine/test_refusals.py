"""What looks alike and is not, what is too large, and what cannot be meant."""

from __future__ import annotations

import time

import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import pytest

import latebloom as lb
from latebloom.engine.scheduler import schedule
from latebloom.engine.training import TrainJob
from latebloom.errors import InputError
from latebloom.probes import AbstractProbe, Components, DistanceTo

PROBLEM = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12, seed=1)
METHOD = lb.GradientDescent(0.1)


class Step(AbstractProbe):
    """A probe whose column is that of the clock."""

    def measure(self, problem, penalty, params):
        return jnp.zeros(())


@pytest.mark.parametrize(
    "method", [lambda seed: lb.Minibatch(METHOD, 4, seed=seed), lambda s: lb.LabelNoise(0.1, seed=s)]
)
def test_large_seeds_of_methods_are_told_apart(method):
    net = lb.problems.TeacherStudent(3, 4, samples=8)
    ends = [lb.train(net, method(seed), steps=5, progress=False).final["train_loss"] for seed in (0, 2**32, 2**40)]
    assert len(set(ends)) == 3


def test_large_seeds_are_told_apart():
    texts = {lb.problems.SparseRecovery(20, 2, 12, seed=2**60 + k).text for k in range(3)}
    assert len(texts) == 3


def test_parts_are_told_apart():
    assert lb.OnParts(lb.L1(1.0), "a b") != lb.OnParts(lb.L1(1.0), "a", "b")


@pytest.mark.parametrize(
    "probes", [[DistanceTo("x", np.ones(20)), DistanceTo("x", np.zeros(20) + 2)], [Step()]], ids=["same label", "clock"]
)
def test_two_probes_of_one_column_are_refused(probes):
    with pytest.raises(InputError, match="two probes would write the column"):
        TrainJob(PROBLEM, METHOD, None, steps=10, probes=probes)


@pytest.mark.parametrize("probe", [Components, "components"], ids=str)
def test_what_is_not_a_probe_is_refused(probe):
    with pytest.raises(InputError, match="probes must be probe records"):
        TrainJob(PROBLEM, METHOD, None, steps=10, probes=[probe])


@pytest.mark.parametrize("steps", [10**20, 10**400])
def test_too_many_steps_are_refused(steps):
    with pytest.raises(InputError, match="steps"):
        TrainJob(PROBLEM, METHOD, None, steps=steps)


def test_steps_written_as_a_float_are_whole_numbers():
    assert lb.train(PROBLEM, METHOD, steps=1e1)["step"].dtype == np.int64  # type: ignore[arg-type]


def test_stop_at_generalised_needs_a_test():
    problem = lb.problems.LinearRegression([[1.0, 1.0]], [2.0])
    with pytest.raises(InputError, match="needs a test measure"):
        lb.train(problem, METHOD, steps=10, stop_at="generalised")
    assert lb.train(problem, METHOD, steps=10).milestones.generalised is None


def test_a_start_that_fits_already_has_an_absolute_error():
    problem = lb.problems.LeastSquares(lambda w: w - 1.0, jnp.ones(3))
    run = lb.train(problem, METHOD, lb.L1(1e-6), steps=100)
    assert run["train_error"].max() < 1e-5
    assert run.milestones.memorised is not None
    assert run.milestones.memorised.lost is None


def test_norms_of_tiny_and_huge_tensors():
    penalty = lb.L2Norm(1.0)
    np.testing.assert_allclose(penalty.subgradient(jnp.array([3e-200, 4e-200])), [0.6, 0.8])
    np.testing.assert_allclose(penalty.prox(jnp.array([3e200, 4e200]), 1.0), [3e200, 4e200])


def test_a_penalty_of_no_strength_moves_nothing():
    np.testing.assert_array_equal(lb.Lp(0.0).prox(jnp.array([1e-300, -2.0, 0.0]), 1.0), [1e-300, -2.0, 0.0])


def test_drawing_leaves_the_backend_alone():
    before = mpl.get_backend()
    mpl.use("svg")
    try:
        lb.train(PROBLEM, METHOD, steps=10).plot()
        assert mpl.get_backend() == "svg"
    finally:
        mpl.use(before)


def test_runs_are_compared_by_identity():
    first, second = (lb.train(PROBLEM, METHOD, steps=10) for _ in range(2))
    assert first == first  # noqa: PLR0124
    assert first != second
    assert len({first, second}) == 2


def test_a_failing_listener_stops_the_others():
    """A full disk at the first record must not cost the rest of a long batch."""

    def full(number: int, rows: object) -> None:
        if number == 0:
            raise OSError(28, "No space left on device")

    long = TrainJob(lb.problems.SparseRecovery(10, 2, 6), METHOD, lb.L1(1e-5), steps=10**9)
    started = time.monotonic()
    with pytest.raises(OSError, match="No space left"):
        schedule([TrainJob(PROBLEM, METHOD, lb.L1(1e-5), steps=1000), long], emit=full)
    assert time.monotonic() - started < 60  # 1e9 steps would take minutes


def test_functions_do_not_outlive_their_use():
    import gc
    import weakref

    def residuals(w):
        return w - 1.0

    problem = lb.problems.LeastSquares(residuals, jnp.ones(2))
    assert "residuals" in problem.text
    seen = weakref.ref(residuals)
    del problem, residuals
    gc.collect()
    assert seen() is None
