"""The Geometry of Grokking: Norm Minimization on the Zero-Loss Manifold, figure by figure."""

from latebloom.catalog.base import entries_of
from latebloom.catalog.geometry import curved, isolated, joint, linear, neighbourhood, register
from latebloom.catalog.statements import Register

PAPER = "Anonymous: The Geometry of Grokking: Norm Minimization on the Zero-Loss Manifold"
MODULES = (linear, curved, isolated, neighbourhood, joint)
ENTRIES = entries_of(*MODULES)
REGISTERS = (Register("geometry", "geometry", PAPER, register.STATEMENTS),)
