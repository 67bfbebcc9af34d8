"""Networks that classify rows: minibatches of any of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom.problems import EmbeddingMLP, ImageClassifier, ModularClassifier

NETWORKS = {
    "modular": lambda: ModularClassifier(11, 24, init_scale=2.0, seed=1),
    "embedding": lambda: EmbeddingMLP(11, 24, dimension=8, precision="float64", seed=1),
    "images": lambda: ImageClassifier(train=60, width=24, precision="float64", seed=1),
    "images, squared": lambda: ImageClassifier(train=60, width=24, precision="float64", loss_kind="squared", seed=1),
}


@pytest.fixture(params=NETWORKS)
def network(request):
    return NETWORKS[request.param]()


def test_the_gradient_on_rows_is_that_of_the_loss_on_them(network):
    params, rows = network.init(), jnp.array([3, 1, 17, 8])
    mine, autodiff = network.gradient_on(params, rows), jax.grad(network.loss_on)(params, rows)
    for name, part in mine.items():
        np.testing.assert_allclose(part, autodiff[name], rtol=1e-12, atol=1e-14)


def test_the_mean_over_an_epoch_is_the_full_loss_and_gradient(network):
    params, halves = network.init(), np.array_split(np.arange(network.rows), 2)
    shares = [len(half) / network.rows for half in halves]
    losses = [network.loss_on(params, half) for half in halves]
    np.testing.assert_allclose(np.dot(shares, losses), network.loss(params), rtol=1e-12)
    gradients = [network.gradient_on(params, half) for half in halves]
    for name, whole in network.gradient(params).items():
        parts = sum(share * gradient[name] for share, gradient in zip(shares, gradients, strict=True))
        np.testing.assert_allclose(parts, whole, rtol=1e-11, atol=1e-14)


def test_minibatches_of_the_relu_network_learn():
    problem = NETWORKS["modular"]()
    method = lb.Minibatch(lb.GradientDescent(0.5), 16)
    run = lb.train(problem, method, steps=2000, memorised_at=1e-9, progress=False)
    assert run.milestones.memorised.step is not None
    assert run["train_loss"][-1] < 0.1 * run["train_loss"][0]
