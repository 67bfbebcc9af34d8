"""Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking, figure by figure."""

from latebloom.catalog.base import entries_of
from latebloom.catalog.dichotomy import (
    fig1a,
    fig1b,
    fig3,
    fig4,
    label_noise,
    relu_delays,
    relu_net,
    sample_complexity,
    thm3_4,
    thm3_5,
    thm3_9,
    thm3_10,
    thm3_12,
    time_law,
)

PAPER = "Lyu, Jin, Li, Du, Lee, Hu: Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking"
MODULES = (
    fig1a,
    fig1b,
    relu_net,
    relu_delays,
    fig3,
    fig4,
    thm3_4,
    thm3_5,
    thm3_9,
    thm3_10,
    thm3_12,
    time_law,
    sample_complexity,
    label_noise,
)
ENTRIES = entries_of(*MODULES)
