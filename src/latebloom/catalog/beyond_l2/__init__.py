"""Grokking Beyond the Euclidean Norm of Model Parameters, figure by figure."""

from latebloom.catalog.base import entries_of
from latebloom.catalog.beyond_l2 import (
    blog_fig1,
    completion,
    completion_theorem,
    deep_matrix,
    fig1,
    fig2,
    fig7,
    fig9,
    fig10,
    fig11,
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
    fig30,
    fig31,
    fig32,
    fig33,
    fig34,
    fig35,
    leverage,
    phase_diagrams,
    rate_grids,
    rescaling,
    sensing,
    sparse,
    thm3_1,
    thm3_6,
)

PAPER = "Notsawo, Dumas, Rabusseau: Grokking Beyond the Euclidean Norm of Model Parameters"
MODULES = (
    *(sparse, rate_grids, completion, fig7, leverage, fig9, fig12, fig13, sensing, fig16, fig17, fig18, fig19, fig20),
    *(fig21, fig22, fig24, fig25, fig27, fig28, thm3_1, completion_theorem, thm3_6, deep_matrix, phase_diagrams),
    *(blog_fig1, fig1, fig2, fig30, fig10, fig11, fig31, fig32, fig33, fig34, fig35, rescaling),
)
ENTRIES = entries_of(*MODULES)
