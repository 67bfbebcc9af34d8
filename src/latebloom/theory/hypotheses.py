"""Under which conditions the theorems speak: their hypotheses, as numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from latebloom.oracles.result import measured
from latebloom.theory.prediction import PAPER, Descent


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


def conditions(
    problem: Any, learning_rate: float, penalty: Any, *, noise_constant: float = math.inf
) -> list[Condition]:
    """What the theorem of the penalty L1(β) or NuclearNorm(β) asks of the learning rate α, of β and of the noise ξ.

    `0 < α σ_max(XᵀX) < 2`, `0 < β √n < σ_max(XᵀX)` (√min(n1, n2) for matrices), and a bound on the noise with a free
    constant C that enters the conclusion as `(C + C')αβ/2`. The value reported for the noise is the C it needs,
    compared with `noise_constant`. The noise bound is printed in two ways, `|Xᵀξ| <= √(Cαβ)`
    (Theorem 3.1) and `√C αβ` (Theorem C.29), and the proof (Eqs. 91 and 92) needs a third,
    `|Uᵀξ|² <= C α β²`: all three are given.

    >>> import latebloom as lb
    >>> found = conditions(lb.problems.SparseRecovery(), 0.1, lb.L1(1e-5))
    >>> [c.name for c in found if c.holds]
    ['learning_rate', 'strength', 'noise', 'noise_c29', 'noise_proof']
    >>> found = conditions(lb.problems.MatrixCompletion(), 0.1, lb.NuclearNorm(1e-4))
    >>> [(c.name, round(c.value, 6), round(c.bound, 6)) for c in found[:2]]
    [('learning_rate', 0.1, 2.0), ('strength', 0.000316, 1.0)]

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorems 3.1 and C.29 (l1), 3.4 and C.40 (nuclear
    norm).
    """
    descent = Descent.of(problem, learning_rate, penalty, "conditions")
    largest = float(descent.spectrum.sigma[0] ** 2)
    scaled = descent.strength * descent.subgradient_norm
    stable = descent.learning_rate * largest
    source = f"{PAPER}, {descent.theorem}"
    return [
        Condition("learning_rate", "α σ_max(XᵀX) < 2", stable, 2.0, stable < 2, source),
        Condition("strength", f"β {descent.root} < σ_max(XᵀX)", scaled, largest, scaled < largest, source),
        *_noise(descent, noise_constant),
    ]


def _noise(descent: Descent, constant: float) -> list[Condition]:
    """The three printed bounds on the noise, each as the constant C it needs."""
    problem, spectrum = descent.problem, descent.spectrum
    learning_rate, strength = descent.learning_rate, descent.strength
    # y - X a* and not a stored noise: it is defined for any problem with a truth.
    noise = np.asarray(problem.targets) - np.asarray(problem.design) @ np.asarray(problem.truth).ravel()
    modes = spectrum.left.T @ noise
    seen = float(np.sum((spectrum.sigma * modes) ** 2))
    printed = seen / (learning_rate * strength)
    proved = float(modes @ modes) / (learning_rate * strength**2)
    needed = {
        "noise": ("C with |Xᵀξ| <= √(Cαβ)", printed, f"{PAPER}, Theorem 3.1"),
        "noise_c29": ("C with |Xᵀξ| <= √C αβ", seen / (learning_rate * strength) ** 2, "Theorem C.29"),
        "noise_proof": ("C with |Uᵀξ|² <= C α β²", proved, "Eqs. 91, 92"),
    }
    return [
        Condition(name, text, value, constant, bool(value <= constant) if math.isfinite(value) else None, source)
        for name, (text, value, source) in needed.items()
    ]
