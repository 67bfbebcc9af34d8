"""Distance, angle and KKT residual as columns."""

from __future__ import annotations

import jax.numpy as jnp

import latebloom as lb
from latebloom.probes import DistanceToZeroLoss, KKTResidual, TangentCosine

PROBES = (DistanceToZeroLoss(), TangentCosine(), KKTResidual())


def _product(w):
    return jnp.array([w[0] * w[1] - 1.0])


def test_probes_are_columns_of_training_and_of_flows():
    toy = lb.problems.LeastSquares(_product, jnp.array([0.5, 3.0]), label="product")
    runs = (
        lb.train(toy, lb.GradientDescent(0.01), lb.L2(1e-2), steps=2000, probes=PROBES, progress=False),
        lb.flow(toy, weight_decay=1e-2, time=20.0, probes=PROBES, progress=False),
    )
    for run in runs:
        at_end = run.final
        # Weight decay keeps the weights λ|w|/σ² inside of the set.
        assert 0 < at_end["distance_to_zero_loss"] < 2e-2
        assert at_end["kkt_residual"] < run["kkt_residual"].max()
        assert at_end["tangent_cosine"] < 0.05
