"""The stabilised solver: its polynomial, its order, its cost, and its place among diffrax's parts."""

from __future__ import annotations

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optimistix
import pytest

from latebloom.flows.gradient import chebyshev
from latebloom.flows.gradient.chebyshev import DAMPING, INTERVAL, SAFETY, RungeKuttaChebyshev, _stages

COUNTS = (2, 3, 4, 5, 7, 10, 31, 100, 317, 1000)


def decay(size: int = 60, stiffness: float = 1e3, seed: int = 0) -> jax.Array:
    """A symmetric matrix with eigenvalues from 1 to `stiffness`."""
    basis, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))
    return jnp.asarray(basis @ np.diag(np.geomspace(1.0, stiffness, size)) @ basis.T)


def linear(t, y, matrix):
    return -matrix @ y


def solve(field, y0, until, *, args=None, rtol=1e-6, solver=None, **options):
    """`diffeqsolve` with numbers as arrays: Python's would be compiled in, each anew."""
    rtol, until, dt0 = jnp.asarray(rtol), jnp.asarray(until), jnp.asarray(options.pop("dt0", 1e-4))
    controller = options.pop("stepsize_controller", diffrax.PIDController(rtol=rtol, atol=1e-3 * rtol))
    solver = RungeKuttaChebyshev() if solver is None else solver
    return diffrax.diffeqsolve(
        diffrax.ODETerm(field), solver, jnp.zeros_like(until), until, dt0, y0, args,
        stepsize_controller=controller, max_steps=100_000, throw=True, **options,
    )  # fmt: skip


# The stability polynomial


def polynomial(count: int, z: np.ndarray) -> np.ndarray:
    """`a + b T_s(w0 - w1 z)` for `z` in the stability interval, by NumPy's own Chebyshev series."""
    series = np.polynomial.Chebyshev.basis(count)
    w0 = 1 + DAMPING / count**2
    value, slope, curvature = series(w0), series.deriv(1)(w0), series.deriv(2)(w0)
    b = curvature / slope**2
    return 1 - b * value + b * series(w0 - slope / curvature * z)


@jax.jit
def amplification(count: jax.Array, z: jax.Array) -> jax.Array:
    """What one step of length 1 makes of 1 on `y' = -z y`, for every `z`."""
    field = lambda t, y: -z * y  # noqa: E731
    start = jnp.ones_like(z)
    return start + _stages(field, (0.0, 1.0), jnp.array(1.0), start, field(0.0, start), count)


@pytest.mark.parametrize("count", COUNTS)
def test_a_step_is_the_chebyshev_polynomial(count):
    """Rung 1."""
    z = np.linspace(0, INTERVAL * (count**2 - 1), 2001)
    # Roundings of the three-term recursion add up as s²: measured 3e-12 at 1000 stages.
    np.testing.assert_allclose(amplification(jnp.array(count), jnp.asarray(z)), polynomial(count, z), atol=1e-10)


@pytest.mark.parametrize("count", COUNTS)
def test_it_is_stable_on_the_claimed_interval_and_not_much_longer(count):
    end = INTERVAL * (count**2 - 1)
    inside = np.abs(amplification(jnp.array(count), jnp.linspace(0, end, 20_001)))
    assert inside.max() <= 1 + 1e-11
    # Damped: strictly below 1 once away from 0, where the exact solution is 1 too.
    assert inside[200:].max() < 1 - 1e-3
    after = np.abs(amplification(jnp.array(count), jnp.linspace(end, 1.2 * end, 2001)))
    assert (after > 1).any()


def test_the_stages_are_the_fewest_that_are_stable():
    stiffness = np.geomspace(1e-3, 6e5, 200)
    counts = np.asarray(chebyshev.stages_for(jnp.asarray(stiffness)))
    assert counts.min() == 2
    assert (stiffness <= INTERVAL * (counts**2 - 1) * (1 + 1e-12)).all()
    fewer = counts[counts > 2] - 1
    assert (stiffness[counts > 2] > INTERVAL * (fewer**2 - 1)).all()


# Order


def pendulum(t, y, args):
    return jnp.array([y[1], -jnp.sin(y[0]) - 0.3 * y[1]])


def driven(t, y, args):
    """Its solution is `sin(3t) + exp(-t)` from 1."""
    return -y + 3 * jnp.cos(3 * t) + jnp.sin(3 * t)


def end_errors(field, y0, exact, counts) -> np.ndarray:
    ends = [solve(field, y0, 2.0, dt0=2.0 / n, stepsize_controller=diffrax.ConstantStepSize()).ys[-1] for n in counts]
    return np.array([float(jnp.abs(end - exact).max()) for end in ends])


def slope(x, y) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def test_the_order_is_two():
    start, counts = jnp.array([1.0, 0.5]), np.array([40, 80, 160, 320])
    exact = solve(pendulum, start, 2.0, rtol=1e-12, solver=diffrax.Dopri8()).ys[-1]
    assert slope(counts, end_errors(pendulum, start, exact, counts)) == pytest.approx(-2, abs=0.1)


def test_the_order_is_two_where_time_enters():
    counts = np.array([40, 80, 160, 320])
    exact = jnp.array([np.sin(6.0) + np.exp(-2.0)])
    assert slope(counts, end_errors(driven, jnp.array([1.0]), exact, counts)) == pytest.approx(-2, abs=0.1)


@pytest.mark.parametrize("stiffness", [1.0, 1e4])
def test_the_order_is_two_with_many_stages(stiffness):
    """The stiff component is at rest, so only the count of stages knows of it."""

    def field(t, y, rate):
        return jnp.array([-jnp.sin(y[0]), -rate * y[1]])

    exact = 2 * np.arctan(np.tan(0.75) * np.exp(-2.0))
    counts, errors = np.array([40, 80, 160, 320]), []
    for n in counts:
        run = solve(
            field, jnp.array([1.5, 0.0]), 2.0, args=jnp.asarray(stiffness), dt0=2.0 / n,
            stepsize_controller=diffrax.ConstantStepSize(),
        )  # fmt: skip
        errors.append(abs(float(run.ys[-1][0]) - exact))
    assert slope(counts, errors) == pytest.approx(-2, abs=0.1)


@pytest.mark.parametrize("field", [pendulum, driven])
def test_the_error_estimate_is_of_third_order(field):
    solver, term, start = RungeKuttaChebyshev(), diffrax.ODETerm(field), jnp.array([1.0, 0.5])

    @jax.jit
    def estimate(h):
        memory = solver.init(term, 0.3, 0.3 + h, start, None)
        return jnp.linalg.norm(solver.step(term, jnp.array(0.3), 0.3 + h, start, None, memory, False)[1])

    lengths = np.array([0.1, 0.05, 0.025, 0.0125])
    estimates = [float(estimate(h)) for h in lengths]
    assert slope(lengths, estimates) == pytest.approx(3, abs=0.15)
    assert solver.error_order(term) == 3


# Among diffrax's parts


def exact_decay(matrix, start, t) -> np.ndarray:
    values, vectors = np.linalg.eigh(np.asarray(matrix))
    return vectors @ (np.exp(-t * values) * (vectors.T @ np.asarray(start)))


def test_the_controller_makes_the_tolerance():
    matrix, start = decay(), jnp.ones(60)
    errors = []
    for rtol in (1e-3, 1e-4, 1e-5, 1e-6):
        run = solve(linear, start, 1.0, args=matrix, rtol=rtol)
        errors.append(np.abs(run.ys[-1] - exact_decay(matrix, start, 1.0)).max())
    # The error a step is of third order, that of the whole run of second: tol^(2/3).
    assert 0.5 < slope([1e-3, 1e-4, 1e-5, 1e-6], errors) < 1.2
    assert errors[-1] < 1e-5


def test_dense_output_is_of_third_order_between_the_steps():
    matrix, start = decay(), jnp.ones(60)
    run = solve(linear, start, 1.0, args=matrix, rtol=1e-7, saveat=diffrax.SaveAt(dense=True, t1=True))
    for t in (0.01, 0.123, 0.5, 0.987):
        # Ten times the tolerance of a step, accumulated over the run.
        np.testing.assert_allclose(run.evaluate(t), exact_decay(matrix, start, t), atol=1e-5)


def test_an_event_is_located_by_a_root_finder():
    event = diffrax.Event(
        lambda t, y, args, **_: y[0] - 0.25, optimistix.Newton(rtol=1e-8, atol=1e-8, norm=optimistix.max_norm)
    )
    run = solve(lambda t, y, args: -y * jnp.array([1.0, 1e3]), jnp.ones(2), 10.0, rtol=1e-8, event=event)
    assert run.result == diffrax.RESULTS.event_occurred
    assert float(run.ts[-1]) == pytest.approx(np.log(4), abs=1e-5)


@pytest.mark.parametrize("meter", [diffrax.NoProgressMeter(), diffrax.TextProgressMeter(minimum_increase=0.5)])
def test_progress_meters_work(meter, capsys):
    run = solve(linear, jnp.ones(60), 1.0, args=decay(), rtol=1e-4, progress_meter=meter)
    jax.block_until_ready(run.ys)
    jax.effects_barrier()
    assert ("100.00%" in capsys.readouterr().out) == isinstance(meter, diffrax.TextProgressMeter)


def test_any_tree_of_parameters():
    matrix, start = decay(), jnp.ones(60)
    tree = {"a": start[:10], "b": (start[10:30].reshape(4, 5), start[30:])}

    def field(t, y, args):
        flat = jnp.concatenate([y["a"], y["b"][0].ravel(), y["b"][1]])
        moved = -args @ flat
        return {"a": moved[:10], "b": (moved[10:30].reshape(4, 5), moved[30:])}

    run, flat = solve(field, tree, 1.0, args=matrix), solve(linear, start, 1.0, args=matrix)
    ended = np.concatenate([run.ys["a"][-1], run.ys["b"][0][-1].ravel(), run.ys["b"][1][-1]])
    np.testing.assert_allclose(ended, flat.ys[-1], rtol=1e-9, atol=1e-12)


def test_single_precision_stays_single():
    matrix, start = decay().astype(jnp.float32), jnp.ones(60, jnp.float32)
    run = solve(linear, start, jnp.float32(1.0), args=matrix, rtol=1e-3, dt0=jnp.float32(1e-4))
    assert run.ys.dtype == jnp.float32
    np.testing.assert_allclose(run.ys[-1], exact_decay(decay(), np.ones(60), 1.0), atol=2e-3)


def test_backwards_in_time():
    run = solve(lambda t, y, args: jnp.sin(y), jnp.array([1.0]), 1.0, rtol=1e-8)
    back = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: jnp.sin(y)), RungeKuttaChebyshev(), 1.0, 0.0, -1e-3, run.ys[-1],
        stepsize_controller=diffrax.PIDController(rtol=1e-8, atol=1e-10),
    )  # fmt: skip
    np.testing.assert_allclose(back.ys[-1], [1.0], atol=1e-5)


# Spectral radius and cost


@pytest.mark.parametrize("seed", range(8))
def test_the_spectral_radius_is_found_within_the_safety(seed):
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(80, 80))
    matrix = jnp.asarray(matrix @ matrix.T / 80)
    term = diffrax.ODETerm(linear)
    radius = float(RungeKuttaChebyshev().init(term, 0.0, 1.0, jnp.asarray(random.normal(size=80)), matrix).radius)
    true = float(np.linalg.eigvalsh(matrix)[-1])
    assert true / SAFETY <= radius <= true * (1 + 1e-12)


def test_a_start_at_rest_finds_the_radius_too():
    """No slope to begin the power iterations with."""
    term = diffrax.ODETerm(linear)
    radius = float(RungeKuttaChebyshev().init(term, 0.0, 1.0, jnp.zeros(60), decay()).radius)
    assert radius >= 1e3 / SAFETY


SPENT = diffrax.SaveAt(t1=True, solver_state=True)


def test_the_cost_grows_as_the_root_of_the_stiffness():
    """Exponent 1/2 over three decades; every stable explicit method of fixed stages has 1."""
    # The initial layer costs the same number of steps a decade: the smooth part, from where it is over, is what grows.
    sizes = np.geomspace(1e4, 1e7, 4)
    field = lambda t, y, rate: jnp.array([-jnp.sin(y[0]), -rate * (y[1] - jnp.cos(t))])  # noqa: E731
    spent = [
        int(
            solve(
                field, jnp.array([1.5, 1.0]), 5.0, args=jnp.asarray(size), rtol=1e-3, saveat=SPENT
            ).solver_state.gradients
        )
        for size in sizes
    ]
    assert slope(sizes, spent) == pytest.approx(0.5, abs=0.1)


def test_the_gradients_are_counted_right():
    """Every call of the field in a step, and two for the product with the Jacobian."""
    matrix, start, solver, term = decay(), jnp.ones(60), RungeKuttaChebyshev(), diffrax.ODETerm(linear)
    memory = solver.init(term, 0.0, 0.1, start, matrix)
    assert int(memory.gradients) == 1 + 2 * chebyshev.FIRST
    after = solver.step(term, jnp.array(0.0), jnp.array(0.1), start, matrix, memory, False)[3]
    stages = int(chebyshev.stages_for(0.1 * SAFETY * memory.radius))
    assert int(after.gradients - memory.gradients) == 2 + stages


def test_the_field_at_the_end_of_a_step_begins_the_next_one():
    """And is computed anew if the point was moved in between."""
    matrix, start, solver, term = decay(), jnp.ones(60), RungeKuttaChebyshev(), diffrax.ODETerm(linear)
    memory = solver.init(term, 0.0, 0.1, start, matrix)
    step = lambda at, memory, jump: solver.step(term, 0.0, 0.1, at, matrix, memory, jnp.array(jump))  # noqa: E731
    once, _, _, after, _ = step(start, memory, False)
    np.testing.assert_allclose(after.slope, linear(0.1, once, matrix), rtol=1e-14)
    moved = once + 0.5
    right = eqx.tree_at(lambda m: m.slope, after, linear(0.1, moved, matrix))
    np.testing.assert_allclose(step(moved, after, True)[0], step(moved, right, False)[0], rtol=1e-12)
    assert not np.allclose(step(moved, after, True)[0], step(moved, after, False)[0])


def test_a_radius_that_has_settled_is_not_refined():
    matrix, start, solver, term = decay(), jnp.ones(60), RungeKuttaChebyshev(), diffrax.ODETerm(linear)
    memory = solver.init(term, 0.0, 0.1, start, matrix)
    again = solver.refresh(term, 0.0, start, matrix, memory)
    assert int(again.gradients - memory.gradients) == 2
    # A vector that has nothing to do with the stiffest direction needs all iterations that there are, or many.
    lost = eqx.tree_at(lambda m: (m.radius, m.vector), memory, (memory.radius / 1e3, jnp.eye(60)[0]))
    found = solver.refresh(term, 0.0, start, matrix, lost)
    assert 4 < int(found.gradients - lost.gradients) <= 2 * chebyshev.AGAIN
    assert float(found.radius) > 100 * float(lost.radius)


# Limits


def test_a_step_of_too_many_stages_is_refused():
    matrix, start, term = decay(), jnp.ones(60), diffrax.ODETerm(linear)
    solver = RungeKuttaChebyshev(max_stages=5)
    memory = solver.init(term, 0.0, 1.0, start, matrix)
    longest = float(solver.longest_step(memory, jnp.array(5.0)))
    refused = solver.step(term, jnp.array(0.0), jnp.array(1.1 * longest), start, matrix, memory, False)
    accepted = solver.step(term, jnp.array(0.0), jnp.array(0.99 * longest), start, matrix, memory, False)
    assert np.isinf(refused[1]).all()
    assert np.isfinite(accepted[1]).all()


def test_few_stages_only_cost_more_steps():
    matrix, start = decay(), jnp.ones(60)
    few = solve(linear, start, 1.0, args=matrix, rtol=1e-3, solver=RungeKuttaChebyshev(max_stages=5))
    many = solve(linear, start, 1.0, args=matrix, rtol=1e-3)
    np.testing.assert_allclose(few.ys[-1], exact_decay(matrix, start, 1.0), atol=1e-2)
    assert few.stats["num_steps"] > 2 * many.stats["num_steps"]


def test_ordinary_solvers_pay_for_stiffness_and_this_one_does_not():
    """The mechanism: with two stages only, the same method needs as many steps as any explicit one."""
    steps = {
        (stages, size): int(
            solve(linear, jnp.ones(60), 1.0, args=decay(stiffness=size), rtol=1e-3,
                  solver=RungeKuttaChebyshev(max_stages=stages)).stats["num_steps"]
        )
        for stages in (2, 1000) for size in (1e2, 1e4)
    }  # fmt: skip
    assert steps[2, 1e4] > 20 * steps[2, 1e2]
    assert steps[1000, 1e4] < 5 * steps[1000, 1e2]
