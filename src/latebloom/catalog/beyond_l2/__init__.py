"""Grokking Beyond the Euclidean Norm of Model Parameters, figure by figure."""

from latebloom.catalog.beyond_l2 import fig3

EXPERIMENTS = tuple(module.EXPERIMENT for module in (fig3,))
