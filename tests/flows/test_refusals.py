"""Flows and paths that cannot be meant are refused in one sentence, before anything runs."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from cases import Mute, sparse
from refusals import Refusal, refusals

import latebloom as lb
from latebloom.errors import CapabilityError, InputError
from latebloom.flows import l1_path, limit_map, limit_map_derivative, nuclear_path
from latebloom.problems import DiagonalClassifier, LeastSquares, LinearRegression, MatrixCompletion, SparseSigns

NAN, INF = float("nan"), float("inf")
REGRESSION = LinearRegression.random(features=8, samples=5, init_scale=3.0)
HYPERBOLA = LeastSquares(lambda w: jnp.array([w[0] * w[1] - 1.0]), jnp.array([0.3, 2.5]))
LINE = LinearRegression([[1.0, 1.0]], [2.0])
POINTS = DiagonalClassifier(SparseSigns(20, 6, test_samples=10))
ENTRIES = MatrixCompletion((6, 6), rank=1, observed=24, seed=2)


def _flow(**changes: Any) -> Any:
    return lb.flow(**({"problem": REGRESSION, "weight_decay": 1e-2, "time": 10.0, "progress": False} | changes))


def _slow(**changes: Any) -> Any:
    return lb.slow_flow(**({"problem": REGRESSION, "slow_time": 8.0, "progress": False} | changes))


def _dual(**changes: Any) -> Any:
    return lb.flow(**({"problem": POINTS, "time": 1.0, "solver": "dual", "progress": False} | changes))


FLOWS = [
    (_flow, {"weight_decay": -1e-3}, "weight_decay=-0.001 is not allowed: weight_decay must be finite and at least 0"),
    (_flow, {"weight_decay": NAN}, "weight_decay=nan is not allowed"),
    (_flow, {"weight_decay": INF}, "weight_decay=inf is not allowed"),
    (_flow, {"weight_decay": "much"}, "weight_decay must be a number"),
    (_flow, {"time": 0}, "time=0 is not allowed: time must be finite and above 0"),
    (_flow, {"time": -1.0}, "time=-1.0 is not allowed"),
    (_flow, {"time": NAN}, "time=nan is not allowed"),
    (_flow, {"time": INF}, "time=inf is not allowed"),
    (_flow, {"rtol": 0.0}, "rtol=0.0 is not allowed: rtol must be finite and above 1e-14 and below 1"),
    (_flow, {"rtol": 1.0}, "rtol=1.0 is not allowed"),
    (_flow, {"atol": -1e-3}, "atol=-0.001 is not allowed"),
    (_flow, {"atol": NAN}, "atol=nan is not allowed"),
    (_flow, {"max_gradients": 0}, "max_gradients=0 is not allowed"),
    (_flow, {"max_gradients": 1.5}, "max_gradients=1.5 is not allowed: max_gradients must be a whole number"),
    (_flow, {"records_per_decade": 0}, "records_per_decade=0 is not allowed"),
    (_flow, {"learning_rate": 0.0}, "learning_rate=0.0 is not allowed"),
    (_flow, {"memorised_at": 0.0}, "memorised_at=0.0 is not allowed"),
    (_flow, {"penalty": lb.L2(1e-3)}, "give weight_decay or penalty, not both"),
    (_flow, {"weight_decay": 0.0, "penalty": 1e-3}, "penalty must be a penalty record such as L1"),
    (_flow, {"problem": 3}, "problem must be a problem record, not int"),
    (_flow, {"solver": "tsit"}, "unknown solver 'tsit': did you mean 'tsit5'"),
    (lb.FlowJob, {"problem": REGRESSION, "penalty": None, "time": -1.0}, "time=-1.0 is not allowed"),
    (_dual, {"weight_decay": -1.0}, "weight_decay=-1.0"),
    (_slow, {"penalty": lb.L2(0.0)}, "strength of the slow flow's penalty"),
    (_slow, {"penalty": 1e-3}, "penalty must be a penalty record"),
    (_slow, {"slow_time": 0.0}, "slow_time=0.0 is not allowed"),
    (_slow, {"rtol": 2.0}, "rtol=2.0 is not allowed"),
    (_slow, {"residual": 0.1}, "residual=0.1 is not allowed"),
    (_slow, {"metric": np.ones(3)}, "metric does not have the shape of the parameters"),
    (_slow, {"metric": -np.ones(8)}, "not positive"),
    (limit_map, (HYPERBOLA, np.ones(3)), "the problem's parameters have"),
    (limit_map_derivative, (HYPERBOLA, np.array([0.3, 2.5])), "DΦ is known at zero loss only"),
]
PATHS = [
    (l1_path, LinearRegression([[1.0], [1.0]], [1.0, 2.0]), "nothing fits them"),
    (l1_path, {"problem": LINE, "start": [0.0, 0.0]}, "start misses the measurements"),
    (l1_path, {"problem": LINE, "start": [1.0, 1.0, 0.0]}, "start has shape"),
    (l1_path, {"problem": LINE, "max_events": 0}, "max_events=0 is not allowed"),
    *((l1_path(LINE).at, wrong, "slow times must be numbers") for wrong in (-1.0, NAN)),
    (l1_path(sparse(), max_events=3).at, 1e3, "past the end of the path"),
    (l1_path(LINE).crossing, ([1.0], 0.1), "truth has shape"),
    (nuclear_path, {"problem": ENTRIES, "tolerance": 0.0}, "tolerance=0.0 is not allowed"),
    (nuclear_path, {"problem": ENTRIES, "start": np.zeros((6, 6))}, "start misses the measurements"),
    (nuclear_path, {"problem": ENTRIES, "start": np.zeros((5, 6))}, "start has shape"),
]
UNABLE = [
    *(
        (_flow, {"weight_decay": 0.0, "penalty": penalty}, "a flow needs a smooth penalty; …has kinks: use L2")
        for penalty in (lb.L1(1e-3), lb.L1(1e-3) + lb.L2(1e-3), lb.L2Norm(1e-3), lb.Lp(1e-3))
    ),
    (_dual, {"problem": sparse(), "weight_decay": 0.1}, "solver='dual' needs a diagonal network that classifies"),
    (_dual, {"probes": [lb.probes.GradientRatio()]}, "has columns of its own"),
    (_dual, {"learning_rate": 0.1}, "has columns of its own"),
    (_dual, {"penalty": lb.WeightedL2(1.0, np.ones((2, 20)))}, "needs weight decay or nothing"),
    (_slow, {"problem": Mute()}, "slow_flow needs a least-squares problem"),
    (_slow, {"penalty": lb.L1(1e-3)}, "smooth penalty; L1…has kinks: use L2, or l1_path"),
    (_slow, {"probes": [lb.probes.SingularValues()]}, "SingularValues needs"),
    (l1_path, sparse(depth=2), "linear in its parameters"),
    (nuclear_path, sparse(), "measures a matrix"),
    (nuclear_path, MatrixCompletion(depth=2), "linear in its parameters"),
]


@refusals({InputError: [*FLOWS, *PATHS], CapabilityError: UNABLE})
def test_what_cannot_be_followed_is_refused(refusal: Refusal):
    refusal.check()
