"""Gradient descent on the logarithm of the loss."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.errors import CapabilityError
from latebloom.methods.base import AbstractMethod
from latebloom.problems.base import require_log_loss

LOG_TIME = "log_time"


class LogLossDescent(AbstractMethod):
    """`w ← w - η ∇ log F(w)`: gradient descent on F with the learning rate `η / F(w)`.

    The time that has passed, `t = Σ η / F(w_k)`, leaves the floats when the loss does: the method keeps its natural
    logarithm, `log t ← log(t + η / F)`, and the run has a column `log_time` instead of `time`. Nothing is divided by
    the loss: both come from the problem's `log_loss`, so that a loss of 1e-1000 is like any other.

    Steps stay near the flow while `η |∇ log F|²` is small; for a network of degree L this grows like `|w|^(2L-2)`.

    >>> import latebloom as lb
    >>> data = lb.problems.LabelledPoints([[1.0]], [1])
    >>> problem = lb.problems.DiagonalClassifier(data, init_scale=1.0, depth=1, loss_kind="exponential")
    >>> run = lb.train(problem, LogLossDescent(1.0), steps=1000)  # F = e^{-(u - v)}: u - v grows by 2 a step
    >>> float(problem.log_loss(run.params)), run.final["train_loss"], round(run.final["log_time"], 6)
    (-2000.0, 0.0, 1998.145413)

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", Appendix B.1.
    """

    example = "log_loss_descent[0.03]"
    tried_on = "'diagonal_classifier[sparse_signs[dimension=500,samples=40]]'"
    learning_rate: float = fields.number(above=0, note="η, the size of a step")

    def check(self, problem, penalty):
        require_log_loss(problem, "LogLossDescent")
        if penalty is not None:
            raise CapabilityError(
                f"LogLossDescent divides the learning rate by the loss, and with it the pull of {penalty!r} grows "
                "without bound: leave the penalty out, or use GradientDescent"
            )

    def init(self, problem, penalty, params):
        return jnp.full((), -jnp.inf, jnp.float64)  # double in single precision too: it is a sum over all steps

    def step(self, problem, penalty, params, state):
        value, slope = jax.value_and_grad(problem.log_loss)(params)
        time = jnp.logaddexp(state, jnp.log(self.learning_rate) - value).astype(state.dtype)
        return jax.tree.map(lambda w, g: w - self.learning_rate * g, params, slope), time

    def clocks(self, state):
        return {LOG_TIME: state}
