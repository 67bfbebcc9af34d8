"""How the continuous limit is integrated: gradient flow, its stabilised solver, and the slow flow, its limit λ → 0."""

from latebloom.flows.chebyshev import RungeKuttaChebyshev
from latebloom.flows.gradient_flow import FlowJob, flow, flow_batch, run_flows
from latebloom.flows.riemannian_flow import SlowFlowJob, slow_flow

__all__ = ["FlowJob", "RungeKuttaChebyshev", "SlowFlowJob", "flow", "flow_batch", "run_flows", "slow_flow"]
