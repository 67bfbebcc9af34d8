"""Starts whose output is zero."""

from __future__ import annotations

import numpy as np
from plain import drawn_tanh_net, tanh_net

import latebloom as lb
from latebloom.problems.starts import difference_trick, symmetrised, zero_layer


def test_zero_output_starts():
    params, inputs, _ = drawn_tanh_net()
    assert np.abs(np.asarray(tanh_net(params, inputs))).max() > 0.1
    assert not np.asarray(tanh_net(zero_layer(params, "out"), inputs)).any()
    twice = symmetrised(params, "out", {"hidden": 1, "out": 0})
    assert np.abs(np.asarray(tanh_net(twice, inputs))).max() < 1e-14
    model, pair = difference_trick(tanh_net, params)
    assert not np.asarray(model(pair, inputs)).any()
    # The difference trick leaves the tangent kernel as it is.
    kernels = [lb.theory.tangent_kernel(lambda p, f=f: f(p, inputs), p) for f, p in ((tanh_net, params), (model, pair))]
    assert np.allclose(*kernels, rtol=1e-12)
