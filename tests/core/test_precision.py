"""Problems in single precision: what works in it does, what needs double precision says so."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import latebloom as lb
from latebloom import flows, theory
from latebloom.errors import CapabilityError
from latebloom.zero_loss.set import kkt_residual

SINGLE = lb.problems.TeacherStudent(4, 6, samples=10)
DOUBLE = lb.problems.TeacherStudent(4, 6, samples=10, precision="float64")


@pytest.mark.parametrize(
    ("who", "ask"),
    [
        ("slow_flow", lambda p: lb.slow_flow(p, slow_time=1.0)),
        ("KKTResidual", lambda p: lb.train(p, lb.GradientDescent(0.1), steps=1, probes=[lb.probes.KKTResidual()])),
        ("DistanceToZeroLoss", lambda p: lb.probes.DistanceToZeroLoss().check(p, None)),
        ("the zero-loss set", lambda p: kkt_residual(p, p.init())),
        ("limit_map", flows.limit_map),
        ("kernel_regime", theory.kernel_regime),
        ("solver='tsit5'", lambda p: lb.flow(p, weight_decay=1e-2, time=1.0, solver="tsit5")),
        ("solver='kvaerno5'", lambda p: lb.flow(p, weight_decay=1e-2, time=1.0, solver="kvaerno5")),
    ],
)
def test_what_needs_double_precision_says_so(who, ask):
    with pytest.raises(CapabilityError, match=rf"{who} needs double precision.* give it precision='float64'"):
        ask(SINGLE)


def test_the_rank_of_the_kernel_is_that_of_numpy():
    start = DOUBLE.init()
    rows = jax.jacobian(DOUBLE.residuals)(start)
    matrix = np.concatenate([np.asarray(leaf).reshape(20, -1) for leaf in jax.tree.leaves(rows)], axis=1)
    assert theory.kernel_regime(DOUBLE).rank == np.linalg.matrix_rank(matrix) == 20


def test_accelerated_steps_stay_in_single_precision():
    runs = {
        kind: lb.train(
            lb.problems.TeacherStudent(4, 6, samples=10, precision=kind),
            lb.AcceleratedProximalGradient(0.01),
            lb.L1(1e-3),
            steps=20,
            progress=False,
        )
        for kind in ("float32", "float64")
    }
    assert {leaf.dtype for leaf in jax.tree.leaves(runs["float32"].params)} == {np.dtype("float32")}
    assert runs["float32"].final["train_error"] == pytest.approx(runs["float64"].final["train_error"], rel=1e-3)
