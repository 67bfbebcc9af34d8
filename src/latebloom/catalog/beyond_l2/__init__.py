"""Grokking Beyond the Euclidean Norm of Model Parameters, figure by figure."""

from latebloom.catalog.base import entries_of
from latebloom.catalog.beyond_l2 import (
    coherence,
    completion,
    completion_theorem,
    deep_matrix,
    depth,
    images,
    leverage,
    methods,
    modular_addition,
    modular_norms,
    phase_diagrams,
    printed_size,
    rate_grids,
    register,
    rescaling,
    sampling,
    sensing,
    sensing_theorem,
    sizes,
    sparse,
    sparse_matrix,
    sparse_theory,
    teachers,
    weight_decay,
)
from latebloom.catalog.statements import Register

PAPER = "Notsawo, Dumas, Rabusseau: Grokking Beyond the Euclidean Norm of Model Parameters"
MODULES = (
    *(sparse, rate_grids, completion, weight_decay, leverage, depth, methods, sensing, coherence, sizes),
    *(sparse_theory, completion_theorem, sensing_theorem, sparse_matrix),
    *(deep_matrix, phase_diagrams, printed_size, sampling),
    *(modular_addition, modular_norms, teachers, images, rescaling),
)
ENTRIES = entries_of(*MODULES)
REGISTERS = (
    Register("beyond-l2", "beyond-l2", PAPER, register.STATEMENTS),
    Register("blog", "beyond-l2", f"{PAPER} (blog post)", register.BLOG),
)
