"""What cannot be read, written or computed in single precision is refused in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import completion, sparse, student
from refusals import Refusal, refusals

import latebloom as lb
from latebloom import flows, penalties, theory
from latebloom.core import json
from latebloom.core.record import parse
from latebloom.errors import CapabilityError, InputError, check_count
from latebloom.zero_loss.set import kkt_residual


def _read(text: str) -> Any:
    return parse(text, penalties.TABLE, "penalty")


def _count(value: float) -> int:
    return check_count("n", value)


LONG = lb.WeightedL2(0.1, np.linspace(0.0, 1.0, 65))  # more than a text carries
READ = [
    (_read, "l3[0.1]", "unknown penalty 'l3': did you mean 'l"),
    (_read, "lp[strenght=0.1]", "unknown parameter of lp 'strenght': did you mean 'strength'"),
    (_read, "l1[", "cannot read penalty 'l1[': write name[param=value,...]"),
    (_count, 2.5, "n=2.5 is not allowed: n must be a whole number, e.g. 2"),
    (_read, "", "cannot read penalty ''"),
    (_read, "l1", "cannot build penalty 'l1': …strength"),
    (_read, "l1[1,2]", "cannot build penalty 'l1[1,2]': too many positional arguments; write e.g. l1[strength"),
    (_read, "l1[-1]", "strength=-1 is not allowed"),
    (_read, "l1[much]", "strength must be a number, not 'much'"),
    (_read, "on_parts[l3[0.1],hidden]", "unknown penalty 'l3': did you mean 'l"),
    (_read, "on_parts[l1[0.1]]", "OnParts needs the name of at least one part"),
    (_read, "l1[0.1,strength=0.2]", "cannot build penalty …: strength is given by place and by name"),
    (_read, "l1[strength=0.1,strength=0.2]", "cannot build penalty …: strength is given twice"),
    (_read, LONG.text, "weights=#… is the digest of an array, not the array: give"),
    (penalties.AbstractPenalty.from_plain, {"plain": {"record": "l_1"}}, "unknown record 'l_1': did you mean 'l1'"),
    (sparse().but, {"sparcity": 3}, "unknown parameter of sparse_recovery 'sparcity': did you mean 'spars"),
    (completion().but, {"observed": 31}, "observed=31 is more than the 30 entries"),
]
WRITTEN = [
    (json.plain, {"value": {0.5: 1}, "lossless": True}, "value has the key 0.5: keys must be text; write '0.5'"),
    *(
        (
            json.plain,
            {"value": {"claims": [1, object()]}, "where": "report", "lossless": lossless},
            "report.claims[1]=<object …> cannot be written as JSON: it must be",
        )
        for lossless in (True, False)
    ),
]


def _once(problem: Any, *probes: Any) -> Any:
    return lb.train(problem, lb.GradientDescent(0.1), steps=1, probes=probes)


SINGLE = student(precision="float32")
IN_SINGLE_PRECISION = {
    "slow_flow": lambda problem: lb.slow_flow(problem, slow_time=1.0),
    "KKTResidual": lambda problem: _once(problem, lb.probes.KKTResidual()),
    "DistanceToZeroLoss": lambda problem: lb.probes.DistanceToZeroLoss().check(problem, None),
    "the zero-loss set": lambda problem: kkt_residual(problem, problem.init()),
    "limit_map": flows.limit_map,
    "kernel_regime": theory.kernel_regime,
    "solver='tsit5'": lambda problem: lb.flow(problem, weight_decay=1e-2, time=1.0, solver="tsit5"),
    "solver='kvaerno5'": lambda problem: lb.flow(problem, weight_decay=1e-2, time=1.0, solver="kvaerno5"),
}
UNABLE = [
    (ask, SINGLE, f"{who} needs double precision…give it precision='float64'")
    for who, ask in IN_SINGLE_PRECISION.items()
]


@refusals({InputError: [*READ, *WRITTEN], CapabilityError: UNABLE})
def test_it_is_refused_in_a_sentence(refusal: Refusal):
    refusal.check()
