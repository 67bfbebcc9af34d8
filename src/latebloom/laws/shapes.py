"""How t2 may depend on a regressor: a power law and its rivals, each as log t2 with its derivatives.

Regressors come as logarithms, a column each, shifted by `Scaled` to where the data are, so that parameters are of order
one. The rivals of a power law in several regressors keep the others as powers:

    power law              t2 = A x^p y^q
    power law with offset  t2 = c + A x^p y^q, c ≥ 0
    logarithm in x         t2 = (a + b log x) y^q, positive where the data are
    exponential in x       t2 = A exp(k x) y^q
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Scaled:
    """Logarithms of regressors, a column each, with their means and the whole turned so that columns do not overlap."""

    logs: np.ndarray
    middle: np.ndarray
    turn: np.ndarray  # design = (logs - middle) @ turn has orthogonal columns of unit mean square

    @classmethod
    def of(cls, logs: np.ndarray) -> Scaled:
        middle = logs.mean(axis=0)
        triangle = np.linalg.qr((logs - middle) / np.sqrt(len(logs)), mode="r")
        return cls(logs, middle, np.linalg.inv(triangle))

    @property
    def design(self) -> np.ndarray:
        return self.at(self.logs)

    def at(self, logs: np.ndarray) -> np.ndarray:
        return (logs - self.middle) @ self.turn


class AbstractShape(ABC):
    """A law's form: `names` are its parameters' in words, `mean` gives log t2 and its derivatives."""

    name: str
    formula: str

    def __init__(self, scaled: Scaled, labels: Sequence[str]):
        self.scaled, self.labels = scaled, list(labels)

    @property
    def count(self) -> int:
        """How many parameters the law has, without those of the errors."""
        return self.scaled.logs.shape[1] + 1

    @abstractmethod
    def mean(self, law: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log t2 at these logarithms of the regressors, and its derivatives in the parameters, a column each."""

    @abstractmethod
    def values(self, law: np.ndarray) -> dict[str, float]:
        """The parameters as the formula has them."""

    @abstractmethod
    def starts(self, line: np.ndarray) -> list[np.ndarray]:
        """Where to begin, given the parameters of the power law."""


class Power(AbstractShape):
    """`log t2 = law[0] + design · law[1:]`."""

    name = "power law"
    formula = "A x^p"

    def mean(self, law: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        design = np.column_stack([np.ones(len(logs)), self.scaled.at(logs)])
        return design @ law, design

    def starts(self, line: np.ndarray) -> list[np.ndarray]:
        return [line]

    def natural(self, law: np.ndarray) -> np.ndarray:
        """log A and the exponents in the regressors as they were given."""
        return self.to_natural() @ law

    def to_natural(self) -> np.ndarray:
        """The matrix that makes these of the parameters."""
        turn = self.scaled.turn
        return np.block([[np.ones((1, 1)), -(self.scaled.middle @ turn)[None, :]], [np.zeros((len(turn), 1)), turn]])

    def values(self, law: np.ndarray) -> dict[str, float]:
        first, *exponents = self.natural(law)
        return {"A": _exp(first)} | _powers(self.labels, exponents)


class Offset(AbstractShape):
    """`log t2 = log(exp(law[0]) + exp(power law of the rest))`: at first, so far off that it does nothing, or near."""

    name = "power law with offset"
    formula = "c + A x^p"

    def __init__(self, scaled: Scaled, labels: Sequence[str]):
        super().__init__(scaled, labels)
        self.power = Power(scaled, labels)

    @property
    def count(self) -> int:
        return self.power.count + 1

    def mean(self, law: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        power, design = self.power.mean(law[1:], logs)
        mean = np.logaddexp(law[0], power)
        return mean, np.column_stack([np.exp(law[0] - mean), np.exp(power - mean)[:, None] * design])

    def values(self, law: np.ndarray) -> dict[str, float]:
        return {"c": _exp(law[0])} | self.power.values(law[1:])

    def starts(self, line: np.ndarray) -> list[np.ndarray]:
        values = self.power.mean(line, self.scaled.logs)[0]
        least, steeper = values.min(), np.concatenate([line[:1], 1.5 * line[1:]])
        return [np.concatenate([[least - 6], line]), np.concatenate([[least - 0.3], steeper])]


class AbstractInOne(AbstractShape):
    """A rival in one regressor, `which`; the others keep their powers."""

    def __init__(self, scaled: Scaled, labels: Sequence[str], which: int):
        super().__init__(scaled, labels)
        column = scaled.logs[:, which]
        self.which, self.low, self.high = which, float(column.min()), float(column.max())
        self.others = [j for j in range(scaled.logs.shape[1]) if j != which]
        if self.others:
            self.name, self.formula = f"{self.name} in {labels[which]}", f"({self.formula}) y^q"

    def rest(self, logs: np.ndarray) -> np.ndarray:
        return logs[:, self.others] - self.scaled.middle[self.others]

    def exponents(self, line: np.ndarray) -> np.ndarray:
        return self.scaled.turn @ line[1:]

    def powers(self, law: np.ndarray) -> tuple[float, dict[str, float]]:
        """What the others' means multiply the rest by, as a logarithm, and their exponents."""
        back = -float(self.scaled.middle[self.others] @ law[2:])
        return back, _powers([self.labels[j] for j in self.others], law[2:])


class Logarithm(AbstractInOne):
    """Linear in log x, from exp(law[0]) at its least value to exp(law[1]) at its largest: positive on the data."""

    name = "logarithm"
    formula = "a + b log x"

    def mean(self, law: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        share = np.clip((logs[:, self.which] - self.low) / (self.high - self.low), 0, 1)
        with np.errstate(divide="ignore"):
            near, far = law[0] + np.log1p(-share), law[1] + np.log(share)
        value, rest = np.logaddexp(near, far), self.rest(logs)
        return value + rest @ law[2:], np.column_stack([np.exp(near - value), np.exp(far - value), rest])

    def values(self, law: np.ndarray) -> dict[str, float]:
        back, powers = self.powers(law)
        first, last = _exp(law[0] + back), _exp(law[1] + back)
        steep = (last - first) / (self.high - self.low)
        return {"a": first - steep * self.low, "b": steep} | powers

    def starts(self, line: np.ndarray) -> list[np.ndarray]:
        own, middle = self.exponents(line), self.scaled.middle[self.which]
        ends = [line[0] + own[self.which] * (end - middle) for end in (self.low, self.high)]
        return [np.concatenate([ends, own[self.others]])]


class Exponential(AbstractInOne):
    """`exp(k x)`, with x in units of its largest value."""

    name = "exponential"
    formula = "A exp(k x)"

    def mean(self, law: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own = np.exp(logs[:, self.which] - self.high) - 0.5
        design = np.column_stack([np.ones(len(logs)), own, self.rest(logs)])
        return design @ law, design

    def values(self, law: np.ndarray) -> dict[str, float]:
        back, powers = self.powers(law)
        return {"A": _exp(law[0] - 0.5 * law[1] + back), "k": float(law[1]) * _exp(-self.high)} | powers

    def starts(self, line: np.ndarray) -> list[np.ndarray]:
        own = self.exponents(line)
        return [np.concatenate([[line[0], 2 * own[self.which]], own[self.others]])]


def rivals(scaled: Scaled, labels: Sequence[str]) -> list[AbstractShape]:
    """What a power law in these regressors is compared with."""
    each = range(len(labels))
    logarithms = [Logarithm(scaled, labels, which) for which in each]
    return [Offset(scaled, labels), *logarithms, *(Exponential(scaled, labels, which) for which in each)]


def _powers(labels: Sequence[str], exponents: Iterable[float]) -> dict[str, float]:
    return {f"exponent of {label}": float(one) for label, one in zip(labels, exponents, strict=True)}


def _exp(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(value))
