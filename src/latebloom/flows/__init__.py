"""How the continuous limit is integrated: gradient flow, its stabilised solver, and slow flows on linear problems."""

from latebloom.flows.chebyshev import RungeKuttaChebyshev
from latebloom.flows.gradient_flow import FlowJob, flow, run_flows
from latebloom.flows.l1_path import l1_path
from latebloom.flows.nuclear_path import nuclear_path
from latebloom.flows.slow_path import SlowPath

__all__ = ["FlowJob", "RungeKuttaChebyshev", "SlowPath", "flow", "l1_path", "nuclear_path", "run_flows"]
