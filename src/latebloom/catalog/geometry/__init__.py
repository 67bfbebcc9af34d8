"""The Geometry of Grokking: Norm Minimization on the Zero-Loss Manifold, figure by figure."""

from latebloom.catalog.base import entries_of
from latebloom.catalog.geometry import (
    circles,
    cost,
    curved,
    isolated,
    joint,
    linear,
    neighbourhood,
    orthogonality,
    register,
)
from latebloom.catalog.statements import Register

PAPER = "Anonymous: The Geometry of Grokking: Norm Minimization on the Zero-Loss Manifold"
MODULES = (linear, curved, isolated, neighbourhood, orthogonality, cost, joint)
ENTRIES = entries_of(*MODULES)
CLAIMS = (circles,)  # modules that add claims to these
REGISTERS = (Register("geometry", "geometry", PAPER, register.STATEMENTS),)
