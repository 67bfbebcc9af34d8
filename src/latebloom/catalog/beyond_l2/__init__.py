"""Grokking Beyond the Euclidean Norm of Model Parameters, figure by figure."""

from latebloom.catalog.base import entries_of
from latebloom.catalog.beyond_l2 import (
    completion,
    completion_theorem,
    deep_matrix,
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
    fig27,
    fig28,
    images,
    leverage,
    modular_addition,
    modular_norms,
    phase_diagrams,
    rate_grids,
    rescaling,
    sensing,
    sparse,
    teachers,
    thm3_1,
    thm3_6,
)

PAPER = "Notsawo, Dumas, Rabusseau: Grokking Beyond the Euclidean Norm of Model Parameters"
MODULES = (
    *(sparse, rate_grids, completion, fig7, leverage, fig9, fig12, fig13, sensing, fig16, fig17, fig18, fig19, fig20),
    *(fig21, fig22, fig24, fig25, fig27, fig28, thm3_1, completion_theorem, thm3_6, deep_matrix, phase_diagrams),
    *(modular_addition, modular_norms, teachers, images, rescaling),
)
ENTRIES = entries_of(*MODULES)
