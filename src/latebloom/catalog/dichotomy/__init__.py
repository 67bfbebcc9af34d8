"""Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking, figure by figure."""

from latebloom.catalog.base import entries_of
from latebloom.catalog.dichotomy import (
    classification,
    completion,
    label_noise,
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
    *(classification, relu_net, relu_delays, completion, without_decay, scales, regression),
    *(time_law, sample_complexity, label_noise),
    *(sam, linear_rate),
)
ENTRIES = entries_of(*MODULES)
REGISTERS = (Register("dichotomy", "dichotomy", PAPER, register.STATEMENTS),)
