"""Where theory says a phase ends, each answer with a certificate at the returned point."""

from latebloom.theory.oracles.base import OracleResult, recovers
from latebloom.theory.oracles.basis_pursuit import basis_pursuit
from latebloom.theory.oracles.kernel_margin import KernelMarginResult, max_kernel_margin
from latebloom.theory.oracles.lasso import lasso
from latebloom.theory.oracles.least_squares import least_squares, min_norm
from latebloom.theory.oracles.margin import MarginResult, max_l1_margin, max_l2_margin
from latebloom.theory.oracles.min_nuclear_norm import NuclearResult, min_nuclear_norm
from latebloom.theory.oracles.ridge import ridge

__all__ = [
    "KernelMarginResult",
    "MarginResult",
    "NuclearResult",
    "OracleResult",
    "basis_pursuit",
    "lasso",
    "least_squares",
    "max_kernel_margin",
    "max_l1_margin",
    "max_l2_margin",
    "min_norm",
    "min_nuclear_norm",
    "recovers",
    "ridge",
]
