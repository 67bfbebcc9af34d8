"""Matrix sensing with W Wᵀ at full width: the same drift to low rank, to a singular point of the set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import latebloom as lb
from latebloom.catalog.measures import fall_time, matrix_problem, truth_of
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_least, at_most, within
from latebloom.catalog.riemannian.common import FLOW, WEIGHT_DECAY, WITHOUT, flow_job
from latebloom.figures.look import CYCLE, GREY, NORM, TEST, THEORY, TRAIN, canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.flows import FlowJob
    from latebloom.problems import MatrixSensing

SIZE, RANK, MEASUREMENTS = 12, 2, 44  # with many more, only the planted matrix fits among positive ones
UNTIL, PLATEAU = 3e4, 100.0
RECOVERED = 1e-2


def sensing(seed: int) -> MatrixSensing:
    return lb.problems.MatrixSensing(
        shape=(SIZE, SIZE),
        rank=RANK,
        measurements=MEASUREMENTS,
        sensing="gaussian",
        normalise="columns",
        truth_kind="gaussian",
        truth_norm=12.0,
        form="symmetric",
        width=SIZE,
        init_scale=1.0,
        seed=seed,
    )


def jobs(request: Request) -> dict[str, FlowJob]:
    problem, probes = sensing(request.seed), (lb.probes.SingularValues(),)
    watch = {"memorised_at": RECOVERED, "generalised_at": RECOVERED}
    return {
        name: flow_job(problem, strength, UNTIL, probes=probes, **watch)
        for name, strength in ((FLOW, WEIGHT_DECAY), (WITHOUT, 0.0))
    }


def certificate(evidence: Evidence) -> Measured:
    """The smallest eigenvalue of `I + (G + Gᵀ)/λ` with G the gradient of F in the matrix at the end.

    It is not negative if and only if the end, where `(G + Gᵀ + λI) W = 0`, minimises `F(M) + (λ/2) tr M` over all
    positive semi-definite matrices.
    """
    problem = matrix_problem(evidence, FLOW)
    gradient = np.asarray(problem.matrix_gradient(problem.end_to_end(evidence.runs[FLOW].params)))
    values = np.linalg.eigvalsh(np.eye(SIZE) + (gradient + gradient.T) / WEIGHT_DECAY)
    return at_least(float(values[0]), -2e-2)


def least_value(evidence: Evidence) -> Measured:
    """The smallest singular value of the matrix at the end over the largest: 0 at a singular point."""
    values = evidence.runs[FLOW]["singular_values"][-1]
    return at_most(float(values[-1] / values[0]), 1e-14)


def starts_regular(evidence: Evidence) -> Measured:
    """The same where the unregularised flow ends."""
    values = evidence.runs[WITHOUT]["singular_values"][-1]
    return at_least(float(values[-1] / values[0]), 1e-12)


def half_fall(evidence: Evidence) -> Measured:
    time = fall_time(evidence.runs[FLOW], "l2_norm", 0.5, after=PLATEAU)
    return within(WEIGHT_DECAY * time if time else None, 0.1, 3.0)


def decayed(evidence: Evidence) -> Measured:
    """σ_3 at the end over σ_3 at the plateau."""
    run = evidence.runs[FLOW]
    return at_most(float(run["singular_values"][-1, RANK] / run.at("singular_values", time=PLATEAU)[RANK]), 1e-2)


CLAIMS = (
    Claim(
        "memorises-first",
        "The measurements are fitted in the fast phase.",
        "Appendix C (Low-rank matrix sensing)",
        f"relative training error {RECOVERED:g} by time {PLATEAU:g}",
        lambda e: at_most(e.runs[FLOW].t1, PLATEAU),
    ),
    Claim(
        "norm-falls-on-slow-time",
        "Then |W|² falls on the time scale 1/λ.",
        "Appendix C (Low-rank matrix sensing)",
        "half of the late fall is done at λt between 0.1 and 3",
        half_fall,
    ),
    Claim(
        "drifts-to-low-rank",
        "Although no low rank is imposed, the second phase drives the flow to a low-rank solution.",
        "Appendix C (Low-rank matrix sensing)",
        "σ_3 at the end at most 1e-2 of that at the plateau",
        decayed,
        rate=0.8,
    ),
    Claim(
        "least-trace",
        "The end minimises the trace |W|² among the positive semi-definite matrices that fit, up to the bias.",
        "Appendix C; left open there for singular points",
        "smallest eigenvalue of the dual certificate at least -2e-2",
        certificate,
    ),
    Claim(
        "recovers",
        "The low-rank solution is the planted matrix.",
        "Section 5, for matrix completion",
        f"relative error at most {RECOVERED:g}",
        lambda e: at_most(e.runs[FLOW].final["test_error"], RECOVERED),
        rate=0.8,
    ),
    Claim(
        "starts-regular",
        "The unregularised flow converges to an invertible W, where the zero-loss set is a manifold.",
        "Proposition 6",
        "smallest over largest singular value of W Wᵀ at least 1e-12",
        starts_regular,
        rate=0.7,
    ),
    Claim(
        "ends-singular",
        "The slow phase leads to a singular W, where the zero-loss set is no manifold and Proposition 4 is silent.",
        "Appendix C (Dealing with singularities)",
        "smallest over largest singular value of W Wᵀ at most 1e-14",
        least_value,
    ),
    Claim(
        "weight-decay-is-needed",
        "Without weight decay nothing is recovered.",
        "Section 4, Proposition 1",
        "relative error at the end at least 0.3",
        lambda e: at_least(e.runs[WITHOUT].final["test_error"], 0.3),
        rate=0.8,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (errors, values) = canvas(1, 2, height=2.6)
    run, bare = evidence.runs[FLOW], evidence.runs[WITHOUT]
    errors.plot(run["time"], run["train_error"], color=TRAIN, label="train error")
    errors.plot(run["time"], run["test_error"], color=TEST, label="test error")
    errors.plot(
        bare["time"], bare["test_error"], color=TEST, linestyle="--", linewidth=0.9, label=r"test, $\lambda = 0$"
    )
    errors.plot(run["time"], run["l2_norm"] ** 2 / run["l2_norm"][0] ** 2, color=NORM, label="$|W|^2 / |W_0|^2$")
    errors.set_ylabel("relative error, relative norm")
    errors.set_ylim(bottom=5e-6)
    errors.legend(loc="lower left", fontsize=6)
    truth = np.linalg.svd(truth_of(evidence, FLOW), compute_uv=False)[:RANK]
    values.plot(run["time"], run["singular_values"][:, RANK:], color=GREY, linewidth=0.8, alpha=0.8)
    for index, value in enumerate(truth):
        values.plot(run["time"], run["singular_values"][:, index], color=CYCLE[index])
        values.axhline(value, color=CYCLE[index], linestyle="--", linewidth=0.8)
    values.set_ylim(1e-6, 100)
    values.set_ylabel(r"singular values $\sigma_i(WW^\top)$")
    for axis in (errors, values):
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlim(1e-2, UNTIL)
        axis.set_xlabel("time $t$")
        axis.axvline(1 / WEIGHT_DECAY, color=THEORY, linestyle=":", linewidth=0.9)
        place = axis.get_xaxis_transform()
        axis.text(1 / WEIGHT_DECAY, 1.01, r"$1/\lambda$", transform=place, ha="center", va="bottom", fontsize=7)
    return figure


EXPERIMENT = Experiment(
    id="riemannian/matrix-sensing",
    title="Matrix sensing with W Wᵀ at full width: the drift to low rank ends at a singular point",
    claim="After the measurements are fitted, weight decay takes all but the planted singular values to zero.",
    source="Appendix C (Low-rank matrix sensing), Proposition 6",
    seconds=15,
    settings={
        "shape n x n": f"{SIZE} x {SIZE}",
        "width r": SIZE,
        "rank": RANK,
        "measurements m": f"{MEASUREMENTS}, Gaussian",
        "weight decay λ": WEIGHT_DECAY,
        "start": "W with entries N(0, 1)",
        "time": f"{UNTIL:g}",
    },
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=(
        "The paper gives no sizes for matrix sensing: these are ours.",
        "Of twelve draws the unregularised flow ends at a singular W in two, and at the planted matrix in one.",
        "The loss is half of the paper's sum of squares, which halves the rates of the fast phase.",
    ),
)
