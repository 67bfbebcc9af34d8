"""Methods, what each asks for, and what it is tried on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import latebloom as lb
from cases.problems import SIGNS, sparse, student
from latebloom.core.record import Record
from latebloom.methods import AbstractMethod
from latebloom.penalties import AbstractPenalty

STRENGTH = 3e-2


def falling(step: Any) -> Any:
    """A learning rate that falls with the step."""
    return 0.1 / (1 + step / 100)


@dataclass(frozen=True)
class MethodCase:
    """A method, what it asks for, and a problem and a penalty that give it that."""

    name: str
    method: AbstractMethod
    needs_prox: bool = False
    needs_linear: bool = False
    problem: Any = field(default_factory=lambda: sparse(init_scale=2.0))
    penalty: AbstractPenalty | None = lb.L1(STRENGTH)

    def __str__(self) -> str:
        return self.name


METHODS = (
    MethodCase("subgradient", lb.GradientDescent(0.1)),
    MethodCase("projected", lb.ProjectedSubgradient(0.01), needs_linear=True),
    MethodCase("ista", lb.ProximalGradient(0.1), needs_prox=True),
    MethodCase("fista", lb.AcceleratedProximalGradient(0.1), needs_prox=True),
    MethodCase("adam", lb.Optax("adam", learning_rate=0.01)),
    MethodCase("adam-with-options", lb.Optax("adam", learning_rate=0.01, b1=0.8, b2=0.95)),
    MethodCase("label-noise", lb.LabelNoise(0.005, noise=0.01)),
    MethodCase("momentum", lb.Optax("sgd", learning_rate=0.01, momentum=0.9)),
    MethodCase("minibatches", lb.Minibatch(lb.GradientDescent(0.1), 3), problem=student()),
    MethodCase("minibatches-of-adam", lb.Minibatch(lb.Optax("adam", 0.01), 4, seed=2), problem=student()),
    MethodCase("adam-by-name", lb.Adam(0.01, b1=0.8)),
    MethodCase("adamw", lb.AdamW(0.01, weight_decay=0.1)),
    MethodCase("sgd-nesterov", lb.SGD(0.01, momentum=0.9, nesterov=True)),
    MethodCase("scheduled", lb.Scheduled(lb.GradientDescent(1.0), falling, name="falling")),
    MethodCase(
        "log-loss",
        lb.LogLossDescent(0.05),
        problem=lb.problems.DiagonalClassifier(SIGNS, init_scale=0.4),
        penalty=None,
    ),
)
# On a vector that is measured linearly; the others need rows, or the logarithm of a loss.
ON_A_VECTOR = METHODS[:8]

WRITTEN_OTHERWISE: tuple[Record, ...] = (
    lb.LogLossDescent(0.1),
    lb.Minibatch(lb.Optax("adamw", 0.01, weight_decay=0.1, nesterov=True), 4, seed=2**40),
    lb.LabelNoise(0.1, noise=0.2, batch="full", seed=7),
)
