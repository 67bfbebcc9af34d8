"""Norms of the weights of a network, and what else is read off one."""

from __future__ import annotations

import numpy as np
import pytest

import latebloom as lb
from latebloom.problems import EmbeddingMLP

P = 11


def test_probes_of_a_network():
    """Rung 2: plain NumPy on the parameters of a short run, in which a penalty that is too strong wins."""
    from latebloom.probes import FourierNorms, TestLoss, UnmirroredAccuracy, WeightNorm

    problem = EmbeddingMLP(P, 8, dimension=4, embeddings=2, train_share=0.6)
    kinds = [WeightNorm(kind, part) for kind in ("l1", "l2", "nuclear") for part in (None, "second_embedding")]
    probes = [*kinds, TestLoss(), UnmirroredAccuracy(), FourierNorms("embedding"), FourierNorms("second_embedding")]
    run = lb.train(problem, lb.Optax("adam", learning_rate=1e-2), lb.L1(1.0), steps=500, probes=probes)
    weights = [run.params[name].astype(float) for name in problem.weights]
    expected = {
        "l1_norm_of_weights": sum(np.abs(w).sum() for w in weights),
        "l2_norm_of_weights": np.sqrt(sum((w**2).sum() for w in weights)),
        "nuclear_norm_of_weights": sum(np.linalg.norm(w, "nuc") for w in weights),
        "nuclear_norm_of_second_embedding": np.linalg.norm(weights[1], "nuc"),
        "test_loss": float(problem.test_loss(run.params)),
    }
    for name, value in expected.items():
        assert run.final[name] == pytest.approx(value, rel=1e-4), name
    wave = np.exp(-2j * np.pi * np.arange(P) / P) @ weights[1] / P
    assert run["fourier_norms_of_second_embedding"][-1][0] == pytest.approx(np.linalg.norm(wave.real), rel=1e-3)
    right = np.argmax(problem.scores(run.params, "test"), axis=1) == problem.test_labels
    assert run.final["unmirrored_accuracy"] == pytest.approx(np.mean(right[np.asarray(problem.unmirrored)]))
    assert (
        "no lower than that of one answer for all rows: probably L1(strength=1) outweighs the loss"
        in run.outcome.sentence
    )
