"""The names of this room."""

from .dual.form import DualForm
from .gradient.chebyshev import RungeKuttaChebyshev
from .gradient.job import FlowJob, flow
from .paths.l1 import l1_path
from .paths.nuclear import nuclear_path
from .paths.slow_path import SlowPath
from .slow.job import SlowFlowJob, slow_flow
from .slow.limit import LimitPoint, limit_map, limit_map_derivative

__all__ = [
    "DualForm",
    "FlowJob",
    "LimitPoint",
    "RungeKuttaChebyshev",
    "SlowFlowJob",
    "SlowPath",
    "flow",
    "l1_path",
    "limit_map",
    "limit_map_derivative",
    "nuclear_path",
    "slow_flow",
]
