"""What cannot be measured is refused in one sentence, before anything runs."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from cases import BROUGHT_ENTRIES, OF_A_VECTOR, Mute, completion, curve, embedded, net, sparse, student
from refusals import Refusal, refusals

import latebloom as lb
from latebloom import probes
from latebloom.errors import CapabilityError, InputError
from latebloom.probes.trajectory import LARGEST
from latebloom.problems import DiagonalClassifier, FastPart, LabelledPoints, MatrixRegression, ObservedEntries

NAN = float("nan")
OF_A_MATRIX = (
    *(probes.SingularValues(), probes.NuclearNormOfMatrix(), probes.EffectiveRank(), probes.NumericalRank()),
    *(probes.SubspaceAngles(), probes.LayerBalance()),
)
OF_ZERO_LOSS = (probes.DistanceToZeroLoss(), probes.TangentCosine(), probes.KKTResidual())
WITHOUT_A_TRUTH = (
    ObservedEntries((2, 2), np.eye(2, dtype=bool), [1.0, 2.0]),
    MatrixRegression(np.ones((1, 2, 2)), [1.0]),
)
LARGE = lb.problems.LeastSquares(lambda w: w[:1], jnp.ones(LARGEST + 1))
TWO = lb.problems.ModularClassifier(11, 8)  # U above V
ONE = lb.problems.EmbeddingMLP(11, 8, dimension=8)
NO_MIRRORS = lb.problems.EmbeddingMLP(4, 4, train_share=0.9, seed=4)
POINT = DiagonalClassifier(LabelledPoints([[1.0]], [1]))


class Step(probes.AbstractProbe):
    """A probe whose column is that of the clock."""

    def measure(self, problem, penalty, params):
        return jnp.zeros(())


def _train(problem: Any, *chosen: Any, penalty: Any = None) -> Any:
    return lb.train(problem, lb.GradientDescent(0.1), penalty, steps=1, probes=chosen)


REFUSED = [
    (
        _train,
        (sparse(), probes.DistanceTo("ones", np.ones(3))),
        "point has shape (3,) and the measured array (20,): giv",
    ),
    (
        _train,
        (completion(), probes.DistanceTo("ones", np.ones(30))),
        "point has shape (30,) and the measured array (6, 5): give that shape",
    ),
    (probes.DirectionCosine, ("zero", [0.0]), "has no direction"),
    (
        probes.DirectionCosine("it", [1.0]).check,
        (DiagonalClassifier(LabelledPoints([[1.0, 2.0]], [1])), None),
        "give tha",
    ),
    (probes.FunctionValues, [], "points is empty"),
    (probes.Kinks, {"tolerance": -1.0}, "tolerance=-1.0 is not allowed"),
    *(
        (probes.NumericalRank, tolerance, f"tolerance={tolerance} is not allowed: tolerance must be")
        for tolerance in (0, 1, -0.1, NAN)
    ),
    (probes.NumericalRank, "small", "tolerance must be a number"),
    (probes.ZeroSumDefect, "hinge", "Known: log_loss, loss"),
    (probes.KernelDrift, {"samples": 0}, "samples=0 is not allowed"),
    (probes.KernelDrift().check, (completion(shape=40, observed=800), None), "1600 x 1600"),
    (_train, (embedded(), probes.WeightNorm("l1", "embeding")), "did you mean 'embedding'"),
    (probes.circle, (np.ones((7, 2)), 4), "frequencies 1 to 3"),
    (probes.circle, (np.ones((7, 2)), "1"), "frequency must be a number, not '1'"),
    (probes.circle, (np.ones(7), 1), "an embedding is a matrix with a row a residue"),
    *(
        (_train, (sparse(), *chosen), "two probes would write the column")
        for chosen in ([probes.DistanceTo("x", np.ones(20)), probes.DistanceTo("x", np.full(20, 2.0))], [Step()])
    ),
    *((_train, (sparse(), wrong), "probes must be probe records") for wrong in (probes.Components, "components")),
]
UNABLE = [
    (_train, (sparse(), probes.GradientRatio()), "GradientRatio compares with a penalty and there is none"),
    *(
        (
            _train,
            (curve(1.0, 0.0, 0.0), probe),
            f"{type(probe).__name__} needs a problem that measures a vector …; LeastSquares has none: leave the",
        )
        for probe in OF_A_VECTOR
    ),
    *(
        (
            _train,
            (problem, probe),
            f"{type(probe).__name__} needs a problem that measures a matrix; {type(problem).__name__} has none: use",
        )
        for probe in OF_A_MATRIX
        for problem in (sparse(), curve(1.0, 0.0, 0.0))
    ),
    *(
        (_train, (problem, probes.LayerBalance()), "LayerBalance compares the layers of a product: use depth=2 or more")
        for problem in (completion(), completion(shape=5, observed=21, form="symmetric"), BROUGHT_ENTRIES)
    ),
    *(
        (
            _train,
            (problem, probes.SubspaceAngles()),
            "SubspaceAngles compares with the truth and the problem has none: gi",
        )
        for problem in WITHOUT_A_TRUTH
    ),
    (probes.FillIn().check, (sparse(), None), "FillIn needs a problem with observed entries"),
    *((_train, (Mute(), probe), "needs a least-squares problem") for probe in OF_ZERO_LOSS),
    (probes.Trajectory().check, (LARGE, None), "has 10,001, more than 10,000: use Norm"),
    (_train, (student(), probes.FunctionValues([1.0])), "one variable and TeacherStudent's have 3: …problem.predict"),
    *(
        (probe.check, (sparse(), None), "leave the probe out")
        for probe in (probes.FunctionValues([0.0]), probes.Kinks())
    ),
    (_train, (sparse(), probes.TestR2()), "TestR2 needs test targets with a variance and SparseRecovery has none"),
    *(
        (_train, (sparse(), probe), f"{type(probe).__name__} …SparseRecovery has none")
        for probe in (probes.TestLoss(), probes.UnmirroredAccuracy(), probes.TestAccuracy(), probes.TrainAccuracy())
    ),
    (probes.TrainAccuracy().check, (FastPart(completion(width=2), "A1", 2.0), None), "has none"),
    (_train, (NO_MIRRORS, probes.UnmirroredAccuracy()), "UnmirroredAccuracy has nothing to count"),
    (_train, (sparse(), probes.WeightNorm()), "WeightNorm…needs matrices and SparseRecovery has none"),
    (probes.FourierNorms().check, (sparse(), None), "needs an embedding"),
    (probes.FourierPower().check, (TWO, None), "FourierPower needs a row a residue, 11 of them; …'first'… has 22"),
    (probes.FourierCount("hidden").check, (ONE, None), "11 of them; …'hidden'… has 8"),
    (probes.SoftmaxCollapse().check, (POINT, None), "has none"),
    (probes.ZeroSumDefect("log_loss").check, (net(), None), "logarithm of its loss; ModularNet does not"),
    (probes.TrainLogLoss().check, (sparse(), None), "TrainLogLoss needs"),
    (probes.NormalisedMargin().check, (sparse(), None), "NormalisedMargin needs a linear classifier"),
    (probes.HomogeneousMargin().check, (sparse(), None), "HomogeneousMargin needs a"),
]


@refusals({InputError: REFUSED, CapabilityError: UNABLE})
def test_what_cannot_be_measured_is_refused(refusal: Refusal):
    refusal.check()


def test_a_part_that_is_an_embedding_is_taken():
    probes.FourierCount("embedding").check(ONE, None)
