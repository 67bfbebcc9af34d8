"""What the entries on the lemmas of `dichotomy/` compute, against independent ways to the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import latebloom as lb
from latebloom.catalog.dichotomy.exponential import LimitSettings, Path
from latebloom.catalog.dichotomy.landscape import Landscape, LandscapeSettings
from latebloom.catalog.dichotomy.lemmas_classification import from_above, from_below, inverse
from latebloom.catalog.dichotomy.smooth_net import smooth_net


@pytest.fixture(scope="module", params=[2, 3])
def path(request):
    settings = LimitSettings(dimension=30, samples=5)
    job = settings.job(4.0, request.param)
    return Path(lb.run(job), job.problem, settings.decay(4.0))


def test_the_path_is_that_of_the_layers(path):
    form = lb.flows.DualForm(path.problem, path.decay)
    u, v = form.layers(path.run["dual"], path.run["time"])
    both = np.concatenate([u, v], axis=1) * np.exp(path.slow)[:, None] / path.scale - 1
    assert np.allclose(path.delta, both, atol=1e-12)
    assert np.allclose(path.weights, u**path.degree - v**path.degree, atol=1e-9)
    assert np.allclose(path.loss, path.run["train_loss"])


def test_the_speed_of_the_loss_is_that_of_differences(path):
    time, loss = path.run["time"], path.loss
    rows = np.flatnonzero((loss > 1e-3) & (loss < 0.9))[5:40]  # while it falls
    assert len(rows) > 5
    slopes = np.gradient(np.log(loss), np.log(time + 1e-300))[rows] * loss[rows] / time[rows]
    assert np.allclose(slopes, path.loss_speed[rows], rtol=0.05)


def test_a_loss_between_its_bounds(path):
    near = path.near
    assert np.all(from_below(path, -1)[near] <= path.loss[near])
    assert np.all(path.loss[near] <= from_above(path)[near])


def test_the_inverse_of_x_log_x():
    x = np.array([1.0, 2.0, 50.0, 1e9])
    assert np.allclose(inverse(x * np.log(x)), x)


def test_gradient_and_saddles_of_the_landscape():
    here = Landscape(LandscapeSettings(size=4))
    point = here.random.normal(size=32)
    assert np.allclose(here.gradient(point), here.differences(point), atol=1e-7)
    assert not np.allclose(here.printed_gradient(point), here.differences(point), atol=1e-2)
    assert all(np.linalg.norm(here.gradient(saddle)) < 1e-6 for saddle in here.saddles())


def test_a_smooth_net_comes_nearer_to_its_limit():
    table = smooth_net((3.0, 30.0), 1.0, 0.5, 2)
    cosines = [f @ g / np.linalg.norm(f) / np.linalg.norm(g) for f, g in zip(table["f"], table["limit"], strict=True)]
    assert cosines[0] < cosines[1]
    assert cosines[1] > 0.99
