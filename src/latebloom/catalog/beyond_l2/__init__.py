"""Grokking Beyond the Euclidean Norm of Model Parameters, figure by figure."""

from latebloom.catalog.base import entries_of
from latebloom.catalog.beyond_l2 import (
    app_f2,
    app_g2,
    fig5,
    fig7,
    fig8,
    fig9,
    fig12,
    fig13,
    fig14,
    fig15,
    fig16,
    fig17,
    fig18,
    fig19,
    fig20,
    fig21,
    fig22,
    fig23,
    fig24,
    fig25,
    fig27,
    fig28,
    images,
    modular_addition,
    modular_norms,
    rate_grids,
    rescaling,
    sparse,
    teachers,
    thm3_1,
    thm3_4,
    thm3_6,
)

PAPER = "Notsawo, Dumas, Rabusseau: Grokking Beyond the Euclidean Norm of Model Parameters"
MODULES = (
    *(sparse, rate_grids, fig5, fig7, fig8, fig9, fig12, fig13, fig14, fig15, fig16, fig17, fig18, fig19, fig20),
    *(fig21, fig22, fig23, fig24, fig25, fig27, fig28, thm3_1, thm3_4, thm3_6, app_f2, app_g2),
    *(modular_addition, modular_norms, teachers, images, rescaling),
)
ENTRIES = entries_of(*MODULES)
