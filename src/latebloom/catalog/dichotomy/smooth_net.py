"""A smooth two-layer network of degree 3 under the flow of Theorem 3.4, stepped in all its parameters."""

from __future__ import annotations

import numpy as np

import latebloom as lb

DIMENSION, HIDDEN, SAMPLES, TEST = 6, 12, 8, 60


def smooth_net(scales, power, c, seed):
    """`Σ a_j (w_j·x)²` from a = 0: `f` on test points at `T_c^-` and the kernel's limit, a row for each α.

    The labels are those of another such network. With exponential loss and λ = α^-power.
    """
    random = np.random.default_rng([seed, 11])
    points, test = random.normal(size=(SAMPLES, DIMENSION)), random.normal(size=(TEST, DIMENSION))
    teacher = random.normal(size=(2, DIMENSION))
    labels = np.where(np.abs(points @ teacher[0]) > np.abs(points @ teacher[1]), 1.0, -1.0)
    start = random.normal(size=(HIDDEN, DIMENSION)) / np.sqrt(DIMENSION)
    features = labels[:, None] * (points @ start.T) ** 2  # of a; those of w are zero, as a is
    found = lb.oracles.max_l2_margin(lb.problems.LabelledPoints(features, np.ones(SAMPLES)))
    limit = (test @ start.T) ** 2 @ found.direction
    rows = [_output(test, *_flow(points, labels, start, scale, scale**-power, c)) for scale in scales]
    return {"scale": np.array(scales), "f": np.stack(rows), "limit": np.stack([limit] * len(rows))}


def _output(points, a, w):
    return (points @ w.T) ** 2 @ a


def _flow(points, labels, start, scale, decay, c):
    """a and w at `(1-c) log(α)/λ`."""
    from scipy.integrate import solve_ivp

    def velocity(_, theta):
        a, w = theta[:HIDDEN], theta[HIDDEN:].reshape(HIDDEN, DIMENSION)
        inner = points @ w.T
        pull = labels * np.exp(-labels * (inner**2 @ a)) / SAMPLES
        return np.concatenate([pull @ inner**2, (2 * (pull[:, None] * inner * a).T @ points).ravel()]) - decay * theta

    theta = np.concatenate([np.zeros(HIDDEN), scale * start.ravel()])
    end = (1 - c) * np.log(scale) / decay
    theta = solve_ivp(velocity, (0, end), theta, method="LSODA", rtol=1e-7, atol=1e-9).y[:, -1]
    return theta[:HIDDEN], theta[HIDDEN:].reshape(HIDDEN, DIMENSION)
