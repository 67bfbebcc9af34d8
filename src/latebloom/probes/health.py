"""Whether a classifier's gradient still is one: collapsed softmax rows, and slopes that do not sum to zero.

Cross-entropy has slopes `p_j - [j = y]` in the scores, which sum to zero over the classes. Floats lose them in two
ways: `1 - p_y` cancels once `p_y` rounds to one (softmax collapse), and all `p_j` underflow once the margin passes 745
(104 in single precision). What theory says of the gradient then says nothing of the run: `unhealthy` tells.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.errors import CapabilityError
from latebloom.probes.base import AbstractProbe
from latebloom.problems.base import require_log_loss
from latebloom.problems.classifier import require_labelled, share
from latebloom.problems.last_layer import SECOND
from latebloom.problems.losses import cross_entropy

# A gradient with a defect above this is off by a part in a thousand: its direction, on which angles and margins are
# read, is not known better. Rounding alone is 1e-16 in double precision and 1e-7 in single.
DEFECT = 1e-3
COLLAPSED = 1.0  # all rows: while one is left, its slopes are right and it is the row that the loss is made of

GRADIENTS = ("loss", "log_loss")


class SoftmaxCollapse(AbstractProbe):
    """The share of training rows that pull no more, in the precision of the run.

    Column `softmax_collapse`: rows whose slopes are all exactly zero. With `rounded=True`, column `softmax_rounded`:
    rows whose own probability rounds to one, so that `1 - p_y` (which is not how slopes are computed here) is zero.

    >>> import latebloom as lb
    >>> problem = lb.problems.ModularClassifier(modulus=7, width=24, train_share=0.6)
    >>> float(SoftmaxCollapse().measure(problem, None, problem.init()))
    0.0
    """

    tried_on = "'modular_classifier[modulus=7,width=24,train_share=0.8]'"
    rounded: bool = fields.flag(default=False, static=True, note="whether to count probabilities that round to one")

    @property
    def column(self) -> str:
        return "softmax_rounded" if self.rounded else "softmax_collapse"

    def check(self, problem, penalty):
        require_labelled(problem, "SoftmaxCollapse")

    def measure(self, problem, penalty, params):
        scores, labels = problem.scores(params, "train"), problem.labels("train")
        if self.rounded:
            own = jnp.take_along_axis(jax.nn.softmax(scores, axis=1), labels[:, None], axis=1)
            return share(jnp.sum(own[:, 0] == 1.0), len(labels))
        return share(jnp.sum(jnp.all(cross_entropy.slope(scores, labels) == 0, axis=1)), len(labels))


class ZeroSumDefect(AbstractProbe):
    """`Σ_k |Σ_j G_kj| / Σ_kj |G_kj|` of the gradient G of a last layer, a column a class: zero but for rounding.

    Every row of slopes sums to zero over the classes, so the gradient of a layer that ends in the scores does. One
    says that nothing of it is right, or that there is no gradient left. `of` is "loss", or "log_loss" for runs that
    descend on its logarithm.

    >>> import latebloom as lb
    >>> problem = lb.problems.ModularClassifier(modulus=7, width=24, train_share=0.6)
    >>> bool(ZeroSumDefect().measure(problem, None, problem.init()) < 1e-14)
    True
    """

    tried_on = "'modular_classifier[modulus=7,width=24,train_share=0.8]'"
    of: str = fields.choice(GRADIENTS, default="loss", static=True, what="gradient", note="what the gradient is of")

    def check(self, problem, penalty):
        labelled = require_labelled(problem, "ZeroSumDefect")
        params = problem.init()
        classes = labelled.scores(params, "train").shape[1]
        if not isinstance(params, dict) or SECOND not in params or params[SECOND].shape[-1] != classes:
            raise CapabilityError(
                f"ZeroSumDefect needs a network whose part {SECOND!r} has a column a class; "
                f"{type(problem).__name__} has none: leave the probe out"
            )
        if self.of == "log_loss":
            require_log_loss(problem, "ZeroSumDefect('log_loss')")

    def measure(self, problem, penalty, params):
        whole = jax.grad(problem.log_loss)(params) if self.of == "log_loss" else problem.gradient(params)
        gradient = whole[SECOND]
        size = jnp.sum(jnp.abs(gradient))
        defect = jnp.sum(jnp.abs(jnp.sum(gradient, axis=-1))) / jnp.where(size > 0, size, 1.0)
        return jnp.where(size > 0, defect, 1.0)
