"""What theory says: where a phase ends (oracles), when (predictions), and under which conditions."""

from latebloom.theory import oracles
from latebloom.theory.closed_form import L2Iteration
from latebloom.theory.coherence import coherence, mutual_coherence, one_coherence
from latebloom.theory.conditions import Condition, conditions_thm31, largest_stable_learning_rate
from latebloom.theory.lojasiewicz import (
    CLCheck,
    LocalCL,
    cl_constant_linear,
    is_r_cl,
    local_cl_constant,
    smallest_cl_radius,
)
from latebloom.theory.null_space import (
    RecoveryConstants,
    constants_thm33,
    null_space_constant,
    recovery_error_bound,
    robust_constant,
)
from latebloom.theory.oracles import OracleResult, basis_pursuit, lasso, least_squares, min_norm, recovers, ridge
from latebloom.theory.predictions import (
    Prediction,
    generalisation_delay,
    memorisation_radius_thm31,
    memorisation_step_thm31,
    memorisation_time,
    uniform_delay,
)
from latebloom.theory.spectrum import Spectrum
from latebloom.theory.thm36 import distance_bound_thm36, error_floor_thm36, rate_thm36

__all__ = [
    "CLCheck",
    "Condition",
    "L2Iteration",
    "LocalCL",
    "OracleResult",
    "Prediction",
    "RecoveryConstants",
    "Spectrum",
    "basis_pursuit",
    "cl_constant_linear",
    "coherence",
    "conditions_thm31",
    "constants_thm33",
    "distance_bound_thm36",
    "error_floor_thm36",
    "generalisation_delay",
    "is_r_cl",
    "largest_stable_learning_rate",
    "lasso",
    "least_squares",
    "local_cl_constant",
    "memorisation_radius_thm31",
    "memorisation_step_thm31",
    "memorisation_time",
    "min_norm",
    "mutual_coherence",
    "null_space_constant",
    "one_coherence",
    "oracles",
    "rate_thm36",
    "recovers",
    "recovery_error_bound",
    "ridge",
    "robust_constant",
    "smallest_cl_radius",
    "uniform_delay",
]
