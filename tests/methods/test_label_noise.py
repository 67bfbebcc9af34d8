"""Label-noise SGD: step by step against NumPy and PyTorch with the same noise, repeatability, stationary law."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb

RATE, NOISE, STEPS = 2e-3, 0.7, 60


def problem():
    return lb.problems.DiagonalRegression(8, 5, 2, seed=3)


def draws(batch: str, count: int) -> list[tuple[int, np.ndarray]]:
    """The samples and the noise of every step, from the documented key."""
    key, found = jax.random.key(11), []
    for _ in range(STEPS):
        key, sample_key, noise_key = jax.random.split(key, 3)
        index = int(jax.random.randint(sample_key, (), 0, count))
        shape = () if batch == "one" else (count,)
        found.append((index, np.asarray(jax.random.normal(noise_key, shape))))
    return found


@pytest.mark.parametrize("batch", ["one", "full"])
def test_steps_are_those_of_numpy(batch):
    """Eq. 6 written out: the gradient of `(f(x_i) - y_i + ξ)²` by hand."""
    given = problem()
    scale = np.sqrt(2 / 5)
    data, labels = np.asarray(given.design) / scale, np.asarray(given.targets) / scale
    u, v = np.asarray(given.init())
    for index, noise in draws(batch, 5):
        rows = slice(index, index + 1) if batch == "one" else slice(None)
        gap = data[rows] @ (u * u - v * v) - labels[rows] + NOISE * noise
        slope = 2 * gap @ data[rows] / len(data[rows])
        u, v = u - RATE * slope * 2 * u, v + RATE * slope * 2 * v
    run = lb.train(given, lb.LabelNoise(RATE, noise=NOISE, batch=batch, seed=11), steps=STEPS)
    assert np.allclose(run.params, [u, v], rtol=1e-12)


def test_steps_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    given = problem()
    scale = np.sqrt(2 / 5)
    data = torch.tensor(np.asarray(given.design) / scale)
    labels = torch.tensor(np.asarray(given.targets) / scale)
    weights = torch.tensor(np.asarray(given.init()), requires_grad=True)
    optimiser = torch.optim.SGD([weights], lr=RATE)
    for index, noise in draws("one", 5):
        optimiser.zero_grad()
        output = data[index] @ (weights[0] ** 2 - weights[1] ** 2)
        (output - labels[index] + NOISE * float(noise)).square().backward()
        optimiser.step()
    run = lb.train(given, lb.LabelNoise(RATE, noise=NOISE, seed=11), steps=STEPS)
    assert np.allclose(run.params, weights.detach().numpy(), rtol=1e-12)


def test_a_run_repeats_to_the_bit_and_another_seed_does_not():
    runs = [lb.train(problem(), lb.LabelNoise(RATE, noise=NOISE, seed=seed), steps=STEPS) for seed in (1, 1, 2)]
    assert (runs[0].params == runs[1].params).all()
    assert not np.allclose(runs[0].params, runs[2].params)


def test_the_noise_does_not_depend_on_when_records_are_made():
    """A run in a batch, or with other records, takes the same steps: the key travels with the parameters."""
    method = lb.LabelNoise(RATE, noise=NOISE, seed=5)
    alone = lb.train(problem(), method, steps=200)
    both = method, lb.LabelNoise(RATE, noise=NOISE, seed=6)
    batch = lb.run([lb.TrainJob(problem(), one, steps=200, records_per_decade=3) for one in both])
    assert (alone.params == batch[0].params).all()


def test_without_noise_the_full_batch_is_gradient_descent():
    noisy, plain = (
        lb.train(problem(), method, lb.L2(0.1), steps=STEPS)
        for method in (lb.LabelNoise(RATE, noise=0.0, batch="full"), lb.GradientDescent(RATE))
    )
    assert np.allclose(noisy.params, plain.params, rtol=1e-12)


def test_the_stationary_spread_of_a_linear_model():
    """Closed form: on `(w - y + ξ)²` the step is `w ← (1 - 2η) w - 2η ξ`, with variance `η σ² / (1 - η)`."""
    rate, noise = 0.05, 0.5
    given = lb.problems.LinearRegression([[np.sqrt(2.0)]], [0.0], truth=[0.0], init=[0.0])
    method = lb.LabelNoise(rate, noise=noise / 1.0, seed=0)
    state, params, seen = method.init(given, None, given.init()), given.init(), []

    def step(carry, _):
        params, state = method.step(given, None, *carry)
        return (params, state), params

    _, seen = jax.lax.scan(step, (params, state), None, length=200_000)
    # label_scale is 1 here, so the noise is `noise` in the residual √2 w: ξ = noise / √2.
    expected = rate * noise**2 / 2 / (1 - rate)
    assert float(jnp.var(seen[1000:])) == pytest.approx(expected, rel=0.03)  # 2e4 independent values: 1 %


def test_label_scales():
    """The gradient with respect to a label is `-label_scale` times that with respect to a residual."""
    cases = [
        problem(),
        lb.problems.DiagonalNet(8, 6, cosines=(0, 2), sines=(5,)),
        lb.problems.ReluRegression(),
        lb.problems.MultiplicationTable(6, 0.5),
        lb.problems.LinearRegression([[1.0, 2.0]], [1.0]),
    ]
    scales = [np.sqrt(2 / 5), 6**-0.5, lb.problems.ReluRegression().samples ** -0.5, np.sqrt(2 / 18), 1.0]
    assert [case.label_scale for case in cases] == pytest.approx(scales)
