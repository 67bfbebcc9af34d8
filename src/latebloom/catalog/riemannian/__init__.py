"""A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm Minimisation, figure by figure."""

from latebloom.catalog.base import entries_of
from latebloom.catalog.riemannian import (
    completion,
    diagonal_net,
    fast_phase,
    full_width,
    least_norm,
    limit_map,
    linear_regression,
    register,
    relu_net,
    sensing,
    slow_phase,
    slow_smooth,
    two_phases,
)
from latebloom.catalog.statements import Register

PAPER = (
    "Boursier, Pesme, Dragomir: A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm "
    "Minimisation"
)
MODULES = (
    two_phases,
    completion,
    relu_net,
    diagonal_net,
    linear_regression,
    fast_phase,
    slow_phase,
    least_norm,
    slow_smooth,
    limit_map,
    full_width,
    sensing,
)
ENTRIES = entries_of(*MODULES)
REGISTERS = (Register("riemannian", "riemannian", PAPER, register.STATEMENTS),)
