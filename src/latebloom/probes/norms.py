"""Norms of the parameters."""

from __future__ import annotations

from latebloom.core import fields
from latebloom.probes.base import AbstractProbe, total_norm


class Norm(AbstractProbe):
    """The l1 or l2 norm of all parameters together: column `l1_norm` or `l2_norm`."""

    order: int = fields.count(default=2, most=2, static=True, note="p of the norm")

    @property
    def column(self):
        return f"l{self.order}_norm"

    def measure(self, problem, penalty, params):
        return total_norm(params, self.order)


class PenaltyValue(AbstractProbe):
    """The penalty's value, strength included; zero without a penalty."""

    def measure(self, problem, penalty, params):
        return 0.0 * total_norm(params) if penalty is None else penalty.value(params)
