"""How the continuous limit is integrated: gradient flow, and the stabilised solver that makes it cheap."""

from latebloom.flows.chebyshev import RungeKuttaChebyshev
from latebloom.flows.gradient_flow import FlowJob, flow, run_flows
from latebloom.flows.l1_path import l1_path
from latebloom.flows.slow_path import SlowPath

__all__ = ["FlowJob", "RungeKuttaChebyshev", "SlowPath", "flow", "l1_path", "run_flows"]
