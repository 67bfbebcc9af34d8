"""How the continuous limit is integrated: gradient flow, its stabilised solver, and slow flows, its limits λ → 0."""

from latebloom.flows.dual.form import DualForm
from latebloom.flows.dual.job import DualFlowJob, dual_flow, run_dual_flows
from latebloom.flows.gradient.chebyshev import RungeKuttaChebyshev
from latebloom.flows.gradient.job import FlowJob, flow, flow_batch, run_flows
from latebloom.flows.paths.l1 import l1_path
from latebloom.flows.paths.nuclear import nuclear_path
from latebloom.flows.paths.slow_path import SlowPath
from latebloom.flows.slow.job import SlowFlowJob, slow_flow
from latebloom.flows.slow.limit import LimitPoint, limit_map, limit_map_derivative

__all__ = [
    "DualFlowJob",
    "DualForm",
    "FlowJob",
    "LimitPoint",
    "RungeKuttaChebyshev",
    "SlowFlowJob",
    "SlowPath",
    "dual_flow",
    "flow",
    "flow_batch",
    "l1_path",
    "limit_map",
    "limit_map_derivative",
    "nuclear_path",
    "run_dual_flows",
    "run_flows",
    "slow_flow",
]
