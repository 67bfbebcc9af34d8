"""Grokking Beyond the Euclidean Norm of Model Parameters, figure by figure."""

from latebloom.catalog.base import entries_of
from latebloom.catalog.beyond_l2 import (
    coherence,
    coherence_theory,
    coherent_descent,
    completion,
    completion_theorem,
    deep_matrix,
    depth,
    elastic_net,
    images,
    leverage,
    methods,
    modular_addition,
    modular_norms,
    noise,
    phase_diagrams,
    rate_grids,
    register,
    rescaling,
    sensing,
    sign_iteration,
    sizes,
    sparse,
    sparse_theory,
    teachers,
    weight_decay,
)
from latebloom.catalog.statements import Register

PAPER = "Notsawo, Dumas, Rabusseau: Grokking Beyond the Euclidean Norm of Model Parameters"
MODULES = (
    *(
        sparse,
        rate_grids,
        completion,
        weight_decay,
        leverage,
        depth,
        methods,
        sensing,
        coherence,
        coherent_descent,
        sizes,
    ),
    *(sparse_theory, noise, sign_iteration, elastic_net, coherence_theory),
    *(completion_theorem, deep_matrix, phase_diagrams),
    *(modular_addition, modular_norms, teachers, images, rescaling),
)
ENTRIES = entries_of(*MODULES)
REGISTERS = (
    Register("beyond-l2", "beyond-l2", PAPER, register.STATEMENTS),
    Register("blog", "beyond-l2", f"{PAPER} (blog post)", register.BLOG),
)
