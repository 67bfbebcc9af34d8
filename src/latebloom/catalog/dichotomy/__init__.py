"""Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking, figure by figure."""

from latebloom.catalog.base import entries_of
from latebloom.catalog.dichotomy import (
    classification,
    completion,
    completion_end,
    generalisation_bounds,
    kernel_limit,
    label_noise,
    landscape,
    lemmas_classification,
    lemmas_regression,
    linear_rate,
    register,
    regression,
    relu_delays,
    relu_net,
    sam,
    sample_complexity,
    scales,
    time_law,
    without_decay,
)
from latebloom.catalog.statements import Register

PAPER = "Lyu, Jin, Li, Du, Lee, Hu: Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking"
MODULES = (
    *(classification, relu_net, relu_delays, completion, completion_end, without_decay, scales, regression),
    *(time_law, sample_complexity, generalisation_bounds, label_noise, sam, linear_rate),
    *(kernel_limit, lemmas_classification, lemmas_regression, landscape),
)
ENTRIES = entries_of(*MODULES)
REGISTERS = (Register("dichotomy", "dichotomy", PAPER, register.STATEMENTS),)
