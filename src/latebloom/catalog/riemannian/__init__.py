"""A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm Minimisation, figure by figure."""

from latebloom.catalog.base import entries_of
from latebloom.catalog.riemannian import (
    completion,
    fast_phase,
    linear_regression,
    networks,
    register,
    sensing,
    slow_phase,
)
from latebloom.catalog.statements import Register

PAPER = (
    "Boursier, Pesme, Dragomir: A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm "
    "Minimisation"
)
MODULES = (completion, networks, linear_regression, fast_phase, slow_phase, sensing)
ENTRIES = entries_of(*MODULES)
REGISTERS = (Register("riemannian", "riemannian", PAPER, register.STATEMENTS),)
