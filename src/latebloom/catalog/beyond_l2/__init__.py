"""Grokking Beyond the Euclidean Norm of Model Parameters, figure by figure."""

from latebloom.catalog.base import entries_of
from latebloom.catalog.beyond_l2 import (
    app_f2,
    app_g2,
    blog_fig1,
    coherence,
    depth,
    fig1,
    fig2,
    fig5,
    fig8,
    fig10,
    fig11,
    fig14,
    fig15,
    fig23,
    fig30,
    fig31,
    fig32,
    fig33,
    fig34,
    fig35,
    methods,
    rate_grids,
    rescaling,
    sizes,
    sparse,
    sparse_theory,
    thm3_4,
    weight_decay,
)

PAPER = "Notsawo, Dumas, Rabusseau: Grokking Beyond the Euclidean Norm of Model Parameters"
MODULES = (
    *(sparse, rate_grids, fig5, weight_decay, fig8, depth, methods, fig14, fig15, coherence, fig23, sizes),
    *(sparse_theory, thm3_4, app_f2, app_g2),
    *(blog_fig1, fig1, fig2, fig30, fig10, fig11, fig31, fig32, fig33, fig34, fig35, rescaling),
)
ENTRIES = entries_of(*MODULES)
