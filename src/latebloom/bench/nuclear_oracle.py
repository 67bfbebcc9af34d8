"""The minimum nuclear norm: ours, with its certificate, against a modelling language at equal accuracy."""

from __future__ import annotations

import importlib

import numpy as np

import latebloom as lb
from latebloom.bench.base import BenchResult
from latebloom.bench.timing import describe, describe_difference, take_turns
from latebloom.oracles.nuclear.minimum import min_nuclear_norm

NAME = "low-rank"
LEAST = 5
# Ours ends at rounding; at this tolerance, reached in hundreds of steps, the norms that SCS gives are right to 4e-9.
TOLERANCE = 1e-9
# Relative difference of the minimal norms.
AGREEMENT = 1e-7


def measure(
    *, size: int = 40, rank: int = 3, share: float = 0.5, problems: int = 3, repeats: int = 3
) -> list[BenchResult]:
    """Time per matrix of this size and rank with a share of its entries observed, over matrices of different seeds."""
    what = f"minimum nuclear norm {size}x{size}, against cvxpy (SCS)"
    try:
        importlib.import_module("cvxpy")
    except ImportError:
        note = "cvxpy is not installed: pip install cvxpy"
        return [BenchResult(NAME, what, None, None, None, f"at least {LEAST}", None, note)]
    observed = round(share * size**2)
    drawn = [lb.problems.MatrixCompletion((size, size), rank, observed, seed=seed) for seed in range(problems)]
    return [_compare(drawn, what, repeats)]


def model_program(mask: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The completion of minimum nuclear norm in cvxpy, with SCS.

    >>> import numpy as np
    >>> model_program(np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 0.5], [0.5, 0.0]])).round(6)
    array([[1.  , 0.5 ],
           [0.5 , 0.25]])
    """
    import cvxpy

    a = cvxpy.Variable(mask.shape)
    seen = mask > 0
    program = cvxpy.Problem(cvxpy.Minimize(cvxpy.normNuc(a)), [a[seen] == values[seen]])
    program.solve(solver=cvxpy.SCS, eps=TOLERANCE, max_iters=20_000)
    return np.where(seen, values, np.asarray(a.value))


def _compare(drawn: list[lb.problems.MatrixCompletion], what: str, repeats: int) -> BenchResult:
    data = [(np.asarray(problem.mask), np.asarray(problem.values)) for problem in drawn]
    contenders = {
        "ours": lambda: [min_nuclear_norm(problem) for problem in drawn],
        "theirs": lambda: [model_program(*pair) for pair in data],
    }
    timed = take_turns(contenders, repeats=repeats)
    ours, theirs = timed["ours"], timed["theirs"]
    norms = np.array([np.linalg.norm(matrix, "nuc") for matrix in theirs.answer])
    difference = float(np.abs(norms / [answer.value for answer in ours.answer] - 1).max())
    return BenchResult.at_least(
        NAME,
        what,
        ours=ours.seconds / len(drawn),
        theirs=theirs.seconds / len(drawn),
        least=LEAST,
        agree=difference <= AGREEMENT,
        note=f"mean of {len(drawn)} problems, {describe(repeats, ours)}; minimal norms "
        f"{describe_difference(difference)} relatively; our duality gap is at most "
        f"{max(answer.gap for answer in ours.answer):.0e}",
    )
