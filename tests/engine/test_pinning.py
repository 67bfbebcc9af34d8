"""Milestones are pinned to the exact step: that of brute force."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from cases import CURVE_RATE, curve
from plain import RATE, first_below, stable_below

import latebloom as lb
from latebloom.engine.outcome import Ending
from latebloom.engine.run import Run
from latebloom.problems import AbstractProblem

# level, amplitude, frequency, tilt of the test error against the step; threshold; steps
CURVES = {
    "crosses, is lost, comes back": ((0.6, 0.5, 5e-3, 0.0), 0.3, 2_000),
    "crosses, is lost": ((0.6, 0.5, 5e-3, 0.0), 0.3, 1_200),
    "crosses once": ((0.6, 0.5, 5e-3, 0.0), 0.3, 700),
    "crosses three times": ((0.6, 0.5, 1e-2, 0.0), 0.3, 1_650),
    "below from step 0": ((0.1, 0.05, 5e-3, 0.0), 0.3, 500),
    "below at step 0, lost, comes back": ((0.6, -0.5, 5e-3, 0.0), 0.3, 1_400),
    "never": ((0.6, 0.25, 5e-3, 0.0), 0.3, 500),
    "a slow slope": ((0.6, 0.0, 0.0, 2e-4), 0.3, 2_000),
}
TRAIN_THRESHOLD = 0.05


def run_curve(shape, threshold: float, steps: int) -> tuple[Run, np.ndarray]:
    """The run, and its test error at every step by brute force: one step of JAX at a time, in NumPy's arithmetic."""
    problem = curve(*shape)
    run = lb.train(
        problem, lb.GradientDescent(CURVE_RATE), steps=steps, memorised_at=TRAIN_THRESHOLD, generalised_at=threshold
    )
    w, left = 0.0, []
    for _ in range(steps + 1):
        left.append(1.0 - w)
        w = w - CURVE_RATE * (w - 1.0)
    level, amplitude, frequency, tilt = shape
    step = np.log(np.abs(left)) / np.log(1 - CURVE_RATE)
    return run, level + amplitude * np.cos(frequency * step) - tilt * step


@pytest.mark.parametrize(("shape", "threshold", "steps"), CURVES.values(), ids=CURVES.keys())
def test_pinned_crossings_are_the_exact_steps(shape, threshold, steps):
    run, values = run_curve(shape, threshold, steps)
    milestone = run.milestones.generalised
    assert milestone.step == first_below(values, threshold)
    stable = None if milestone.stable is None else milestone.stable.step
    assert stable == stable_below(values, threshold)
    assert milestone.censored is (first_below(values, threshold) is None)
    assert milestone.last_step == steps
    crossings = [crossing for crossing in (milestone.first, milestone.stable) if crossing is not None]
    for crossing in crossings:
        assert crossing.pinned
        assert crossing.bracket[0] <= crossing.step <= crossing.bracket[1]
        assert crossing.step in run["step"]
    lost = first_below(-values[milestone.step :], -threshold - 1e-300) if crossings else None
    if lost:  # found at the first record after the exact step
        exact = milestone.step + lost
        assert exact <= milestone.lost
        assert not ((run["step"] >= exact) & (run["step"] < milestone.lost)).any()
    else:
        assert milestone.lost is None
    assert run.milestones.memorised.step == int(np.ceil(np.log(TRAIN_THRESHOLD) / np.log(1 - CURVE_RATE)))


def test_a_crossing_at_the_last_step_is_seen_and_one_step_less_is_censored():
    shape = CURVES["crosses once"][0]
    _, values = run_curve(shape, 0.3, 700)
    exact = first_below(values, 0.3)
    at_last, _ = run_curve(shape, 0.3, exact)
    before, _ = run_curve(shape, 0.3, exact - 1)
    assert at_last.milestones.generalised.step == exact == at_last.milestones.generalised.stable.step
    assert before.milestones.generalised.censored
    assert str(before.milestones.generalised) == f"not generalised by step {exact - 1:,} (test_error ≤ 0.3)"


def test_a_curve_that_crosses_many_times_between_two_records_is_pinned_within_its_bracket():
    """A ripple of 7 steps under records 30 steps apart: the first step below, and the step after the last above."""
    run, values = run_curve((1.0, 0.02, 0.9, 1e-3), 0.3, 1_200)
    first, stable = run.milestones.generalised.first, run.milestones.generalised.stable
    low, high = first.bracket
    assert high - low > 7
    assert first.step == low + 1 + first_below(values[low + 1 : high + 1], 0.3)
    low, high = stable.bracket
    above = np.flatnonzero(values[: high + 1] > 0.3)[-1]
    assert stable.step == above + 1
    assert first.step < stable.step


def test_pinning_runs_only_the_brackets_again():
    """A bracket is 4 % of the steps before it: pinning the first and the stable crossing costs no more than that."""
    run, _ = run_curve(*CURVES["crosses, is lost, comes back"])
    found = (run.milestones.memorised, run.milestones.generalised)
    brackets = [crossing.bracket for milestone in found for crossing in (milestone.first, milestone.stable)]
    assert 2_000 < run.provenance["gradients"] <= 2_000 + sum(high - low for low, high in brackets)


def test_without_a_test_there_is_no_generalisation():
    run = lb.train(lb.problems.LinearRegression([[1.0, 2.0]], [3.0]), lb.GradientDescent(RATE), steps=100)
    assert run.milestones.generalised is None
    assert run.milestones.sharpness is None
    assert not run.milestones.memorised.censored
    assert np.isnan(run["test_error"]).all()


class Counted(AbstractProblem):
    """A problem whose parameter counts the steps: `rows` answers are wrong at first, one less a step down to `left`.

    Its errors are shares of a power of two, so that they hit thresholds exactly. From step `leaps` on its loss is
    `loss_then`.
    """

    rows: float
    left: float
    first_loss: float = 1.0
    leaps: float = np.inf
    loss_then: float = 1.0

    def init(self):
        return jnp.zeros(())

    def gradient(self, params):
        return -jnp.ones(())

    def loss(self, params):
        return jnp.where(params < self.leaps, self.first_loss, self.loss_then)

    def train_error(self, params):
        return jnp.maximum(self.rows - params, self.left) / 1024

    test_error = train_error


def count(steps: int, **options) -> lb.Run:
    asked = {key: options.pop(key) for key in ("memorised_at", "generalised_at", "stop_at") if key in options}
    return lb.train(Counted(**options), lb.GradientDescent(1.0), steps=steps, progress=False, **asked)


@pytest.mark.parametrize("which", ["memorised", "generalised"])
def test_a_counted_error_that_comes_to_the_threshold_and_stays_there_is_below_it(which):
    """5 of 1,024 answers are wrong from step 905 on, between two records: at the threshold is below it."""
    at = {"memorised_at": 5 / 1024, "generalised_at": 5 / 1024}
    run = count(2_000, rows=910.0, left=5.0, **at)
    milestone = getattr(run.milestones, which)
    assert milestone.first.pinned
    assert milestone.first.step == milestone.stable.step == 905
    assert milestone.first.bracket[0] < 904
    assert milestone.first.bracket[1] > 905
    assert milestone.lost is None
    assert getattr(count(2_000, rows=910.0, left=6.0, **at).milestones, which).censored
    # The record that saw it ended the run, and only the bracket before it was run again.
    stopped = count(2_000, rows=910.0, left=5.0, stop_at=which, **at)
    low, high = milestone.first.bracket
    assert stopped.outcome.ending is Ending.STOPPED
    assert stopped["step"][-1] == high
    assert stopped.provenance["gradients"] <= high + 4 * (high - low)


@pytest.mark.parametrize(("first_loss", "limit"), [(0.25, 1e8), (1.0, 1e8), (100.0, 1e10)])
def test_a_loss_above_1e8_times_the_first_one_is_divergence_and_one_at_it_is_not(first_loss, limit):
    """Of a first loss below 1 it is 1e8: a start that fits already must not make every later loss a divergence."""
    options = {"rows": 10.0, "left": 5.0, "first_loss": first_loss, "leaps": 333.0}
    run = count(1_000, loss_then=limit, **options)
    assert run.outcome.ending is Ending.FINISHED
    run = count(1_000, loss_then=1.001 * limit, **options)
    assert run.outcome.ending is Ending.DIVERGED
    assert run.outcome.step == 333
    assert run["step"][-1] < 333
