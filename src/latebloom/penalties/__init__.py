"""What is preferred: value, subgradient, prox."""

from latebloom.core.record import concrete
from latebloom.penalties.base import AbstractPenalty
from latebloom.penalties.l1 import L1
from latebloom.penalties.l2 import L2
from latebloom.penalties.l2_norm import L2Norm
from latebloom.penalties.lp import Lp
from latebloom.penalties.nuclear_norm import NuclearNorm
from latebloom.penalties.on_parts import OnParts
from latebloom.penalties.sum import Sum
from latebloom.penalties.weighted_l2 import WeightedL2

TABLE = concrete(AbstractPenalty)  # what the command line can build by name

__all__ = ["L1", "L2", "TABLE", "AbstractPenalty", "L2Norm", "Lp", "NuclearNorm", "OnParts", "Sum", "WeightedL2"]
