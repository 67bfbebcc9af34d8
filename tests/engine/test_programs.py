"""What is compiled, as a digest: moving and renaming code must not change a single operation.

`programs.json` holds, for the version of JAX it was made with, a digest of every lowered program. Whoever changes the
arithmetic on purpose writes it anew, `pytest tests/engine/test_programs.py --keep`, and says so in the commit.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import completion, sparse

import latebloom as lb
from latebloom.engine import descent
from latebloom.engine.shard import stack
from latebloom.engine.training import TrainJob
from latebloom.flows.gradient import steps as flow_steps
from latebloom.flows.slow import steps as slow_steps
from latebloom.flows.slow.approach import begin, fast_lane, go_on, land, set_out
from latebloom.problems import DiagonalClassifier, EmbeddingMLP, SparseSigns

KEPT = Path(__file__).with_name("programs.json")
FACTORS = {"depth": 2, "width": 3, "init_scale": 0.5}
DEEP = sparse(depth=2, init_scale=1.0)


def normalised(text: str) -> str:
    """The text of a lowered program without the names that Python functions and classes gave to its parts."""
    text = re.sub(r'\{?jax\.result_info = "[^"]*"\}?', "", text)
    text = re.sub(r'jax\.arg_info = "[^"]*"', "", text)
    names: dict[str, str] = {}
    numbers = count()
    return re.sub(r"@[\w.$-]+", lambda m: names.setdefault(m.group(), f"@f{next(numbers)}"), text)


def digest(function: Any, *args: Any, **options: Any) -> str:
    """A short hash of the program that a jitted function is lowered to."""
    return hashlib.sha256(normalised(function.lower(*args, **options).as_text()).encode()).hexdigest()[:16]


def shaped(function: Any, *args: Any) -> Any:
    """Zeros in the shapes of what a function returns, without calling it."""
    shapes = eqx.filter_eval_shape(function, *args)
    return jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype) if isinstance(s, jax.ShapeDtypeStruct) else s, shapes)


def iterations() -> Iterator[tuple[str, Any]]:
    mlp = EmbeddingMLP(7, 8, dimension=4)
    points = DiagonalClassifier(SparseSigns(8, 6), init_scale=0.5)
    yield "sparse, l1", TrainJob(sparse(), lb.GradientDescent(0.1), lb.L1(1e-3), steps=10)
    yield "sparse of depth 2, l2", TrainJob(DEEP, lb.GradientDescent(0.1), lb.L2(1e-3), steps=10)
    yield "sparse, projected", TrainJob(sparse(), lb.ProjectedSubgradient(0.01), lb.L1(1e-3), steps=10)
    yield (
        "sparse, label noise",
        TrainJob(sparse(), lb.LabelNoise(0.005, noise=0.01), None, steps=10, probes=(lb.probes.Components(),)),
    )
    yield "completion, nuclear", TrainJob(completion(), lb.GradientDescent(0.1), lb.NuclearNorm(1e-3), steps=10)
    yield (
        "completion, fista",
        TrainJob(completion(), lb.AcceleratedProximalGradient(0.1), lb.NuclearNorm(1e-3), steps=10),
    )
    yield "network, adam", TrainJob(mlp, lb.Optax("adam", learning_rate=0.01), lb.L1(1e-4), steps=10)
    yield "network, minibatches", TrainJob(mlp, lb.Minibatch(lb.GradientDescent(0.1), size=4), lb.L2(1e-4), steps=10)
    yield "classifier, log loss", TrainJob(points, lb.LogLossDescent(0.1), None, steps=10)


def flows() -> Iterator[tuple[str, Any]]:
    yield "completion of depth 2", lb.FlowJob(completion(**FACTORS), lb.L2(1e-3), time=10.0, solver="rkc")
    yield "completion, tsit5", lb.FlowJob(completion(**FACTORS), lb.L2(1e-3), time=10.0, solver="tsit5")
    yield (
        "classifier",
        lb.FlowJob(DiagonalClassifier(SparseSigns(8, 6), init_scale=0.5), lb.L2(1e-3), time=10.0, solver="rkc"),
    )


def slow_flows() -> Iterator[tuple[str, Any]]:
    yield "completion of depth 2", lb.SlowFlowJob(completion(**FACTORS), None, slow_time=10.0)
    yield "sparse of depth 2, metric", lb.SlowFlowJob(DEEP, None, slow_time=10.0, metric=2.0)


def of_iteration(job: Any) -> dict[str, str]:
    lanes = stack([job.lane()])
    progress, one = jax.eval_shape(descent.begin, lanes), np.zeros(1, np.int64)
    return {
        "begin": digest(descent.begin, lanes),
        "advance": digest(descent.advance, lanes, progress, np.zeros((1, descent.CAPACITY), np.int64), one, one),
        "pin": digest(descent.pin, lanes, 1, progress.limit, progress.first[1], one),
    }


def of_flow(job: Any) -> dict[str, str]:
    lane, nothing = job.lane(), jnp.asarray(0)
    progress = shaped(flow_steps.begin, lane, jnp.asarray(1.0))
    return {
        "begin": digest(flow_steps.begin, lane, jnp.asarray(1.0)),
        "estimate": digest(flow_steps.estimate, lane, progress, nothing),
        "advance": digest(flow_steps.advance, lane, progress, jnp.zeros(flow_steps.CAPACITY), nothing, nothing),
    }


def of_slow_flow(job: Any) -> dict[str, str]:
    lane, nothing = job.lane(), jnp.asarray(0)
    fast = fast_lane(lane.problem, None, job.rtol)
    flow = shaped(begin, fast)
    approach = shaped(set_out, fast, flow)
    limit = shaped(land, fast, approach, lane.metric, jnp.asarray(1e-9))
    progress = shaped(slow_steps.begin, lane, limit)
    return {
        "set out": digest(set_out, fast, flow),
        "go on": digest(go_on, fast, approach, nothing),
        "land": digest(land, fast, approach, lane.metric, jnp.asarray(1e-9)),
        "begin": digest(slow_steps.begin, lane, limit),
        "advance": digest(slow_steps.advance, lane, progress, jnp.zeros(slow_steps.CAPACITY), nothing, nothing),
    }


KINDS: dict[str, tuple[Callable[[], Iterator[tuple[str, Any]]], Callable[[Any], dict[str, str]]]] = {
    "train": (iterations, of_iteration),
    "flow": (flows, of_flow),
    "slow flow": (slow_flows, of_slow_flow),
}


def programs(kind: str) -> dict[str, dict[str, str]]:
    """The digests of every program of one kind of run."""
    jobs, digests = KINDS[kind]
    return {name: digests(job) for name, job in jobs()}


def test_programs_are_the_ones_kept(kept, request):
    made_with = json.loads(KEPT.read_text())["jax"]
    if made_with != jax.__version__ and not request.config.getoption("--keep"):
        pytest.skip(f"the digests were made with jax {made_with}, and this is {jax.__version__}")
    kept(KEPT, {"jax": jax.__version__} | {kind: programs(kind) for kind in KINDS})


def test_a_digest_sees_one_operation_and_not_a_name():
    first = digest(jax.jit(lambda x: jnp.sin(x) + 1.0), jnp.ones(3))

    def other(y):
        return jnp.sin(y) + 1.0

    assert digest(jax.jit(other), jnp.ones(3)) == first
    assert digest(jax.jit(lambda x: jnp.sin(x) + 2.0), jnp.ones(3)) != first
