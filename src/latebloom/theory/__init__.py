"""What theory says: where a phase ends (oracles), when (predictions), and under which conditions."""

from latebloom.theory.closed_form import L2Iteration
from latebloom.theory.conditions import Condition, conditions_thm31, largest_stable_learning_rate
from latebloom.theory.incoherence import coherence, mutual_coherence, one_coherence
from latebloom.theory.kkt import MarginKKT, averaged_kkt, margin_kkt
from latebloom.theory.leverage import (
    Leverage,
    degrees_of_freedom,
    expected_samples,
    leverage_scores,
    sampling_probabilities,
)
from latebloom.theory.lojasiewicz import (
    CLCheck,
    LocalCL,
    cl_constant_linear,
    is_r_cl,
    local_cl_constant,
    smallest_cl_radius,
)
from latebloom.theory.ntk import (
    KernelRegime,
    kernel_regime,
    tangent_features,
    tangent_kernel,
    tangent_maps,
    tangent_product,
)
from latebloom.theory.nuclear_subgradient import Shrinking, WedinBound, shrinking_steps, wedin_bound
from latebloom.theory.null_space import (
    RecoveryConstants,
    constants_thm33,
    null_space_constant,
    recovery_error_bound,
    robust_constant,
)
from latebloom.theory.predictions import (
    Prediction,
    generalisation_delay,
    junction_time,
    memorisation_radius_thm31,
    memorisation_step_thm31,
    memorisation_time,
    uniform_delay,
)
from latebloom.theory.rank_null_space import (
    RankNullSpaceBound,
    RelativeNullSpace,
    constants_thm35,
    null_space_relative,
    rank_null_space_lower_bound,
    robust_rank_constant,
)
from latebloom.theory.slow_prediction import predicted_t2
from latebloom.theory.thm34 import (
    conditions_thm34,
    memorisation_radius_thm34,
    memorisation_step_thm34,
    spectral_delay,
)
from latebloom.theory.thm36 import distance_bound_thm36, error_floor_thm36, rate_thm36
from latebloom.theory.transition import TransitionLaw, fit_transition, homogeneity_degree, transition_time

__all__ = [
    "CLCheck",
    "Condition",
    "KernelRegime",
    "L2Iteration",
    "Leverage",
    "LocalCL",
    "MarginKKT",
    "Prediction",
    "RankNullSpaceBound",
    "RecoveryConstants",
    "RelativeNullSpace",
    "Shrinking",
    "TransitionLaw",
    "WedinBound",
    "averaged_kkt",
    "cl_constant_linear",
    "coherence",
    "conditions_thm31",
    "conditions_thm34",
    "constants_thm33",
    "constants_thm35",
    "degrees_of_freedom",
    "distance_bound_thm36",
    "error_floor_thm36",
    "expected_samples",
    "fit_transition",
    "generalisation_delay",
    "homogeneity_degree",
    "is_r_cl",
    "junction_time",
    "kernel_regime",
    "largest_stable_learning_rate",
    "leverage_scores",
    "local_cl_constant",
    "margin_kkt",
    "memorisation_radius_thm31",
    "memorisation_radius_thm34",
    "memorisation_step_thm31",
    "memorisation_step_thm34",
    "memorisation_time",
    "mutual_coherence",
    "null_space_constant",
    "null_space_relative",
    "one_coherence",
    "predicted_t2",
    "rank_null_space_lower_bound",
    "rate_thm36",
    "recovery_error_bound",
    "robust_constant",
    "robust_rank_constant",
    "sampling_probabilities",
    "shrinking_steps",
    "smallest_cl_radius",
    "spectral_delay",
    "tangent_features",
    "tangent_kernel",
    "tangent_maps",
    "tangent_product",
    "transition_time",
    "uniform_delay",
    "wedin_bound",
]
