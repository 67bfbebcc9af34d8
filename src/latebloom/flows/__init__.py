"""How the continuous limit is integrated: gradient flow, its stabilised solver, and slow flows, its limits λ → 0."""

from latebloom.flows.chebyshev import RungeKuttaChebyshev
from latebloom.flows.dual import DualForm
from latebloom.flows.dual_flow import DualFlowJob, dual_flow, run_dual_flows
from latebloom.flows.gradient_flow import FlowJob, flow, flow_batch, run_flows
from latebloom.flows.l1_path import l1_path
from latebloom.flows.nuclear_path import nuclear_path
from latebloom.flows.riemannian_flow import SlowFlowJob, slow_flow
from latebloom.flows.slow_path import SlowPath

__all__ = [
    "DualFlowJob",
    "DualForm",
    "FlowJob",
    "RungeKuttaChebyshev",
    "SlowFlowJob",
    "SlowPath",
    "dual_flow",
    "flow",
    "flow_batch",
    "l1_path",
    "nuclear_path",
    "run_dual_flows",
    "run_flows",
    "slow_flow",
]
