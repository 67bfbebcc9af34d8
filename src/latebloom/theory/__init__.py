"""What theory says: when it memorises and generalises, under which conditions, and whether it can be recovered."""

from latebloom.linalg.tangent import tangent_features, tangent_kernel, tangent_maps, tangent_product
from latebloom.theory.closed_form import L2Flow, L2Iteration, ridge_error_floor
from latebloom.theory.generalisation import delay_estimate, generalisation_delay, predicted_t2
from latebloom.theory.hypotheses import Condition, conditions, largest_stable_learning_rate
from latebloom.theory.incoherence import (
    Leverage,
    coherence,
    degrees_of_freedom,
    expected_samples,
    leverage_scores,
    mutual_coherence,
    one_coherence,
    sampling_probabilities,
)
from latebloom.theory.kernel import KernelRegime, kernel_regime
from latebloom.theory.kkt import MarginKKT, averaged_kkt, margin_kkt
from latebloom.theory.lojasiewicz import (
    CLCheck,
    LocalCL,
    cl_constant_linear,
    is_r_cl,
    local_cl_constant,
    smallest_cl_radius,
)
from latebloom.theory.matrix_recovery import (
    RankNullSpaceBound,
    RelativeNullSpace,
    null_space_relative,
    rank_null_space_lower_bound,
)
from latebloom.theory.memorisation import memorisation_radius, memorisation_step, memorisation_time
from latebloom.theory.nuclear_subgradient import Shrinking, WedinBound, shrinking_steps, wedin_bound
from latebloom.theory.prediction import Prediction
from latebloom.theory.recovery import (
    RecoveryConstants,
    null_space_constant,
    recovery_constants,
    recovery_error_bound,
    robust_constant,
)
from latebloom.theory.transition import (
    TransitionLaw,
    fit_transition,
    homogeneity_degree,
    junction_time,
    transition_time,
)

__all__ = [
    "CLCheck",
    "Condition",
    "KernelRegime",
    "L2Flow",
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
    "conditions",
    "degrees_of_freedom",
    "delay_estimate",
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
    "memorisation_radius",
    "memorisation_step",
    "memorisation_time",
    "mutual_coherence",
    "null_space_constant",
    "null_space_relative",
    "one_coherence",
    "predicted_t2",
    "rank_null_space_lower_bound",
    "recovery_constants",
    "recovery_error_bound",
    "ridge_error_floor",
    "robust_constant",
    "sampling_probabilities",
    "shrinking_steps",
    "smallest_cl_radius",
    "tangent_features",
    "tangent_kernel",
    "tangent_maps",
    "tangent_product",
    "transition_time",
    "wedin_bound",
]
