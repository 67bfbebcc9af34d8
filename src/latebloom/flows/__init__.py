"""How the continuous limit is integrated: gradient flow, and the stabilised solver that makes it cheap."""

from latebloom.flows.chebyshev import RungeKuttaChebyshev
from latebloom.flows.gradient_flow import FlowJob, flow, flow_batch, run_flows

__all__ = ["FlowJob", "RungeKuttaChebyshev", "flow", "flow_batch", "run_flows"]
