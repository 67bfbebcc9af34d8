"""Where theory says a phase ends, each answer with a certificate at the returned point."""

from latebloom.oracles.kernel_margin import KernelMarginResult, max_kernel_margin
from latebloom.oracles.l1 import basis_pursuit, lasso
from latebloom.oracles.l2 import least_squares, min_norm, ridge
from latebloom.oracles.margin import MarginResult, max_l1_margin, max_l2_margin
from latebloom.oracles.nuclear.minimum import NuclearResult, min_nuclear_norm
from latebloom.oracles.result import OracleResult, recovers

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
