"""The table of cases that every law runs over.

A new penalty, method, problem or probe is one line in the file of its kind; then all laws apply to it.
"""

from __future__ import annotations

from collections.abc import Iterable

from cases import methods, penalties, probes, problems
from cases.methods import METHODS, ON_A_VECTOR, MethodCase
from cases.penalties import CONVEX, PENALTIES, PROXIMABLE, SIZE, PenaltyCase
from cases.probes import OF_A_VECTOR, PROBES, ProbeCase
from cases.problems import (
    BROUGHT_ENTRIES,
    BROUGHT_MEASUREMENTS,
    CURVE_RATE,
    MATRIX_PROBLEMS,
    PROBLEMS,
    Mute,
    ProblemCase,
    TanhNet,
    completion,
    curve,
    diagonal_net,
    diagonal_regression,
    embedded,
    net,
    problem_case,
    sensing,
    sparse,
    student,
)
from latebloom.core.record import Record, concrete

# Every record of the tables by a name that says where it is from; classes of one's own are left out.
RECORDS: dict[str, Record] = {
    f"{kind} {name}": record
    for kind, cases in {
        "penalty": [(case.name, case.penalty) for case in PENALTIES],
        "method": [(case.name, case.method) for case in METHODS],
        "problem": [(case.name, case.problem) for case in PROBLEMS if "tanh" not in case.name],
        "probe": [(case.probe.text, case.probe) for case in PROBES],
        "otherwise": [
            (f"{record.name()} {number}", record)
            for room in (penalties, methods, problems, probes)
            for number, record in enumerate(room.WRITTEN_OTHERWISE)
        ],
    }.items()
    for name, record in cases
}


def without_a_case(base: type[Record], records: Iterable[Record], where: str) -> str:
    """A sentence that names the classes of latebloom below `base` of which the table has no record; empty if none."""
    known = {type(record) for record in records}
    modules = {cls: cls.__module__ for cls in concrete(base).values()}
    ours = [cls for cls, name in modules.items() if name.startswith("latebloom.") and ".bench." not in name]
    names = ", ".join(sorted(cls.__name__ for cls in ours if cls not in known))
    return f"no law is tried on {names}: add a case with a small one to {where}" if names else ""


__all__ = [
    "BROUGHT_ENTRIES",
    "BROUGHT_MEASUREMENTS",
    "CONVEX",
    "CURVE_RATE",
    "MATRIX_PROBLEMS",
    "METHODS",
    "OF_A_VECTOR",
    "ON_A_VECTOR",
    "PENALTIES",
    "PROBES",
    "PROBLEMS",
    "PROXIMABLE",
    "RECORDS",
    "SIZE",
    "MethodCase",
    "Mute",
    "PenaltyCase",
    "ProbeCase",
    "ProblemCase",
    "TanhNet",
    "completion",
    "curve",
    "diagonal_net",
    "diagonal_regression",
    "embedded",
    "net",
    "problem_case",
    "sensing",
    "sparse",
    "student",
    "without_a_case",
]
