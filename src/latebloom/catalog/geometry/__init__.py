"""The Geometry of Grokking: Norm Minimization on the Zero-Loss Manifold, figure by figure."""

from latebloom.catalog.base import entries_of
from latebloom.catalog.geometry import curved, fig4, joint_vs_isolated, linear, thm4_9, thm4_13

PAPER = "Anonymous: The Geometry of Grokking: Norm Minimization on the Zero-Loss Manifold"
MODULES = (linear, curved, fig4, thm4_9, thm4_13, joint_vs_isolated)
ENTRIES = entries_of(*MODULES)
