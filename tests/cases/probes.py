"""Probes, each with a problem that it can be measured on and the shape of what it gives there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import latebloom as lb
from cases.problems import completion, embedded, net, sparse, student
from latebloom import probes
from latebloom.core.record import Record
from latebloom.penalties import AbstractPenalty
from latebloom.problems import DiagonalClassifier, ModularClassifier, ReluRegression, SparseSigns

# One of each size, so that probes of one problem share its compiled programs.
VECTOR = sparse(init_scale=1.0)
DEEP = sparse(depth=2, init_scale=1.0)
FACTORS = completion(depth=3, width=3, init_scale=0.5)
EMBEDDING = embedded()
PAIRS = net()
CLASSES = ModularClassifier(7, 8, train_share=0.8, init_scale=2.0, seed=3)
UNORDERED = CLASSES.but(ordered=False)
DIAGONAL = DiagonalClassifier(SparseSigns(8, 6, test_samples=20), init_scale=0.4)
KINKED = ReluRegression(6, 5, seed=3)
STUDENT = student()


@dataclass(frozen=True)
class ProbeCase:
    """A probe, where it is tried, and the shape of its value there."""

    probe: probes.AbstractProbe
    problem: Any
    shape: tuple[int, ...] = ()
    penalty: AbstractPenalty | None = lb.L2(1e-2)
    anywhere: bool = False  # whether every problem will do

    def __str__(self) -> str:
        return self.probe.text


OF_A_VECTOR = (
    *(probes.Components(), probes.VectorL1(), probes.SupportNorm(), probes.OffSupportNorm()),
    probes.DistanceTo("ones", np.ones(20)),
)
PROBES = (
    *(ProbeCase(probe, VECTOR, anywhere=True) for probe in probes.ALWAYS),
    ProbeCase(probes.GradientRatio(), VECTOR, anywhere=True),
    ProbeCase(probes.Trajectory(), FACTORS, (18 + 9 + 15,), anywhere=True),
    # of a vector that is measured, here through two layers
    *(ProbeCase(probe, DEEP, (20,) if isinstance(probe, probes.Components) else ()) for probe in OF_A_VECTOR),
    # of a matrix, and of its entries
    ProbeCase(probes.SingularValues(), FACTORS, (5,)),
    *(ProbeCase(probe, FACTORS) for probe in (probes.NuclearNormOfMatrix(), probes.EffectiveRank())),
    *(ProbeCase(probe, FACTORS) for probe in (probes.NumericalRank(), probes.FillIn())),
    *(ProbeCase(probe, FACTORS, (2,)) for probe in (probes.SubspaceAngles(), probes.LayerBalance())),
    # of the zero-loss set, and of the tangent kernel
    *(
        ProbeCase(probe, DEEP)
        for probe in (probes.DistanceToZeroLoss(), probes.TangentCosine(), probes.KKTResidual(), probes.KernelDrift())
    ),
    ProbeCase(probes.KernelDrift(normalised=False, samples=3), STUDENT),
    # of the weights and answers of networks
    ProbeCase(probes.WeightNorm(), EMBEDDING),
    ProbeCase(probes.WeightNorm("nuclear", "hidden"), EMBEDDING),
    *(ProbeCase(probe, EMBEDDING) for probe in (probes.TestLoss(), probes.UnmirroredAccuracy())),
    ProbeCase(probes.TestR2(), STUDENT),
    *(ProbeCase(probe, PAIRS) for probe in (probes.TrainAccuracy(), probes.TestAccuracy())),
    # of the Fourier features of an embedding modulo 7: three frequencies, a real and an imaginary part each
    ProbeCase(probes.FourierNorms(), PAIRS, (6,)),
    ProbeCase(probes.FourierPower(), PAIRS, (3,)),
    *(ProbeCase(probe, PAIRS) for probe in (probes.FourierCount(), probes.FourierSpread(), probes.DominatedUnits())),
    *(ProbeCase(probe, PAIRS, (2,)) for probe in (probes.FourierCosines(), probes.FourierOverlaps())),
    ProbeCase(probes.FourierPower("embedding"), EMBEDDING, (3,)),
    # of a classifier
    *(ProbeCase(probe, CLASSES) for probe in (probes.SoftmaxCollapse(), probes.SoftmaxCollapse(rounded=True))),
    ProbeCase(probes.ZeroSumDefect("loss"), CLASSES),
    ProbeCase(probes.ZeroSumDefect("log_loss"), UNORDERED),
    *(ProbeCase(probe, DIAGONAL) for probe in (probes.NormalisedMargin(1), probes.NormalisedMargin(2))),
    *(ProbeCase(probe, DIAGONAL) for probe in (probes.HomogeneousMargin(), probes.KKTAngle(), probes.TrainLogLoss())),
    ProbeCase(probes.DirectionCosine("it", np.arange(1.0, 9.0)), DIAGONAL),
    # of a function of one variable
    ProbeCase(probes.FunctionValues([-1.0, 0.2, 3.0]), KINKED, (3,)),
    ProbeCase(probes.Kinks(), KINKED),
)

WRITTEN_OTHERWISE: tuple[Record, ...] = (
    probes.DirectionCosine("it", [0.6, 0.8]),
    probes.NumericalRank(1 / 3),
    probes.FourierNorms("second"),
)
