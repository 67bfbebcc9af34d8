"""The compact singular value decomposition of a design matrix, and the projections it gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latebloom.errors import InputError


@dataclass(frozen=True, eq=False)
class Spectrum:
    """`X = U diag(σ) Vᵀ` with only the σ that are non-zero to rounding; `size` is the number of columns of X.

    >>> import numpy as np
    >>> spectrum = Spectrum.of(np.array([[3.0, 4.0]]))
    >>> spectrum.sigma, spectrum.null_part(np.array([3.0, 4.0])).round(12) + 0.0, spectrum.has_kernel
    (array([5.]), array([0., 0.]), True)
    """

    left: np.ndarray
    sigma: np.ndarray
    right: np.ndarray
    size: int

    @classmethod
    def of(cls, design: np.ndarray) -> Spectrum:
        """The decomposition of `design`, of numerical rank as NumPy's `matrix_rank` has it."""
        if not design.any():
            raise InputError("design is zero: it measures nothing; give a design with a non-zero entry")
        u, sigma, vt = np.linalg.svd(design, full_matrices=False)
        keep = sigma > max(design.shape) * np.finfo(float).eps * sigma[0]
        return cls(u[:, keep], sigma[keep], vt[keep].T, design.shape[1])

    @property
    def has_kernel(self) -> bool:
        """Whether some direction of the parameters is not measured."""
        return len(self.sigma) < self.size

    def row_part(self, vector: np.ndarray) -> np.ndarray:
        """The projection on the row space, `V Vᵀ a`."""
        return self.right @ (self.right.T @ vector)

    def null_part(self, vector: np.ndarray) -> np.ndarray:
        """The projection on the kernel, `a - V Vᵀ a`."""
        return vector - self.row_part(vector)

    def contraction(self, learning_rate: float, weight_decay: float = 0.0) -> float:
        """`max_k |1 - learning_rate (σ_k² + weight_decay)|` over the row space alone."""
        return float(np.abs(1 - learning_rate * (self.sigma**2 + weight_decay)).max(initial=0.0))
