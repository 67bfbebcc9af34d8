"""Theory refuses what its theorems do not speak of, in one sentence."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from cases import Mute
from refusals import Refusal, refusals

from latebloom import theory
from latebloom.errors import CapabilityError, InputError
from latebloom.penalties import L1, L2, NuclearNorm
from latebloom.problems import (
    LeastSquares,
    LinearRegression,
    MatrixCompletion,
    MatrixRegression,
    MatrixSensing,
    ModularClassifier,
    SparseRecovery,
)

LINE = LinearRegression([[1.0, 0.0]], [1.0])  # without a truth
MATRIX = MatrixRegression(np.ones((1, 2, 2)), [1.0])  # without a truth
SENSING = MatrixSensing(shape=(6, 5), rank=1, measurements=18, signal_to_noise=1e6, seed=0)
SPARSE, DEEP = SparseRecovery(), SparseRecovery(depth=2)
PRODUCT = LeastSquares(lambda w: jnp.array([w[0] * w[1] - 1.0]), jnp.array([1.0, 2.0]))
DESIGN = np.random.default_rng(0).normal(size=(20, 40))
NET = ModularClassifier(5, 40, train_share=0.7, seed=2)
NOWHERE = {name: 0 * leaf for name, leaf in NET.init().items()}


def _small(**options: Any) -> Any:
    problem = MatrixSensing((4, 4), 1, 14, sensing="gaussian", seed=0)
    return theory.null_space_relative(problem, **options)


CLOSED_FORM = [
    (theory.L2Iteration, (LINE, 0, 0.1), "learning_rate=0 is not allowed"),
    (theory.L2Iteration, (LINE, 0.1, -0.1), "weight_decay=-0.1 is not allowed"),
    *((theory.L2Iteration(LINE, 0.1, 0.1).at, (s,), "steps must be whole numbers") for s in (-1, 0.5, [1, np.nan])),
    (theory.ridge_error_floor, LINE, "ridge_error_floor compares with the truth and the problem has none"),
    (theory.L2Iteration(LINE, 0.1, 0).distance_bound, [1], "weight_decay=0.0 is not allowed"),
]
INCOHERENCE = [
    (theory.leverage_scores, np.zeros((2, 2)), "matrix is zero"),
    (theory.leverage_scores, (np.ones((3, 3)), 2), "rank=2 is not allowed…at most 1"),
    (
        theory.leverage_scores,
        {"matrix": np.ones((3, 2)), "right": np.eye(3)},
        "right has 3 rows and the matrix 2 columns…right=np.eye(2)",
    ),
    (theory.leverage_scores, [1.0, 2.0], "matrix must have 2 dimensions"),
    (theory.sampling_probabilities, (np.ones((2, 2)), 0), "constant=0 is not allowed"),
    (theory.degrees_of_freedom, ((2, 5), 3), "rank=3 is not allowed"),
    (theory.mutual_coherence, [[1.0, 0.0], [1.0, 0.0]], "matrix has a zero column, number 1"),
    (theory.mutual_coherence, [[1.0], [1.0]], "at least 2"),
    (theory.coherence, (np.eye(2), np.eye(3)), "first has 2 rows and second 3"),
    (theory.one_coherence, (np.eye(2), 2), "sparsity=2 is not allowed"),
]
RECOVERY = [
    (theory.null_space_constant, (DESIGN, np.arange(13)), "support has 13 entries…pass signs="),
    *(
        (theory.null_space_constant, (DESIGN, support), "give different column numbers from 0 to 39")
        for support in ([40], [-1], [1, 1], [0.5], [[0]])
    ),
    (
        theory.null_space_constant,
        {"design": DESIGN, "support": [0, 1], "signs": [1, 0]},
        "give 2 values, each 1 or -1",
    ),
    (
        theory.recovery_error_bound,
        {"problem": SPARSE, "estimate": np.zeros(100), "rho": 1.0, "tau": 1.0},
        "rho=1.0 is not allowed",
    ),
    *(
        (
            theory.recovery_constants,
            {"problem": problem, "learning_rate": rate, "penalty": penalty, "rho": rho, "tau": 1.0},
            words,
        )
        for problem, rate, penalty, rho, words in (
            (SPARSE, 100.0, L1(1e-5), 0.5, "learning_rate=100.0 is not allowed"),
            (SENSING, 0.1, NuclearNorm(1e-4), 1.0, "rho=1.0 is not allowed"),
        )
    ),
    (theory.robust_constant, (np.zeros((2, 3)), 0.5), "design is zero"),
    (theory.robust_constant, (DESIGN, np.inf), "rho=inf is not allowed"),
    (
        theory.rank_null_space_lower_bound,
        (np.eye(4), (3, 3), 1),
        "design has 4 columns and a matrix of shape (3, 3) has 9 entries",
    ),
    (theory.rank_null_space_lower_bound, (np.eye(4), (2, 2), 3), "rank=3 is not allowed"),
    (
        theory.rank_null_space_lower_bound,
        {"design": np.eye(4)[:2], "shape": (2, 2), "rank": 1, "starts": 0},
        "starts=0 is not allowed",
    ),
    (theory.null_space_relative, MATRIX, "null_space_relative compares with the truth and the problem has none"),
    (_small, {"tolerance": 0}, "tolerance=0 is not allowed"),
]
TIMES = [
    *(
        (
            theory.delay_estimate,
            (problem, 0.1, penalty),
            "delay_estimate compares with the truth and the problem has none",
        )
        for problem, penalty in ((LINE, L1(1e-5)), (MATRIX, NuclearNorm(1e-3)))
    ),
    (theory.delay_estimate, (SENSING, 0.1, NuclearNorm(0)), "strength=0.0 is not allowed"),
    (
        theory.delay_estimate,
        {"problem": SENSING, "learning_rate": 0.1, "penalty": NuclearNorm(1e-3), "params": np.ones((5, 6))},
        "params has shape",
    ),
    (theory.memorisation_step, (LINE, 3.0, L1(1e-5)), "learning_rate=3 is not allowed: descent diverges"),
    (theory.memorisation_step, (SENSING, 100.0, NuclearNorm(1e-3)), "descent diverges"),
    (
        theory.memorisation_time,
        {"problem": PRODUCT, "learning_rate": 0.1, "tolerance": 1e-3},
        "cl_constant is not known for LeastSquares",
    ),
    *(
        (theory.generalisation_delay, {"problem": SPARSE, "learning_rate": 0.1, "penalty": L1(1e-5)} | wrong, words)
        for wrong, words in (
            ({"eta": 0}, "eta=0 is not allowed"),
            ({"eta": 1, "params": np.zeros(3)}, "params has shape (3,)"),
        )
    ),
    (theory.local_cl_constant, (LINE, LINE.init(), -1), "radius=-1 is not allowed"),
    (theory.cl_constant_linear, LinearRegression([[0.0, 0.0]], [1.0]), "design is zero"),
    (theory.shrinking_steps, (np.eye(2), 0), "step=0 is not allowed"),
    (theory.wedin_bound, (np.eye(2), np.eye(3)), "truth has shape"),
    (theory.fit_transition, ([2.0, 2.0], [1.0, 2.0]), "two different ones"),
    (theory.fit_transition, ([1.0, 2.0], [1.0, np.nan]), "slow times finite"),
    (theory.transition_time, (0.5, 1e-3), "gives no time"),
    (theory.junction_time, 2.0, "weight_decay=2"),
    (theory.margin_kkt, (NET, NET.init()), "the smallest margin is …until train_error is 0"),
    (theory.margin_kkt, (NET, NOWHERE), "needs parameters with a direction"),
    (
        theory.averaged_kkt,
        {"problem": NET, "params": NET.init(), "learning_rate": 1e-6, "most": 5},
        "did not grow by a share 0.1 in 5 steps",
    ),
]
UNABLE = [
    (theory.L2Iteration, (DEEP, 0.1, 0.1), "L2Iteration needs a problem that is linear in its parameters"),
    (theory.null_space_relative, LINE, "null_space_relative needs a problem that measures a matrix"),
    (theory.conditions, (LINE, 0.1, NuclearNorm(1e-3)), "conditions needs a problem that measures a matrix"),
    (theory.conditions, (LINE, 0.1, L2(1e-5)), "conditions knows the penalties L1 and NuclearNorm; L2"),
    (theory.predicted_t2, (SPARSE, 0.1, L2(1e-4)), "L1 and NuclearNorm"),
    (
        theory.memorisation_radius,
        (MatrixCompletion(depth=2, observed=90), 0.1, NuclearNorm(1e-3)),
        "linear in its parameters",
    ),
    (theory.cl_constant_linear, DEEP, "cl_constant_linear needs a problem that is linear"),
    (theory.kernel_regime, Mute(), "kernel_regime needs a least-squares problem"),
]


@refusals({InputError: [*CLOSED_FORM, *INCOHERENCE, *RECOVERY, *TIMES], CapabilityError: UNABLE})
def test_what_no_theorem_speaks_of_is_refused(refusal: Refusal):
    refusal.check()


def test_signs_stand_in_for_a_large_support():
    assert np.isfinite(theory.null_space_constant(DESIGN, np.arange(13), signs=np.ones(13)))
