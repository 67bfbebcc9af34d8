"""What is measured along the way."""

from latebloom.core.record import concrete
from latebloom.probes.accuracy import TestAccuracy, TrainAccuracy, UnmirroredAccuracy
from latebloom.probes.base import AbstractProbe
from latebloom.probes.distance import DistanceTo
from latebloom.probes.errors import TestError, TestLoss, TestR2, TrainError, TrainLogLoss, TrainLoss
from latebloom.probes.fill_in import FillIn
from latebloom.probes.fourier import (
    DominatedUnits,
    FourierCosines,
    FourierCount,
    FourierNorms,
    FourierOverlaps,
    FourierPower,
    FourierSpread,
    circle,
)
from latebloom.probes.function import FunctionValues, Kinks
from latebloom.probes.gradient_ratio import GradientRatio
from latebloom.probes.health import SoftmaxCollapse, ZeroSumDefect
from latebloom.probes.kernel import KernelDrift
from latebloom.probes.margin import DirectionCosine, HomogeneousMargin, KKTAngle, NormalisedMargin
from latebloom.probes.matrix import (
    EffectiveRank,
    LayerBalance,
    NuclearNormOfMatrix,
    NumericalRank,
    SingularValues,
    SubspaceAngles,
)
from latebloom.probes.norms import Norm, PenaltyValue
from latebloom.probes.trajectory import Trajectory
from latebloom.probes.vector import Components, OffSupportNorm, SupportNorm, VectorL1
from latebloom.probes.weights import WeightNorm
from latebloom.probes.zero_loss import DistanceToZeroLoss, KKTResidual, TangentCosine

# Measured in every run.
ALWAYS: tuple[AbstractProbe, ...] = (TrainLoss(), TrainError(), TestError(), Norm(1), Norm(2), PenaltyValue())

TABLE = concrete(AbstractProbe)  # what the command line can build by name

__all__ = [
    "ALWAYS",
    "TABLE",
    "AbstractProbe",
    "Components",
    "DirectionCosine",
    "DistanceTo",
    "DistanceToZeroLoss",
    "DominatedUnits",
    "EffectiveRank",
    "FillIn",
    "FourierCosines",
    "FourierCount",
    "FourierNorms",
    "FourierOverlaps",
    "FourierPower",
    "FourierSpread",
    "FunctionValues",
    "GradientRatio",
    "HomogeneousMargin",
    "KKTAngle",
    "KKTResidual",
    "KernelDrift",
    "Kinks",
    "LayerBalance",
    "Norm",
    "NormalisedMargin",
    "NuclearNormOfMatrix",
    "NumericalRank",
    "OffSupportNorm",
    "PenaltyValue",
    "SingularValues",
    "SoftmaxCollapse",
    "SubspaceAngles",
    "SupportNorm",
    "TangentCosine",
    "TestAccuracy",
    "TestError",
    "TestLoss",
    "TestR2",
    "TrainAccuracy",
    "TrainError",
    "TrainLogLoss",
    "TrainLoss",
    "Trajectory",
    "UnmirroredAccuracy",
    "VectorL1",
    "WeightNorm",
    "ZeroSumDefect",
    "circle",
]
