"""How the continuous limit is integrated: gradient flow, and the stabilised solver that makes it cheap."""

from latebloom.flows.chebyshev import RungeKuttaChebyshev
from latebloom.flows.dual import DualForm
from latebloom.flows.dual_flow import DualFlowJob, dual_flow, run_dual_flows
from latebloom.flows.gradient_flow import FlowJob, flow, flow_batch, run_flows

__all__ = [
    "DualFlowJob",
    "DualForm",
    "FlowJob",
    "RungeKuttaChebyshev",
    "dual_flow",
    "flow",
    "flow_batch",
    "run_dual_flows",
    "run_flows",
]
