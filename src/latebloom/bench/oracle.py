"""Basis pursuit: ours, with its certificate, against a linear program and a modelling language."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np

import latebloom as lb
from latebloom.bench.base import BenchResult
from latebloom.bench.timing import describe, describe_difference, take_turns

NAME = "oracle"
# Relative difference of the minimal l1 norms: the other solvers stop at tolerances of 1e-7 to 1e-8.
AGREEMENT = 1e-6

Solver = Callable[[np.ndarray, np.ndarray], np.ndarray]


def measure(*, problems: int = 10, repeats: int = 5) -> list[BenchResult]:
    """Time per problem at n=100, N=30, over problems of different seeds."""
    drawn = [lb.problems.SparseRecovery(dimension=100, sparsity=5, measurements=30, seed=k) for k in range(problems)]
    results = [_compare(drawn, "scipy.optimize.linprog (HiGHS)", split_program, repeats)]
    try:
        importlib.import_module("cvxpy")
    except ImportError:
        note = "cvxpy is not installed: pip install cvxpy"
        return [*results, BenchResult(NAME, _what("cvxpy"), None, None, None, "none", None, note)]
    return [*results, _compare(drawn, "cvxpy", model_program, repeats)]


def split_program(design: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Basis pursuit as a linear program in `a = p - q` with `p, q ≥ 0`."""
    from scipy.optimize import linprog

    size = design.shape[1]
    found = linprog(np.ones(2 * size), A_eq=np.hstack([design, -design]), b_eq=targets, method="highs").x
    return found[:size] - found[size:]


def model_program(design: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Basis pursuit in cvxpy, with the solver that it chooses."""
    import cvxpy

    a = cvxpy.Variable(design.shape[1])
    cvxpy.Problem(cvxpy.Minimize(cvxpy.norm1(a)), [design @ a == targets]).solve()
    return np.asarray(a.value)


def _what(yardstick: str) -> str:
    return f"basis pursuit, against {yardstick}"


def _compare(drawn: list[lb.problems.SparseRecovery], yardstick: str, solver: Solver, repeats: int) -> BenchResult:
    data = [(np.asarray(problem.design), np.asarray(problem.targets)) for problem in drawn]
    contenders = {
        "ours": lambda: [lb.oracles.basis_pursuit(problem) for problem in drawn],
        "theirs": lambda: [solver(*pair) for pair in data],
    }
    timed = take_turns(contenders, repeats=repeats)
    ours, theirs = timed["ours"], timed["theirs"]
    norms = np.array([np.abs(a).sum() for a in theirs.answer])
    difference = float(np.abs(norms / [answer.value for answer in ours.answer] - 1).max())
    return BenchResult(
        NAME,
        _what(yardstick),
        ours.seconds / len(drawn),
        theirs.seconds / len(drawn),
        theirs.seconds / ours.seconds,
        "none",
        None if difference <= AGREEMENT else False,
        f"mean of {len(drawn)} problems, {describe(repeats, ours)}; minimal norms {describe_difference(difference)} "
        f"relatively; our duality gap is at most {max(answer.gap for answer in ours.answer):.0e}",
    )
