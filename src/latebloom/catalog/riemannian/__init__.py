"""A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm Minimisation, figure by figure."""

from latebloom.catalog.base import entries_of
from latebloom.catalog.riemannian import (
    completion,
    junction,
    linear_regression,
    networks,
    prop1,
    prop2,
    prop4,
    sensing,
)

PAPER = (
    "Boursier, Pesme, Dragomir: A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm "
    "Minimisation"
)
MODULES = (completion, networks, linear_regression, prop1, junction, prop2, prop4, sensing)
ENTRIES = entries_of(*MODULES)
