"""Health of a classifier's gradient: collapse and defects made by hand, in both precisions, and theory withheld."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom.engine.diagnosis import unhealthy
from latebloom.probes import SoftmaxCollapse, ZeroSumDefect
from latebloom.probes.health import DEFECT
from latebloom.problems import ModularClassifier
from latebloom.problems.classifier import AbstractLabelled

ROWS, CLASSES = 4, 3


class Linear(AbstractLabelled):
    """Scores `gain · W` for rows that are unit vectors, all of class 0: margins as one likes."""

    gains: jax.Array
    naive: bool = eqx.field(static=True)

    def init(self):
        return {"second": jnp.zeros((ROWS, CLASSES), self.gains.dtype).at[:, 0].set(1)}

    def scores(self, params, part):
        return self.gains[:, None] * params["second"]

    def labels(self, part):
        return jnp.zeros(ROWS, jnp.int32)

    def loss(self, params):
        return jnp.mean(jax.nn.logsumexp(self.scores(params, "train"), axis=1) - self.scores(params, "train")[:, 0])

    def gradient(self, params):
        """As it is often written, `softmax - one_hot`, or summed over the others."""
        soft = jax.nn.softmax(self.scores(params, "train"), axis=1)
        own = soft[:, :1] - 1 if self.naive else -jnp.sum(soft[:, 1:], axis=1, keepdims=True)
        return {"second": self.gains[:, None] * jnp.concatenate([own, soft[:, 1:]], axis=1) / ROWS}

    def train_error(self, params):
        return self.wrong(params, "train")

    def test_error(self, params):
        return self.wrong(params, "train")


def probed(probe, gains, *, naive=False, precision=jnp.float64):
    problem = Linear(jnp.asarray(gains, precision), naive)
    return float(probe.measure(problem, None, problem.init()))


@pytest.mark.parametrize(("precision", "rounds", "vanishes"), [(jnp.float64, 38.0, 760.0), (jnp.float32, 18.0, 110.0)])
def test_collapse_counts_rows(precision, rounds, vanishes):
    """`1 - p_y = 2 e^-m` is half a unit in the last place at a margin of 37.4 (17.3), `e^-m` is zero at 746 (104)."""
    gains = [1.0, rounds, rounds, vanishes]
    assert probed(SoftmaxCollapse(), gains, precision=precision) == 0.25
    assert probed(SoftmaxCollapse(rounded=True), gains, precision=precision) == 0.75
    assert probed(SoftmaxCollapse(rounded=True), [rounds - 4.0] * 4, precision=precision) == 0.0
    assert SoftmaxCollapse(rounded=True).column == "softmax_rounded"


def test_defect_sees_what_cancels():
    """`p_y - 1` has lost its last digits at a margin of 10 in single precision, all of them at 18."""
    single = {"naive": True, "precision": jnp.float32}
    assert probed(ZeroSumDefect(), [1.0] * 4, **single) < 1e-6
    assert 1e-5 < probed(ZeroSumDefect(), [10.0] * 4, **single) < 0.1
    assert probed(ZeroSumDefect(), [18.0] * 4, **single) > 1 - 1e-5  # a gradient of rounding, or none
    assert probed(ZeroSumDefect(), [18.0] * 4, precision=jnp.float32) < 1e-6
    assert probed(ZeroSumDefect(), [800.0] * 4) == 1.0  # nothing is left of the gradient


def test_theory_is_withheld_from_runs_that_are_not_sound():
    """The naive gradient in single precision is off by more than a part in a thousand, soon after the fit."""
    options = {"steps": 1000, "probes": [ZeroSumDefect(), SoftmaxCollapse()]}
    gains = jnp.full(ROWS, 8.0, jnp.float32)
    naive, sound = (lb.train(Linear(gains, naive), lb.GradientDescent(5.0), **options) for naive in (True, False))
    assert naive["zero_sum_defect"].max() > DEFECT
    first = int(naive["step"][naive["zero_sum_defect"] > DEFECT][0])
    assert unhealthy(naive) == (
        f"theory withheld: from step {first:,} on the gradient's zero-sum defect is above {DEFECT:g}"
    )
    assert unhealthy(sound) is None
    columns = sound.columns | {"softmax_collapse": np.ones(len(sound["step"]))}
    collapsed = lb.Run(sound.configuration, columns, None, sound.outcome, sound.milestones, sound.provenance)
    assert "the softmax of every training row has collapsed" in (unhealthy(collapsed) or "")


def test_the_network_is_sound_in_both_forms():
    problem = ModularClassifier(5, 16, train_share=0.8)
    far = jax.tree.map(lambda leaf: 30 * leaf, problem.init())
    for of in ("loss", "log_loss"):
        probe = ZeroSumDefect(of)
        probe.check(problem, None)
        assert float(jax.jit(lambda params, probe=probe: probe.measure(problem, None, params))(far)) < 1e-13
