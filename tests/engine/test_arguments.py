"""Arguments that are misspelt, swapped, or of the wrong kind: the sentence says what to type."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import sparse
from refusals import Refusal, refusals

import latebloom as lb
from latebloom.errors import ArgumentError, InputError

GD = lb.GradientDescent(0.1)
GRID: Any = lb.grid


def _train(*args: Any, **named: Any) -> Any:
    return lb.train(sparse(), *args, **named)


def _job(**named: Any) -> Any:
    return lb.TrainJob(sparse(), GD, **named)


NAMES = [
    (
        lb.train,
        {"problem": sparse(), "method": GD, "step": 3},
        "train has no argument 'step': did you mean 'steps'?",
    ),
    (lb.train, {"learnin_rate": 0.1}, "train has no argument 'learnin_rate': it belongs to a method, e.g. Gradient"),
    (lb.train, {"lr": 0.1}, "train has no argument 'lr': write learning_rate, which belongs to a method"),
    (lb.flow, {"timee": 3}, "flow has no argument 'timee': did you mean 'time'?"),
    (lb.slow_flow, {"time": 3}, "slow_flow has no argument 'time': did you mean 'slow_time'?"),
    (lb.run, {"job": []}, "run has no argument 'job': did you mean 'jobs'?"),
    (GRID, {"axis": {}}, "grid has no argument 'axis': did you mean 'axes'?"),
    (_job, {"step": 3}, "TrainJob has no argument 'step': did you mean 'steps'?"),
    (lb.FlowJob, {"tiem": 3}, "FlowJob has no argument 'tiem': did you mean 'time'?"),
    (lb.L1, {"strenght": 3}, "L1 has no argument 'strenght': did you mean 'strength'?"),
    (lb.GradientDescent, {"lr": 3}, "GradientDescent has no argument 'lr': write learning_rate"),
    (sparse, {"sparcity": 3}, "SparseRecovery has no argument 'sparcity': did you mean 'sparsity'?"),
]
MISSING = [
    (lb.L1, (), "L1: missing a required argument: 'strength'; write L1(strength=…)"),
    (_train, GD, "train: missing a required argument: 'steps'; write train(problem=…, method=…, steps=…)"),
    (
        _train,
        (GD, None, 100),
        "train takes 3 values by place, not 4: write train(problem, method, penalty); by name: ",
    ),
    (lb.Lp, (0.5, 1e-4), "Lp takes 1 value by place, not 2: write Lp(strength); by name: p=…"),
]
KINDS = [
    (_train, {"method": GD, "penalty": lb.L1, "steps": 1}, "not the class L1: make one of it, L1(strength=…)"),
    (_train, {"method": lb.GradientDescent, "steps": 1}, "not the class GradientDescent: make one of it, GradientDesc"),
    (_train, {"method": "gradient_descent[0.1]", "steps": 1}, "is for the command line; …e.g. GradientDescent(…)"),
    (_train, {"method": GD, "penalty": "l1[1e-5]", "steps": 1}, "'l1[1e-5]' is for the command line; …e.g. L1(…)"),
    (lb.train, {"problem": np.ones((2, 2)), "method": GD, "steps": 1}, "not ndarray: data becomes a problem by Linear"),
    (lb.penalties.Sum, (lb.L1, lb.L2(0.1)), "a Sum adds penalties, not <class …make one of it, L1(strength=…)"),
    (lb.L1, -1.0, "strength=-1.0 is not allowed: strength must be finite and at least 0"),
]


@refusals({ArgumentError: [*NAMES, *MISSING], InputError: KINDS})
def test_the_sentence_says_what_to_type(refusal: Refusal):
    refusal.check()


def test_whole_floats_are_counts_and_a_text_may_say_the_power_by_name():
    assert _train(GD, steps=1e1).outcome.sentence == "finished after 10 steps"
    assert _job(steps=1e6).steps == 10**6
    assert lb.reproduce.__name__ == "reproduce"
    assert lb.train.__doc__ is not None
