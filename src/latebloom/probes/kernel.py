"""Probes of the kernel and rich regimes: how far the tangent kernel has turned, and how far from a KKT point we are."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.core.seeds import generator
from latebloom.errors import InputError
from latebloom.linalg import tangent
from latebloom.probes.base import AbstractProbe
from latebloom.problems.base import require_outputs


class KernelDrift(AbstractProbe):
    """The relative change of the tangent kernel K on the training set from its value K0 at the start.

    `|K/|K| - K0/|K0||` in the Frobenius norm, between 0 and √2: weight decay shrinks the kernel of a homogeneous model
    long before it turns it, and its scale plays no part in what the model predicts. With `normalised=False` it is
    `|K - K0| / |K0|`, which sees the shrinking too. `samples=k` estimates the norms from products with k random
    vectors, without forming the kernel: for more than about a thousand outputs.

    >>> import latebloom as lb
    >>> problem = lb.problems.DiagonalRegression(dimension=20, samples=10, sparsity=2)
    >>> start = problem.init()
    >>> [float(KernelDrift(normalised=n).measure(problem, None, 0.5 * start).round(6)) for n in (True, False)]
    [0.0, 0.75]

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", Sections 3.2.1 and 3.3.1.
    """

    normalised: bool = fields.flag(default=True, static=True, note="whether the scale of the kernel plays no part")
    samples: int | None = fields.count(default=None, static=True, note="random vectors; None forms the kernel")

    def check(self, problem, penalty):
        require_outputs(problem, "KernelDrift")
        count = problem.outputs(problem.init()).size
        if self.samples is None and count > tangent.DENSE:
            raise InputError(
                f"KernelDrift would form a kernel of {count} x {count}: give samples=8, or another small number"
            )

    def measure(self, problem, penalty, params):
        now, then = (self._products(problem, point) for point in (params, problem.init()))
        if self.normalised:
            now, then = _scaled(now), _scaled(then)
        return jnp.linalg.norm((now - then).ravel()) / jnp.linalg.norm(then.ravel())

    def _products(self, problem, params):
        if self.samples is None:
            return tangent.tangent_kernel(problem.outputs, params)
        count = problem.outputs(problem.init()).size
        vectors = np.asarray(generator(0, "kernel drift").choice([-1.0, 1.0], size=(count, self.samples)))
        return tangent.tangent_product(problem.outputs, params, jnp.asarray(vectors))


def _scaled(kernel):
    return kernel / jnp.linalg.norm(kernel.ravel())
