"""Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking, figure by figure."""

from latebloom.catalog.dichotomy import fig1a, fig1b, sample_complexity, thm3_4, thm3_5, time_law

PAPER = "Lyu, Jin, Li, Du, Lee, Hu: Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking"
MODULES = (fig1a, fig1b, thm3_4, thm3_5, time_law, sample_complexity)
EXPERIMENTS = tuple(module.EXPERIMENT for module in MODULES)
