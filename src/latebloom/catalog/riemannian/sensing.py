"""Matrix sensing with W Wᵀ at full width: the same drift to low rank, to a singular point of the set."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.bounds import at_least, at_most, below, near
from latebloom.catalog.controls import Instead
from latebloom.catalog.riemannian.curvature import jacobian, rank
from latebloom.catalog.riemannian.phases import (
    AROUND,
    FLOW,
    SLOW_CLOCK,
    WITHOUT,
    DecaySettings,
    clock,
    errors_over_time,
    half_fall,
    norm_over_time,
    slow_scale,
)
from latebloom.core.fields import count, number
from latebloom.figures import Axis, Figure, panels

PLATEAU = 100.0  # a time between the phases
SEEN = 1e-2  # share of the largest singular value of a derivative below which a direction has gone


class SensingSettings(DecaySettings):
    side: int = count(default=12, note="n, rows and columns")
    rank: int = count(default=2, note="of the planted matrix")
    measurements: int = count(default=44, note="m, Gaussian; with many more, no other positive matrix fits")
    width: int = count(default=12, note="r, columns of W")
    init_scale: float = number(default=1.0, least=0, note="of the entries of W: 1 is N(0, 1)")
    truth_norm: float = number(default=12.0, above=0, note="Frobenius norm of the planted matrix")
    time: float = number(default=3e4, above=0)
    memorised_at: float = number(default=1e-2, above=0, note="relative error of t1")
    generalised_at: float = number(default=1e-2, above=0, note="relative error of t2")

    def problem(self):
        """The draw."""
        return lb.problems.MatrixSensing(
            (self.side, self.side), self.rank, self.measurements, sensing="gaussian", normalise="columns",
            truth_kind="gaussian", truth_norm=self.truth_norm, form="symmetric", width=self.width,
            init_scale=self.init_scale, seed=self.seed,
        )  # fmt: skip


sensing = Entry(
    "riemannian/matrix-sensing",
    "Matrix sensing with W Wᵀ at full width: the drift to low rank ends at a singular point",
    "After the measurements are fitted, weight decay takes all but the planted singular values to zero.",
    source="Appendix C (Low-rank matrix sensing), Proposition 6",
    seconds=15,
    settings=SensingSettings(),
    notes=(
        "The paper gives no sizes for matrix sensing: these are ours.",
        "Of twelve draws the unregularised flow ends at a singular W in two, and at the planted matrix in one.",
        "The loss is half of the paper's sum of squares, which halves the rates of the fast phase.",
    ),
)
APPENDIX = "Appendix C (Low-rank matrix sensing)"


@sensing.runs
def sensing_runs(s):
    problem, watch = s.problem(), {"memorised_at": s.memorised_at, "generalised_at": s.generalised_at}
    flow = {"time": s.time, "solver": "rkc", "probes": (lb.probes.SingularValues(),), **watch}
    return {
        FLOW: lb.FlowJob(problem, lb.L2(s.weight_decay), **flow),
        WITHOUT: lb.FlowJob(problem, lb.L2(0.0), **flow),
    }


@sensing.claim(at_most(PLATEAU), "t1, at relative training error 1e-2,", source=APPENDIX)
def memorises_first(e):
    """The measurements are fitted in the fast phase."""
    return e[FLOW].t1


@sensing.claim(*AROUND, source=APPENDIX, control=SLOW_CLOCK)
def norm_falls_on_slow_time(e):
    """Then |W|² falls on the time scale 1/λ."""
    return half_fall(e.settings, e[FLOW], "l2_norm", after=PLATEAU)


@sensing.claim(at_most(1e-2), "σ_3 at the end over that at the plateau", source=APPENDIX, rate=0.8)
def drifts_to_low_rank(e):
    """Although no low rank is imposed, the second phase drives the flow to a low-rank solution."""
    run, rank = e[FLOW], e.settings.rank
    return float(run["singular_values"][-1, rank] / run.at("singular_values", time=PLATEAU)[rank])


@sensing.claim(
    at_least(-2e-2),
    "smallest eigenvalue of the dual certificate",
    source="Appendix C; left open there for singular points",
    kind="ours",
)
def least_trace(e):
    """The end minimises the trace |W|² among the positive semi-definite matrices that fit, up to the bias."""
    # With G the gradient of F in the matrix, `(G + Gᵀ + λI) W = 0` at the end; `I + (G + Gᵀ)/λ` has no negative
    # eigenvalue if and only if the end minimises `F(M) + (λ/2) tr M` over all positive semi-definite matrices.
    problem = e.problem(FLOW)
    gradient = np.asarray(problem.matrix_gradient(problem.end_to_end(e[FLOW].params)))
    certificate = np.eye(e.settings.side) + (gradient + gradient.T) / e.settings.weight_decay
    return float(np.linalg.eigvalsh(certificate)[0])


@sensing.claim(at_most(1e-2), "relative error at the end", source="Section 5, for matrix completion", rate=0.8)
def recovers(e):
    """The low-rank solution is the planted matrix."""
    return e[FLOW].final["test_error"]


SPREAD = "smallest over largest singular value of W Wᵀ"


def spread(run):
    """The smallest singular value at the end over the largest: 0 at a singular point."""
    values = run["singular_values"][-1]
    return float(values[-1] / values[0])


@sensing.claim(at_least(1e-12), SPREAD, source="Proposition 6", rate=0.7)
def starts_regular(e):
    """The unregularised flow converges to an invertible W, where the zero-loss set is a manifold."""
    return spread(e[WITHOUT])


def rank_left(e, run):
    """The rank of the residuals' derivative at the end of a run, less that of 𝒜 on symmetric matrices."""
    problem, side = e.problem(FLOW), e.settings.side
    measured = np.asarray(problem.design).reshape(-1, side, side)
    symmetric = (measured + measured.transpose(0, 2, 1)).reshape(len(measured), -1)
    return rank(jacobian(problem, run.params), SEEN) - rank(symmetric)


LOST = "rank of the residuals' derivative less that of 𝒜"


@sensing.claim(
    near(0, by=0), f"{LOST}, at the limit of the unregularised flow", source="Proposition 6", rate=0.7,
    control=Instead({WITHOUT: FLOW}),
)  # fmt: skip
def manifold_of_invertible_points(e):
    """At an invertible W the derivative has the rank of 𝒜, and the critical set is a manifold there."""
    return rank_left(e, e[WITHOUT])


@sensing.claim(
    below(0), f"{LOST}, at the end of the slow phase", source="Appendix C (Dealing with singularities)",
    control=Instead({FLOW: WITHOUT}),
)  # fmt: skip
def rank_is_lost(e):
    """At the low-rank end it is lost: Assumption 2 does not hold globally."""
    return rank_left(e, e[FLOW])


@sensing.claim(at_most(1e-14), SPREAD, source="Appendix C (Dealing with singularities)")
def ends_singular(e):
    """The slow phase leads to a singular W, where the zero-loss set is no manifold and Proposition 4 is silent."""
    return spread(e[FLOW])


@sensing.claim(at_least(0.3), "relative error at the end", source="Section 4, Proposition 1", rate=0.8)
def weight_decay_is_needed(e):
    """Without weight decay nothing is recovered."""
    return e[WITHOUT].final["test_error"]


@sensing.figure
def sensing_figure(e):
    s, truth = e.settings, np.linalg.svd(np.asarray(e.problem(FLOW).truth), compute_uv=False)
    vertical = Axis(r"singular values $\sigma_i(WW^\top)$", "log", 1e-6, 100)
    values = panels.singular_values(e[FLOW], truth, slow_scale(s), axis=clock(s))
    return Figure(
        [[errors_over_time(e, low=5e-6), norm_over_time(e, "W", float(truth.sum())), replace(values, y=vertical)]]
    )
