"""How the continuous limit is integrated: gradient flow, and the stabilised solver that makes it cheap."""

from latebloom.flows.chebyshev import RungeKuttaChebyshev
from latebloom.flows.gradient_flow import FlowJob, flow, run_flows

__all__ = ["FlowJob", "RungeKuttaChebyshev", "flow", "run_flows"]
