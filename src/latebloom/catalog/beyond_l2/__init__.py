"""Grokking Beyond the Euclidean Norm of Model Parameters, figure by figure."""

from latebloom.catalog.base import entries_of
from latebloom.catalog.beyond_l2 import (
    blog_accounts,
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
    main_theorem,
    methods,
    misprints,
    modular_addition,
    modular_grids,
    modular_norms,
    noise,
    perturbation,
    phase_diagrams,
    plain_descent,
    printed_size,
    rate_grids,
    register,
    rescaling,
    sampling,
    sensing,
    sensing_theorem,
    sign_iteration,
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
    *(sparse, rate_grids, completion, weight_decay, leverage, depth, methods, sensing),
    *(coherence, coherent_descent, sizes),
    *(main_theorem, perturbation, misprints, blog_accounts),
    *(sparse_theory, noise, sign_iteration, elastic_net, coherence_theory),
    *(completion_theorem, sensing_theorem, sparse_matrix, deep_matrix, phase_diagrams, printed_size, sampling),
    *(modular_addition, modular_norms, modular_grids, plain_descent, teachers, images, rescaling),
)
ENTRIES = entries_of(*MODULES)
REGISTERS = (
    Register("beyond-l2", "beyond-l2", PAPER, register.STATEMENTS),
    Register("blog", "beyond-l2", f"{PAPER} (blog post)", register.BLOG),
)
