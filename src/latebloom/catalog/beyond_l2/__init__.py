"""Grokking Beyond the Euclidean Norm of Model Parameters, figure by figure."""

from latebloom.catalog.beyond_l2 import (
    fig3,
    fig4,
    fig7,
    fig9,
    fig12,
    fig13,
    fig16,
    fig17,
    fig18,
    fig19,
    fig20,
    fig21,
    fig22,
    fig24,
    fig25,
    fig26,
    fig27,
    fig28,
    thm3_1,
    thm3_6,
)

PAPER = "Notsawo, Dumas, Rabusseau: Grokking Beyond the Euclidean Norm of Model Parameters"
MODULES = (
    *(fig3, fig4, fig7, fig9, fig12, fig13, fig16, fig17, fig18, fig19, fig20),
    *(fig21, fig22, fig24, fig25, fig26, fig27, fig28, thm3_1, thm3_6),
)
EXPERIMENTS = tuple(module.EXPERIMENT for module in MODULES)
