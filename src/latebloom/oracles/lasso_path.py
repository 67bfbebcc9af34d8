"""The Lasso's solution path, followed from the zero solution down to a strength."""

from __future__ import annotations

import warnings

import numpy as np

# The path stops 1.2e-7 above its end whatever the scale of the data, so the data are made large;
# past 1e8 rounding wins again. At 1e6, 229 of 229 draws (n = 100 ... 3000) ended at the optimum.
SCALE = 1e6


def follow_lasso_path(
    design: np.ndarray, targets: np.ndarray, strength: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The minimiser of `|X a - y|² / 2 + strength |a|_1`, and the last corner (strength, minimiser) before it.

    The minimiser is piecewise linear in the strength; least-angle regression visits its corners.
    Below the last corner before zero the residual is proportional to the strength, so its
    direction there is the dual solution of basis pursuit.

    >>> import numpy as np
    >>> follow_lasso_path(np.eye(2), np.array([3.0, 1.0]), 0.5)[0].round(6)
    array([2.5, 0.5])

    Source: Efron, Hastie, Johnstone, Tibshirani, "Least angle regression", 2004.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import lars_path

    rows = len(targets)
    scale = SCALE / np.linalg.norm(targets)
    with warnings.catch_warnings():
        # Early ends and degenerate corners are judged by the caller's certificate, at the returned point.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        strengths, _, corners = lars_path(
            design,
            scale * targets,
            method="lasso",
            # scikit-learn's loss is |X a - y|² / (2 rows)
            alpha_min=scale * strength / rows,  # type: ignore[arg-type]
            max_iter=20 * max(design.shape),
        )
    corner = max(len(strengths) - 2, 0)
    return corners[:, -1] / scale, strengths[corner : corner + 1] * rows / scale, corners[:, corner] / scale
