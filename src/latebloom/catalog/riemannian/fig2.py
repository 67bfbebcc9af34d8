"""Figure 2: matrix completion groks under weight decay: errors, norm, and all but three singular values decay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.measures import fall_time, matrix_problem, oracle, truth_of
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, at_least, at_most, within
from latebloom.catalog.riemannian import common
from latebloom.catalog.riemannian.common import (
    AT_ORACLE,
    FLOW,
    ITERATION,
    RANK,
    RECOVERED,
    UNTIL,
    WEIGHT_DECAY,
    WITHOUT,
)
from latebloom.figures.look import CYCLE, GREY, NORM, TEST, THEORY, TRAIN, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLATEAU = 10.0  # a time between the phases: the data are fitted, weight decay has done 1 % of its work


def squared_norm_at(evidence: Evidence, time: float) -> float:
    return evidence.runs[FLOW].at("l2_norm", time=time) ** 2


def fitted(evidence: Evidence) -> Measured:
    """F at time 10 over F at the start."""
    loss = evidence.runs[FLOW]["train_loss"]
    return at_most(float(evidence.runs[FLOW].at("train_loss", time=PLATEAU) / loss[0]), 1e-3)


def settled(evidence: Evidence) -> Measured:
    """The largest change of a singular value from time 1 to time 10, over the largest one."""
    early, late = (evidence.runs[FLOW].at("singular_values", time=time) for time in (1.0, PLATEAU))
    return at_most(float(np.abs(late - early).max() / late[0]), 0.1)


def half_fall(evidence: Evidence, column: str) -> Measured:
    """λ times the time at which half of the late fall is done."""
    time = fall_time(evidence.runs[FLOW], column, 0.5, after=PLATEAU)
    return within(WEIGHT_DECAY * time if time else None, 0.2, 3.0)


def onset(evidence: Evidence) -> float | None:
    """The time at which a tenth of the norm's late fall is done."""
    return fall_time(evidence.runs[FLOW], "l2_norm", 0.1, after=PLATEAU)


def onset_as_printed(evidence: Evidence) -> Measured:
    time = onset(evidence)
    return within(WEIGHT_DECAY * time if time else None, 0.3, 3.0)


def coincide(evidence: Evidence) -> Measured:
    """The correlation of test error and norm over log time after the fast phase."""
    run = evidence.runs[FLOW]
    late = run["time"] >= PLATEAU
    return at_least(float(np.corrcoef(run["test_error"][late], run["l2_norm"][late])[0, 1]), 0.95)


def decayed(evidence: Evidence) -> Measured:
    """σ_4 at the end over σ_4 at time 10: the largest of those that should vanish."""
    run = evidence.runs[FLOW]
    return at_most(float(run["singular_values"][-1, RANK] / run.at("singular_values", time=PLATEAU)[RANK]), 1e-2)


def all_fall(evidence: Evidence) -> Measured:
    """The largest ratio of a singular value beyond the third at the end to itself at time 10."""
    run = evidence.runs[FLOW]
    width = matrix_problem(evidence, FLOW).width
    begin = run.at("singular_values", time=PLATEAU)[RANK:width]
    return at_most(float((run["singular_values"][-1, RANK:width] / begin).max()), 0.4)


def true_values(evidence: Evidence) -> Measured:
    """The largest relative gap of the three leading singular values to the true ones."""
    truth = np.linalg.svd(truth_of(evidence, FLOW), compute_uv=False)[:RANK]
    return at_most(float(np.abs(evidence.runs[FLOW]["singular_values"][-1, :RANK] / truth - 1).max()), RECOVERED)


def least_norm(evidence: Evidence) -> Measured:
    """|w|² at the end over twice the smallest nuclear norm among the interpolators."""
    answer = oracle(matrix_problem(evidence, FLOW))
    return within(float(evidence.runs[FLOW]["l2_norm"][-1] ** 2 / (2 * answer.value)), 0.99, 1.01)


def iteration_gap(evidence: Evidence) -> dict[str, float]:
    """The largest relative gap between iteration and flow from time 1 on, in the norm and in the test error."""
    flow, iteration = evidence.runs[FLOW], evidence.runs[ITERATION]
    late = iteration["time"] >= 1
    times = iteration["time"][late]
    return {
        column: max(
            abs(value / flow.at(column, time=time) - 1)
            for time, value in zip(times, iteration[column][late], strict=True)
        )
        for column in ("l2_norm", "test_error")
    }


def follows(evidence: Evidence) -> Measured:
    found = iteration_gap(evidence)
    return Measured(found, max(found.values()) <= 0.1)


def gradients(evidence: Evidence) -> Measured:
    return at_most(evidence.runs[FLOW].provenance["gradients"], 2e5)


CLAIMS = (
    Claim(
        "memorises-first",
        "The training loss drops quickly to zero.",
        "Section 5, Figure 2 (left)",
        "F at time 10 at most 1e-3 of F at the start",
        fitted,
    ),
    Claim(
        "memorisation-time",
        "The observed entries are fitted long before weight decay acts.",
        "Section 5, Figure 2 (left)",
        f"relative training error {common.MEMORISED:g} between time 1 and 30",
        lambda e: within(e.runs[FLOW].t1, 1.0, 30.0),
    ),
    Claim(
        "singular-values-settle",
        "The singular values rapidly converge to large positive values at time t ≈ 1.",
        "Caption of Figure 2",
        "change from time 1 to time 10 at most 0.1 of the largest",
        settled,
    ),
    Claim(
        "grokking-starts",
        "Grokking starts around time t ≈ 1e2.",
        "Caption of Figure 2",
        "a tenth of the norm's late fall is done between time 30 and 300",
        lambda e: within(onset(e), 30, 300),
    ),
    Claim(
        "onset-as-printed",
        "Around time t = 1/λ the weight norms begin to decrease.",
        "Section 5 (Explaining the observed grokking phenomenon)",
        "a tenth of the fall is done at λt between 0.3 and 3; fails: the norm falls as exp(-2λt) at first, near 0.05/λ",
        onset_as_printed,
        documented=False,
    ),
    Claim(
        "norm-falls-on-slow-time",
        "The norm falls on the time scale 1/λ.",
        "corrects the previous claim; Section 1, Theorem 1",
        "half of the late fall is done at λt between 0.2 and 3",
        lambda e: half_fall(e, "l2_norm"),
    ),
    Claim(
        "error-falls-on-slow-time",
        "The test error falls on the time scale 1/λ.",
        "Section 5, Figure 2 (left)",
        "half of the late fall is done at λt between 0.2 and 3",
        lambda e: half_fall(e, "test_error"),
    ),
    Claim(
        "coincides-with-norm",
        "The test loss improves as the norm of the weights decreases.",
        "Caption of Figure 2",
        "correlation after time 10 at least 0.95",
        coincide,
    ),
    Claim(
        "ends-at-oracle",
        "The flow ends at the minimum nuclear-norm interpolator, up to the bias of weight decay.",
        "Section 5: |U|² + |V|² is minimised on the zero-loss set",
        f"relative distance at most {AT_ORACLE:g}, on every draw",
        common.ends_at_oracle,
    ),
    Claim(
        "least-norm",
        "The end has the smallest |U|² + |V|² that fits the data: twice the smallest nuclear norm.",
        "Section 5 (Srebro et al., Lemma 1)",
        "ratio between 0.99 and 1.01, on every draw",
        least_norm,
    ),
    Claim(
        "recovers",
        "The solution at the end coincides with the ground truth M*.",
        "Section 5 (Explaining the observed grokking phenomenon)",
        f"relative error at most {RECOVERED:g} (where the draw is recoverable, about 0.5 % of them)",
        common.where_recoverable(lambda e: at_most(e.runs[FLOW].final["test_error"], RECOVERED)),
        rate=0.9,
    ),
    Claim(
        "recovers-by-1e4",
        "By t ≈ 1e4 the parameters have drifted to a solution that coincides with M*.",
        "Section 5 (Explaining the observed grokking phenomenon)",
        "relative error at time 1e4 at most 5e-2 (where the draw is recoverable)",
        common.where_recoverable(lambda e: at_most(e.runs[FLOW].at("test_error", time=1e4), 5e-2)),
        rate=0.9,
    ),
    Claim(
        "recovers-if-the-oracle-does",
        "The flow recovers M* if and only if the minimum nuclear-norm interpolator is M*.",
        "corrects 'coincides with the low rank ground truth matrix'",
        "the two verdicts are equal, on every draw",
        common.agrees_with_oracle,
        rate=0.95,
    ),
    Claim(
        "all-but-three-decay",
        "All but three singular values decay towards zero.",
        "Caption of Figure 2",
        "σ_4 at the end at most 1e-2 of σ_4 at time 10 (where the draw is recoverable)",
        common.where_recoverable(decayed),
        rate=0.9,
    ),
    Claim(
        "small-values-fall",
        "On every draw the singular values beyond the third fall: a drift towards low rank.",
        "Section 5",
        "every one at the end at most 0.4 of itself at time 10",
        all_fall,
        rate=0.9,
    ),
    Claim(
        "true-singular-values",
        "The remaining three approach the true singular values.",
        "Caption of Figure 2",
        f"relative gap at most {RECOVERED:g} (where the draw is recoverable)",
        common.where_recoverable(true_values),
        rate=0.9,
    ),
    Claim(
        "weight-decay-is-needed",
        "Without weight decay nothing generalises: the flow stays where it interpolates.",
        "Section 4, Proposition 1",
        "test error at the end at least 1",
        lambda e: at_least(e.runs[WITHOUT].final["test_error"], 1.0),
    ),
    Claim(
        "iteration-follows-flow",
        "Gradient descent at the printed step 1e-2 follows the flow.",
        "Appendix D.1",
        "relative gap of norm and test error from time 1 to 1e3 at most 0.1",
        follows,
        rate=0.9,
    ),
    Claim(
        "gradients",
        f"The flow to time {UNTIL:g} takes a small part of the paper's 1e7 gradients.",
        "cost of this reproduction",
        "at most 2e5 gradients",
        gradients,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (errors, values) = canvas(1, 2, height=2.6)
    draw_errors(errors, evidence)
    draw_values(values, evidence)
    for axis in (errors, values):
        log_times(axis)
        axis.axvline(1 / WEIGHT_DECAY, color=THEORY, linestyle=":", linewidth=0.9)
        place = axis.get_xaxis_transform()
        axis.text(1 / WEIGHT_DECAY, 1.01, r"$1/\lambda$", transform=place, ha="center", va="bottom", fontsize=7)
    return figure


def log_times(axis: Axes, left: float = 1e-2) -> None:
    """A logarithmic axis of time."""
    axis.set_xscale("log")
    axis.set_xlim(left, UNTIL)
    axis.set_xlabel("time $t$")


def draw_errors(axis: Axes, evidence: Evidence) -> None:
    run, bare = evidence.runs[FLOW], evidence.runs[WITHOUT]
    axis.plot(run["time"], run["train_error"], color=TRAIN, label="train error")
    axis.plot(run["time"], run["test_error"], color=TEST, label="test error")
    axis.plot(bare["time"], bare["test_error"], color=TEST, linestyle="--", linewidth=0.8, label="test, $\\lambda = 0$")
    norm = run["l2_norm"] ** 2 / run["l2_norm"][0] ** 2
    axis.plot(run["time"], norm, color=NORM, label="$|w|^2 / |w_0|^2$")
    axis.set_yscale("log")
    axis.set_ylim(5e-5, 4)
    axis.set_ylabel("relative error, relative norm")
    axis.legend(loc="lower left", fontsize=6)


def draw_values(axis: Axes, evidence: Evidence) -> None:
    run = evidence.runs[FLOW]
    truth = np.linalg.svd(truth_of(evidence, FLOW), compute_uv=False)[:RANK]
    axis.plot(run["time"], run["singular_values"][:, RANK:10], color=GREY, linewidth=0.8, alpha=0.8)
    for index, value in enumerate(truth):
        axis.plot(run["time"], run["singular_values"][:, index], color=CYCLE[index])
        axis.axhline(value, color=CYCLE[index], linestyle="--", linewidth=0.8)
        style = {"va": ("bottom", "top", "center")[index], "fontsize": 7, "color": CYCLE[index]}
        axis.text(1.01, value, rf"$\sigma_{index + 1}^*$", transform=axis.get_yaxis_transform(), **style)
    axis.set_ylim(0, 24)
    axis.set_ylabel(r"singular values $\sigma_i(UV^\top)$")


EXPERIMENT = Experiment(
    id="riemannian/fig2",
    title="Matrix completion under weight decay: errors, norm and singular values",
    claim="The data are fitted by time 10; on the time scale 1/λ all but three singular values decay, and with them "
    "the norm and the test error.",
    source="Section 5, Figure 2",
    seconds=20,
    settings=common.PRINTED,
    jobs=common.completion_jobs,
    claims=CLAIMS,
    draw=draw,
    seed=common.SEED,
    seed_reason=common.SEED_REASON,
    notes=(common.ORACLE_NOTE, common.FLOW_NOTE),
)
