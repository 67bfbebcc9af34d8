"""The iteration `a ← a - learning_rate · (Xᵀ(X a - y) + strength · sign(a))` written by hand, as yardsticks.

Each of them does nothing else: no records, no milestones, no divergence check, no Ctrl-C.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.problems import SparseRecovery


def _iterate(design, targets, start, learning_rate, strength, steps):
    # The fastest form found: 0.46 µs a step. A fixed number of steps or data compiled in are equal within noise; an
    # unrolled loop (0.70), a scaled design (0.66), Xᵀ formed beforehand (0.83), XᵀX formed (0.97) and sums of
    # products (1.8) are slower.
    def one(_, a):
        return a - learning_rate * ((design @ a - targets) @ design + strength * jnp.sign(a))

    return jax.lax.fori_loop(0, steps, one, start)


_bare = jax.jit(_iterate)
_stacked = jax.jit(jax.vmap(_iterate, in_axes=(None, None, None, 0, 0, None)))


def bare_jax(problem: SparseRecovery, learning_rate: float, strength: float, *, steps: int) -> np.ndarray:
    """One compiled loop."""
    return np.asarray(_bare(problem.design, problem.targets, problem.start, learning_rate, strength, steps))


def stacked_jax(problem: SparseRecovery, rates: np.ndarray, strengths: np.ndarray, *, steps: int) -> np.ndarray:
    """Many cells in one compiled loop whose products are matrix times matrix, as `jax.vmap` makes them."""
    return np.asarray(_stacked(problem.design, problem.targets, problem.start, rates, strengths, steps))


def plain_numpy(problem: SparseRecovery, learning_rate: float, strength: float, *, steps: int) -> np.ndarray:
    """A Python loop over NumPy operations."""
    design, targets, a = np.asarray(problem.design), np.asarray(problem.targets), np.asarray(problem.start)
    for _ in range(steps):
        a = a - learning_rate * ((design @ a - targets) @ design + strength * np.sign(a))
    return a


def torch_sgd(problem: SparseRecovery, learning_rate: float, strength: float, *, steps: int) -> np.ndarray:
    """A Python loop over PyTorch's automatic differentiation and its SGD; raises ImportError without PyTorch."""
    import torch  # pyright: ignore[reportMissingImports]

    design, targets = torch.tensor(np.asarray(problem.design)), torch.tensor(np.asarray(problem.targets))
    a = torch.tensor(np.asarray(problem.start), requires_grad=True)
    optimizer = torch.optim.SGD([a], lr=learning_rate)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = 0.5 * ((design @ a - targets) ** 2).sum() + strength * a.abs().sum()
        loss.backward()
        optimizer.step()
    return a.detach().numpy()
