"""Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking, figure by figure."""

from latebloom.catalog.dichotomy import fig3, label_noise, thm3_9, thm3_10, thm3_12

PAPER = "Lyu, Jin, Li, Du, Lee, Hu: Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking"
MODULES = (fig3, thm3_9, thm3_10, thm3_12, label_noise)
EXPERIMENTS = tuple(module.EXPERIMENT for module in MODULES)
