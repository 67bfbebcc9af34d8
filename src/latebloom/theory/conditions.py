"""The hypotheses of the theorems, as numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from latebloom.errors import check_number
from latebloom.linalg.spectrum import Spectrum
from latebloom.oracles.result import measured
from latebloom.problems.base import AbstractLinear, require_linear

THM31 = "Grokking Beyond the Euclidean Norm of Model Parameters, Theorem 3.1"


@dataclass(frozen=True)
class Condition:
    """One hypothesis of a theorem: `value` must be below `bound`; `holds` is None where it cannot be decided.

    >>> Condition("step", "α < 2/σ", value=0.1, bound=1.0, holds=True, source="Theorem 3.1").holds
    True
    """

    name: str
    text: str
    value: float
    bound: float
    holds: bool | None
    source: str


def largest_stable_learning_rate(problem: Any) -> float:
    """The learning rate `2 / σ_max(XᵀX)` below which descent on `|X a - y|² / 2` contracts in the row space.

    >>> from latebloom.problems import LinearRegression
    >>> largest_stable_learning_rate(LinearRegression([[2.0, 0.0]], [1.0]))
    0.5

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem C.29.
    """
    design, _ = measured(problem, "largest_stable_learning_rate")
    return float(2 / np.linalg.norm(design, 2) ** 2)


def conditions_thm31(
    problem: Any, learning_rate: float, strength: float, *, noise_constant: float = math.inf
) -> list[Condition]:
    """The hypotheses of Theorem 3.1 (l1, linear): on the learning rate α, the strength β and the noise ξ.

    `0 < α σ_max(XᵀX) < 2`, `0 < β √n < σ_max(XᵀX)`, and a bound on the noise with a free constant C
    that enters the conclusion as `(C + C')αβ/2`. The value reported for the noise is the C it needs,
    compared with `noise_constant`. The noise bound is printed in two ways, `|Xᵀξ| <= √(Cαβ)`
    (Theorem 3.1) and `√C αβ` (Theorem C.29), and the proof (Eqs. 91 and 92) needs a third,
    `|Uᵀξ|² <= C α β²`: all three are given.

    >>> from latebloom.problems import SparseRecovery
    >>> [c.name for c in conditions_thm31(SparseRecovery(), learning_rate=0.1, strength=1e-5) if c.holds]
    ['learning_rate', 'strength', 'noise', 'noise_c29', 'noise_proof']

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorems 3.1 and C.29.
    """
    problem = require_linear(problem, "conditions_thm31")
    learning_rate = check_number("learning_rate", learning_rate, above=0)
    strength = check_number("strength", strength, above=0)
    spectrum = Spectrum.of(np.asarray(problem.design))
    largest = float(spectrum.sigma[0] ** 2)
    scaled = strength * math.sqrt(spectrum.size)
    step = Condition(
        "learning_rate", "α σ_max(XᵀX) < 2", learning_rate * largest, 2.0, learning_rate * largest < 2, THM31
    )
    weak = Condition("strength", "β √n < σ_max(XᵀX)", scaled, largest, scaled < largest, THM31)
    return [step, weak, *noise_conditions(problem, spectrum, learning_rate, strength, noise_constant)]


def noise_conditions(
    problem: AbstractLinear, spectrum: Spectrum, learning_rate: float, strength: float, constant: float
) -> list[Condition]:
    """The three printed bounds on the noise, each as the constant C it needs."""
    # y - X a* and not a stored noise: it is defined for any problem with a truth.
    noise = np.asarray(problem.targets) - np.asarray(problem.design) @ np.asarray(problem.truth).ravel()
    modes = spectrum.left.T @ noise
    seen = float(np.sum((spectrum.sigma * modes) ** 2))
    needed = {
        "noise": ("C with |Xᵀξ| <= √(Cαβ)", seen / (learning_rate * strength), THM31),
        "noise_c29": ("C with |Xᵀξ| <= √C αβ", seen / (learning_rate * strength) ** 2, "Theorem C.29"),
        "noise_proof": ("C with |Uᵀξ|² <= C α β²", float(modes @ modes) / (learning_rate * strength**2), "Eqs. 91, 92"),
    }
    return [
        Condition(name, text, value, constant, bool(value <= constant) if math.isfinite(value) else None, source)
        for name, (text, value, source) in needed.items()
    ]
