"""Penalties, and what is true of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import latebloom as lb
from latebloom.core.record import Record
from latebloom.penalties import AbstractPenalty
from latebloom.penalties.nuclear_norm import RANK_TOLERANCE

SIZE = 6  # entries of the vectors that penalties are tried on
# How those entries are laid out: the shape of the parameters, or of each of their parts.
VECTOR, WIDE, TALL = (SIZE,), (2, 3), (3, 2)
PARTS = {"bias": (2,), "embedding": (4,)}
MATRICES = {"bias": (1, 2), "embedding": (2, 2)}


@dataclass(frozen=True)
class PenaltyCase:
    """A penalty and what is true of it."""

    name: str
    penalty: AbstractPenalty
    convex: bool = True
    has_prox: bool = True
    separable: bool = True  # a sum over the entries, each of which can be minimised by itself
    layout: Any = VECTOR
    slack: float = 1e-12  # of the subgradient inequality: a handful of roundings of numbers up to about 100

    def wrap(self, vector: Any) -> Any:
        """The parameters whose entries are `vector`."""
        if not isinstance(self.layout, dict):
            return vector.reshape(self.layout)
        ends = np.cumsum([np.prod(shape) for shape in self.layout.values()])
        starts = (0, *ends[:-1])
        parts = zip(self.layout.items(), starts, ends, strict=True)
        return {part: vector[start:end].reshape(shape) for (part, shape), start, end in parts}

    def flat(self, params: Any) -> np.ndarray:
        """The entries of the parameters."""
        leaves = [params[part] for part in self.layout] if isinstance(self.layout, dict) else [params]
        return np.concatenate([np.ravel(leaf) for leaf in leaves])

    def __str__(self) -> str:
        return self.name


def _lp(p: float) -> PenaltyCase:
    return PenaltyCase(f"lp-{p:g}", lb.Lp(0.4, p=p), convex=False)


def _nuclear(name: str, penalty: AbstractPenalty, layout: Any = WIDE, *, has_prox: bool = True) -> PenaltyCase:
    # A singular value below RANK_TOLERANCE of the largest, here at most 13, has no part in the subgradient.
    slack = 13 * RANK_TOLERANCE
    return PenaltyCase(name, penalty, separable=False, layout=layout, has_prox=has_prox, slack=slack)


PENALTIES = (
    PenaltyCase("l1", lb.L1(0.3)),
    PenaltyCase("l1-of-strength-0", lb.L1(0.0)),
    PenaltyCase("l2", lb.L2(0.7)),
    PenaltyCase("weighted-l2", lb.WeightedL2(0.7, [0.0, 0.5, 1.0, 2.0, 3.0, 0.1])),
    PenaltyCase("l2-norm", lb.L2Norm(0.9), separable=False),
    _lp(0.3),
    _lp(0.5),
    _lp(0.8),
    PenaltyCase("elastic-net", lb.L1(0.3) + lb.L2(0.7)),
    PenaltyCase("sparse-group", lb.L1(0.3) + lb.L2Norm(0.5), separable=False),
    PenaltyCase("ridge-and-norm", lb.L2Norm(0.5) + lb.L2(0.7), separable=False),
    PenaltyCase("all-three", lb.L2(0.7) + lb.L2Norm(0.5) + lb.L1(0.3), separable=False),
    PenaltyCase("l1-twice", lb.L1(0.3) + lb.L1(0.2), has_prox=False),
    PenaltyCase("lp-and-l2", lb.Lp(0.4) + lb.L2(0.7), convex=False, has_prox=False),
    PenaltyCase("l1-on-a-part", lb.OnParts(lb.L1(0.3), "embedding"), layout=PARTS),
    PenaltyCase("lp-on-a-part", lb.OnParts(lb.Lp(0.4), "bias"), layout=PARTS, convex=False),
    PenaltyCase("norm-on-both-parts", lb.OnParts(lb.L2Norm(0.5), "embedding", "bias"), layout=PARTS, separable=False),
    PenaltyCase("elastic-net-on-a-part", lb.OnParts(lb.L1(0.3) + lb.L2(0.7), "bias"), layout=PARTS),
    _nuclear("nuclear-wide", lb.NuclearNorm(0.4)),
    _nuclear("nuclear-tall", lb.NuclearNorm(0.4), TALL),
    _nuclear("nuclear-of-layers", lb.NuclearNorm(0.4), MATRICES),
    _nuclear("nuclear-on-a-part", lb.OnParts(lb.NuclearNorm(0.4), "embedding"), MATRICES),
    _nuclear("nuclear-and-l2", lb.NuclearNorm(0.4) + lb.L2(0.7)),
    _nuclear("nuclear-and-l2-norm", lb.L2Norm(0.5) + lb.NuclearNorm(0.4), TALL),
    _nuclear("nuclear-and-both-norms", lb.L2(0.7) + lb.NuclearNorm(0.4) + lb.L2Norm(0.5), MATRICES),
    _nuclear("nuclear-and-l1", lb.NuclearNorm(0.4) + lb.L1(0.3), has_prox=False),
)
CONVEX = tuple(case for case in PENALTIES if case.convex)
PROXIMABLE = tuple(case for case in PENALTIES if case.has_prox)


def examples(count: int = 6) -> list[np.ndarray]:
    """Vectors of several sizes, with exact zeros among their entries."""
    random = np.random.default_rng(0)
    drawn = [random.normal(size=SIZE) * scale for scale in np.geomspace(0.1, 2, count)]
    for vector in drawn[::2]:
        vector[random.integers(SIZE)] = 0.0
    return drawn


WRITTEN_OTHERWISE: tuple[Record, ...] = (
    lb.OnParts(lb.OnParts(lb.L1(0.1), "a", "b c") + lb.L2(0.1), "a", "b c", "d"),
    lb.L1(1 / 3),
    lb.L1(5e-324),
)
