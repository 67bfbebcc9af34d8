"""Grokking Beyond the Euclidean Norm of Model Parameters, figure by figure."""

from latebloom.catalog.beyond_l2 import (
    app_f2,
    app_g2,
    blog_fig1,
    fig1,
    fig2,
    fig3,
    fig4,
    fig5,
    fig6,
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
    fig26,
    fig27,
    fig28,
    fig29,
    fig30,
    fig35,
    rescaling,
    thm3_1,
    thm3_4,
    thm3_6,
)

PAPER = "Notsawo, Dumas, Rabusseau: Grokking Beyond the Euclidean Norm of Model Parameters"
MODULES = (
    *(fig3, fig4, fig5, fig6, fig7, fig8, fig9, fig12, fig13, fig14, fig15, fig16, fig17, fig18, fig19, fig20),
    *(fig21, fig22, fig23, fig24, fig25, fig26, fig27, fig28, fig29, thm3_1, thm3_4, thm3_6, app_f2, app_g2),
    *(blog_fig1, fig1, fig2, fig30, fig35, rescaling),
)
EXPERIMENTS = tuple(module.EXPERIMENT for module in MODULES)
