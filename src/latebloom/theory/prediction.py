"""What a prediction is, and what most of them are about: descent on a linear problem with an l1 or a nuclear norm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from latebloom.errors import CapabilityError, InputError, check_number
from latebloom.linalg.spectrum import Spectrum
from latebloom.penalties import L1, NuclearNorm
from latebloom.problems.base import AbstractLinear, require_linear
from latebloom.problems.matrix.base import require_matrix

PAPER = "Grokking Beyond the Euclidean Norm of Model Parameters"


@dataclass(frozen=True)
class Prediction:
    """A predicted moment: `step`, and `time = learning_rate step`, with its formula and what it assumes.

    `as_printed` is the step that the paper's formula gives to the letter, where that differs.

    >>> Prediction("t1", step=10.0, time=1.0, formula="...", source="Theorem 2.1").as_printed is None
    True
    """

    name: str
    step: float
    time: float
    formula: str
    source: str
    notes: str = ""
    as_printed: float | None = None


@dataclass(frozen=True, eq=False)
class Descent:
    """The iteration `a <- a - α (Xᵀ(X a - y) + β h)`, h a subgradient of the l1 or of the nuclear norm.

    `shape` is that of the matrix whose nuclear norm is penalised, None for the l1 norm.

    >>> import latebloom as lb
    >>> Descent.of(lb.problems.MatrixCompletion(), 0.1, lb.NuclearNorm(1e-4), "an example").theorem
    'Theorem 3.4'
    """

    problem: AbstractLinear
    learning_rate: float
    strength: float
    shape: tuple[int, int] | None

    @classmethod
    def of(cls, problem: Any, learning_rate: float, penalty: Any, who: str) -> Descent:
        """The descent of a linear problem with L1, or of a matrix with NuclearNorm; `who` asks."""
        shape = require_matrix(problem, who).shape if is_nuclear(penalty, who) else None
        return cls(
            require_linear(problem, who),
            check_number("learning_rate", learning_rate, above=0),
            check_number("strength", float(penalty.strength), above=0),
            shape,
        )

    @cached_property
    def spectrum(self) -> Spectrum:
        """That of the design."""
        return Spectrum.of(np.asarray(self.problem.design))

    @property
    def theorem(self) -> str:
        """The one that speaks of this penalty."""
        return "Theorem 3.1" if self.shape is None else "Theorem 3.4"

    @property
    def subgradient_norm(self) -> float:
        """The largest `|h|_2`: √n of the l1 norm, √min(n1, n2) of the nuclear norm.

        Every subgradient of the nuclear norm has `|H|_op <= 1`, so `|H|_F <= √min(n1, n2)`, which U Vᵀ attains at full
        rank; the printed `√(n1 n2)` (Lemma C.41) comes from bounding each entry by 1.
        """
        return self.printed_norm if self.shape is None else math.sqrt(min(self.shape))

    @property
    def printed_norm(self) -> float:
        """What the paper has for it: the root of the number of entries, for either norm."""
        return math.sqrt(self.spectrum.size)

    @property
    def root(self) -> str:
        """The formula of `subgradient_norm`."""
        return "√n" if self.shape is None else "√min(n1, n2)"

    @property
    def contraction(self) -> float:
        """`|I - α XᵀX|` on the row space, refused if it does not contract."""
        rho = self.spectrum.contraction(self.learning_rate)
        if rho >= 1:
            most = 2 / self.spectrum.sigma[0] ** 2
            raise InputError(
                f"learning_rate={self.learning_rate:g} is not allowed: descent diverges; it must be below {most:.3g}, "
                "2 / σ_max(XᵀX) (see largest_stable_learning_rate)"
            )
        return rho


def is_nuclear(penalty: Any, who: str) -> bool:
    """Whether a penalty is the nuclear norm; refused if it is not the l1 norm either."""
    if not isinstance(penalty, L1 | NuclearNorm):
        raise CapabilityError(
            f"{who} knows the penalties L1 and NuclearNorm; {penalty!r} is neither: give one of them, or use "
            "L2Iteration for weight decay"
        )
    return isinstance(penalty, NuclearNorm)
