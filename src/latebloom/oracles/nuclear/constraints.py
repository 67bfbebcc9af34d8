"""The matrices that fit the measurements, `{A: X vec(A) = y}`, with what the nuclear-norm solvers ask of them.

Both classes measure along orthonormal directions, so that `adjoint(values)` is the smallest matrix that fits and
`A - adjoint(measure(A) - values)` the closest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from latebloom.linalg.spectrum import Spectrum


@dataclass(frozen=True, eq=False)
class EntryConstraints:
    """Observed entries: `A[rows, columns] = values`; nothing here has more than (number of entries)² numbers.

    >>> import numpy as np
    >>> seen = EntryConstraints.of(np.array([[1, 0], [1, 1]]), np.array([[5.0, 0.0], [6.0, 7.0]]))
    >>> seen.project(np.ones((2, 2)))
    array([[5., 1.],
           [6., 7.]])
    """

    shape: tuple[int, int]
    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, mask: np.ndarray, values: np.ndarray) -> EntryConstraints:
        """The constraints of a matrix of zeros and ones, and a matrix that holds the values at the ones."""
        rows, columns = np.nonzero(mask)
        return cls(mask.shape, rows, columns, values[rows, columns])

    @cached_property
    def _mask(self) -> np.ndarray:
        return self.adjoint(np.ones(len(self.values)))

    def measure(self, matrix: np.ndarray) -> np.ndarray:
        """The measurements of a matrix."""
        return matrix[self.rows, self.columns]

    def adjoint(self, multipliers: np.ndarray) -> np.ndarray:
        """The multipliers as a matrix: `W = X*ν`."""
        matrix = np.zeros(self.shape)
        matrix[self.rows, self.columns] = multipliers
        return matrix

    def project(self, matrix: np.ndarray) -> np.ndarray:
        """The closest matrix that fits, to the last bit."""
        fitting = matrix.copy()
        fitting[self.rows, self.columns] = self.values
        return fitting

    def scaled(self, factor: float) -> EntryConstraints:
        """The same measurements of `factor` times the matrix."""
        return EntryConstraints(self.shape, self.rows, self.columns, factor * self.values)

    def schur(self, primal: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """`tr(A_k Z A_l S⁻¹)` for all pairs of measurements `A_k = [[0, X_k], [X_kᵀ, 0]] / 2`."""
        z1, z2, z = _blocks(primal, self.shape[0])
        t1, t2, t = _blocks(inverse, self.shape[0])
        rows, columns = self.rows, self.columns
        cross = z[rows][:, columns] * t[rows][:, columns].T
        system = z1[rows][:, rows] * t2[columns][:, columns]
        system += t1[rows][:, rows] * z2[columns][:, columns]
        system += cross
        system += cross.T
        return system / 4

    def normal(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """`JᵀJ` of `(L, R) -> X vec(L Rᵀ)`, with L and R row by row."""
        (n1, rank), n2 = left.shape, len(right)
        system = np.zeros((n1 + n2, rank, n1 + n2, rank))
        diagonal = np.arange(n1 + n2)
        outer = lambda factor: factor[:, :, None] * factor[:, None, :]  # noqa: E731
        system[diagonal[:n1], :, diagonal[:n1]] = np.tensordot(self._mask, outer(right), 1)
        system[diagonal[n1:], :, diagonal[n1:]] = np.tensordot(self._mask.T, outer(left), 1)
        cross = (self._mask[:, :, None] * right).transpose(0, 2, 1)[:, :, :, None] * left[:, None, None, :]
        system[:n1, :, n1:] = cross
        system[n1:, :, :n1] = cross.transpose(2, 3, 0, 1)
        return system.reshape((n1 + n2) * rank, -1)


@dataclass(frozen=True, eq=False)
class RowConstraints:
    """Any measurements: `V vec(A) = values` with orthonormal rows, from which redundant measurements are gone.

    `distance` is how far the targets are from what any matrix gives, relatively.

    >>> import numpy as np
    >>> twice = RowConstraints.of(np.array([[2.0, 0.0], [2.0, 0.0]]), np.array([6.0, 6.0]), (1, 2))
    >>> twice.project(np.ones((1, 2))).round(12), twice.distance < 1e-15
    (array([[3., 1.]]), True)
    """

    shape: tuple[int, int]
    directions: np.ndarray
    values: np.ndarray
    distance: float

    @classmethod
    def of(cls, design: np.ndarray, targets: np.ndarray, shape: tuple[int, int]) -> RowConstraints:
        """The constraints of a design matrix and targets, by one singular value decomposition."""
        spectrum = Spectrum.of(design)
        seen = spectrum.left.T @ targets
        distance = np.linalg.norm(targets - spectrum.left @ seen) / np.linalg.norm(targets)
        directions = spectrum.right.T.reshape(-1, *shape)
        return cls(shape, np.ascontiguousarray(directions), seen / spectrum.sigma, float(distance))

    @cached_property
    def _flat(self) -> np.ndarray:
        return self.directions.reshape(len(self.values), -1)

    def measure(self, matrix: np.ndarray) -> np.ndarray:
        """The measurements of a matrix."""
        return self._flat @ matrix.ravel()

    def adjoint(self, multipliers: np.ndarray) -> np.ndarray:
        """The multipliers as a matrix: `W = V*ν`."""
        return (multipliers @ self._flat).reshape(self.shape)

    def project(self, matrix: np.ndarray) -> np.ndarray:
        """The closest matrix that fits."""
        return matrix - self.adjoint(self.measure(matrix) - self.values)

    def scaled(self, factor: float) -> RowConstraints:
        """The same measurements of `factor` times the matrix."""
        return RowConstraints(self.shape, self.directions, factor * self.values, self.distance)

    def schur(self, primal: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """`tr(A_k Z A_l S⁻¹)` for all pairs of measurements `A_k = [[0, X_k], [X_kᵀ, 0]] / 2`."""
        z1, z2, z = _blocks(primal, self.shape[0])
        t1, t2, t = _blocks(inverse, self.shape[0])
        straight = z1 @ self.directions @ t2 + t1 @ self.directions @ z2
        crossed = z @ self.directions.transpose(0, 2, 1) @ t
        cross = self._flat @ crossed.reshape(self._flat.shape).T
        return (self._flat @ straight.reshape(self._flat.shape).T + cross + cross.T) / 4

    def normal(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """`JᵀJ` of `(L, R) -> X vec(L Rᵀ)`, with L and R row by row."""
        moves = (self.directions @ right, self.directions.transpose(0, 2, 1) @ left)
        jacobian = np.hstack([move.reshape(len(self.values), -1) for move in moves])
        return jacobian.T @ jacobian


Constraints = EntryConstraints | RowConstraints


def _blocks(matrix: np.ndarray, n1: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return matrix[:n1, :n1], matrix[n1:, n1:], matrix[:n1, n1:]
