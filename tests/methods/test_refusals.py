"""Steps that cannot be made are refused in one sentence, before anything runs."""

from __future__ import annotations

from typing import Any

import optax
from cases import METHODS, PENALTIES, PROBLEMS, Mute, embedded, sparse
from refusals import Refusal, refusals

import latebloom as lb
from latebloom.errors import CapabilityError, InputError
from latebloom.problems import DiagonalClassifier, LabelledPoints, ModularClassifier

NAN, INF = float("nan"), float("inf")
ADAM = lb.Optax("adam", learning_rate=1e-2)
RATES = {
    0: "learning_rate=0 is not allowed: learning_rate must be finite and above 0",
    -0.1: "learning_rate=-0.1 is not allowed",
    NAN: "learning_rate=nan is not allowed",
    INF: "learning_rate=inf is not allowed",
    "fast": "learning_rate must be a number, not 'fast'",
}
KINDS = (
    *(lb.GradientDescent, lb.ProjectedSubgradient, lb.ProximalGradient, lb.AcceleratedProximalGradient),
    *(lb.LogLossDescent, lb.LabelNoise),
)


def _train(problem: Any, method: Any, penalty: Any = None) -> Any:
    return lb.train(problem, method, penalty, steps=1)


def _optax(optimiser: Any, **options: Any) -> Any:
    return lb.Optax(optimiser, 0.1, **options)


def _noise(**changes: Any) -> Any:
    return lb.LabelNoise(**({"learning_rate": 0.1} | changes))


REFUSED = [
    *((kind, rate, words) for kind in KINDS for rate, words in RATES.items()),
    (_noise, {"noise": -1.0}, "noise=-1.0 is not allowed: noise must be finite and at least 0"),
    (_noise, {"batch": "two"}, "unknown batch 'two'"),
    (_noise, {"seed": -1}, "seed=-1"),
    (_optax, "adamm", "unknown optax optimiser 'adamm': did you mean 'adam'"),
    (_optax, {"optimiser": "adam", "beta1": 0.9}, "unknown option of adam 'beta1'…b1"),
    (_optax, {"optimiser": "adam", "b1": "high"}, "b1 must be a number, not 'high'"),
    (
        _optax,
        {"optimiser": optax.adam(0.1), "b1": 0.9},
        "options b1 go with an optimiser given by name, not with an obj",
    ),
    (_optax, 3, "3 is not an optax transformation: pass a name such as 'adam'"),
    (
        _optax,
        {"optimiser": "adam", "nesterov": 1},
        "optax.adam cannot compute with nesterov as a number: use true or false",
    ),
    (_optax, {"optimiser": "sgd", "momentum": "abc"}, "optax.sgd refuses its options: "),
    *(
        (
            _optax,
            {"optimiser": name, option: value},
            f"{option}={value} is not allowed: {option} must be finite and {rest}",
        )
        for name, option, value, rest in (
            ("adam", "b1", 1.5, "at least 0 and below 1"),
            ("adam", "b2", 1, "at least 0 and below 1"),
            ("sgd", "momentum", -0.1, "at least 0 and below 1"),
            ("adam", "eps", -1e-8, "at least 0"),
            ("adamw", "weight_decay", -0.1, "at least 0"),
        )
    ),
    (
        _train,
        (embedded(), lb.Minibatch(ADAM, 30)),
        "size=30 is not allowed: EmbeddingMLP has 29 training rows; use at most 29",
    ),
    *((lb.Minibatch, (wrong, 4), "Minibatch wraps a method") for wrong in ("adam", lb.Minibatch(ADAM, 4))),
    (lb.Minibatch, (ADAM, 0), "size=0 is not allowed"),
]
ROWS = ModularClassifier(5, 8, train_share=0.9)
POINT = DiagonalClassifier(LabelledPoints([[1.0]], [1]), loss_kind="exponential")
UNABLE = [
    *(
        (
            _train,
            (sparse(), case.method, wrong.penalty),
            f"{type(case.method).__name__} needs a penalty with a prox; … + … has none: use GradientDescent instead",
        )
        for case in METHODS
        if case.needs_prox
        for wrong in PENALTIES
        if not wrong.has_prox
    ),
    *(
        (
            _train,
            (case.problem, lb.ProjectedSubgradient(0.1), lb.L1(0.1)),
            "ProjectedSubgradient needs a problem that is linear…depth=1",
        )
        for case in PROBLEMS
        if not case.linear
    ),
    (
        _train,
        (sparse(), lb.ProjectedSubgradient(0.1)),
        "descends on the penalty alone and has none: pass penalty=L1",
    ),
    (
        _train,
        (embedded(), lb.Minibatch(lb.ProjectedSubgradient(0.1), 8), lb.L1(1e-3)),
        "ProjectedSubgradient needs a problem that is linear",
    ),
    (_train, (sparse(), lb.Minibatch(ADAM, 4)), "a mean over training rows; SparseRecovery is not: use the method"),
    (
        _train,
        (ROWS, lb.Minibatch(lb.LogLossDescent(0.03), 4)),
        "LogLossDescent needs all rows at once: use it without Minibatch",
    ),
    (
        _train,
        (sparse(), lb.LogLossDescent(0.1)),
        "needs a problem that gives the logarithm of its loss; SparseRecovery",
    ),
    (_train, (POINT, lb.LogLossDescent(0.1), lb.L2(1e-3)), "leave the penalty out"),
    (_train, (Mute(), lb.LabelNoise(0.1)), "LabelNoise needs a least-squares problem"),
]


@refusals({InputError: REFUSED, CapabilityError: UNABLE})
def test_a_step_that_cannot_be_made_is_refused(refusal: Refusal):
    refusal.check()
