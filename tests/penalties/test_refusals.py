"""Penalties that cannot be meant, and parameters that they are not for, are refused in one sentence."""

from __future__ import annotations

from operator import add

import jax.numpy as jnp
from cases import PENALTIES, SIZE, sparse
from refusals import Refusal, refusals

import latebloom as lb
from latebloom.errors import CapabilityError, InputError
from latebloom.penalties import Sum

NAN, INF = float("nan"), float("inf")
STRENGTHS = {
    -1e-9: "strength=-1e-09 is not allowed: strength must be finite and at least 0",
    NAN: "strength=nan is not allowed",
    INF: "strength=inf is not allowed",
    "strong": "strength must be a number, not 'strong': write it in digits",
    None: "strength must be a number, not None",
}
PARTS = {"weights": jnp.ones((2, 2)), "bias": jnp.ones(2)}
NAMED = {"embedding": jnp.ones(2), "bias": jnp.ones(1)}
REFUSED = [
    *(
        (kind, strength, words)
        for kind in (lb.L1, lb.L2, lb.L2Norm, lb.Lp, lb.NuclearNorm)
        for strength, words in STRENGTHS.items()
    ),
    *(
        (lb.Lp, {"strength": 0.1, "p": p}, "is not allowed: p must be finite and above 0 and below 1")
        for p in (0, 1, -0.5, 2, NAN)
    ),
    (lb.OnParts, lb.L1(0.1), "at least one part: OnParts(L1(1e-5), 'embedding')"),
    (
        lb.OnParts(lb.L1(0.1), "embeding").value,
        (NAMED,),
        "unknown part 'embeding': did you mean 'embedding'? Known: bias, emb",
    ),
    (Sum, lb.L1(0.1), "two terms or more, got 1: use the penalty itself"),
    (add, (lb.L1(0.1), 3), "a Sum adds penalties, not 3: write e.g. L1(1e-5) + L2(1e-3)"),
    (lb.WeightedL2(1.0, [1.0, 2.0, 3.0]).check, jnp.zeros((2, 4)), "weights has shape"),
    (lb.WeightedL2(1.0, [1.0]).check, ({"a": jnp.zeros(1), "b": jnp.zeros(1)},), "weights has shape"),
    (lb.WeightedL2, (1.0, [1.0, -2.0]), "negative entry, -2"),
]
ONE, BOTH = lb.NuclearNorm(0.5), lb.L2(0.1) + lb.NuclearNorm(0.5)
MATRICES = "NuclearNorm(strength=0.5) needs matrices; {} has shape {}: use OnParts(NuclearNorm(…), 'name') on"
UNABLE = [
    (lb.OnParts(lb.L1(0.1), "embedding").value, jnp.ones(2), "needs parameters in a dictionary, not …: name them"),
    *(
        (penalty.check, jnp.ones(shape), MATRICES.format("the parameter", shape))
        for penalty in (ONE, BOTH)
        for shape in ((3,), (2, 2, 2), ())
    ),
    *((penalty.check, (PARTS,), MATRICES.format("['bias']", "(2,)")) for penalty in (ONE, BOTH)),
    (lb.OnParts(ONE, "weights", "bias").check, (PARTS,), "['bias'] has shape (2,)"),
    (
        lb.train,
        {"problem": sparse(), "method": lb.GradientDescent(0.1), "penalty": lb.NuclearNorm(1e-3), "steps": 10},
        "needs matrices; the parameter has shape (20,)",
    ),
    *(
        (
            case.penalty.prox,
            (case.wrap(jnp.ones(SIZE)), 0.1),
            "needs a penalty with a prox; … + … has none: use Gradien",
        )
        for case in PENALTIES
        if not case.has_prox
    ),
]


@refusals({InputError: REFUSED, CapabilityError: UNABLE})
def test_what_cannot_be_preferred_is_refused(refusal: Refusal):
    refusal.check()
