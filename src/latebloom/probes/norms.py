"""Norms of the parameters."""

from __future__ import annotations

import equinox as eqx

from latebloom.errors import InputError
from latebloom.probes.base import AbstractProbe, total_norm


class Norm(AbstractProbe):
    """The l1 or l2 norm of all parameters together: column `l1_norm` or `l2_norm`."""

    order: int = eqx.field(static=True)

    def __init__(self, order: int = 2):
        if order not in (1, 2):
            raise InputError(f"order={order!r} is not allowed: Norm measures order 1 or 2")
        self.order = order

    @property
    def column(self):
        return f"l{self.order}_norm"

    def measure(self, problem, penalty, params):
        return total_norm(params, self.order)


class PenaltyValue(AbstractProbe):
    """The penalty's value, strength included; zero without a penalty."""

    def measure(self, problem, penalty, params):
        return 0.0 * total_norm(params) if penalty is None else penalty.value(params)
