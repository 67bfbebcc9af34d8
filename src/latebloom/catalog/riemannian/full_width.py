"""Matrix completion with factors of m + n columns, as the paper analyses it: a manifold first, low rank in the end."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.bounds import at_least, at_most, near, within
from latebloom.catalog.controls import Instead
from latebloom.catalog.riemannian.curvature import jacobian, rank
from latebloom.catalog.riemannian.phases import FLOW, WITHOUT, clock, slow_scale
from latebloom.catalog.small_completion import SmallCompletion
from latebloom.core.fields import number
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

PLATEAU = 10.0  # a time between the phases
SEEN = 1e-2  # share of the largest singular value of a derivative below which a direction has gone


class FullWidthSettings(SmallCompletion):
    weight_decay: float = number(default=1e-3, above=0, below=1, note="λ")
    time: float = number(default=3e4, above=0)


entry = Entry(
    "riemannian/full-width",
    "Matrix completion with r = m + n: from a nonsingular point to least nuclear norm",
    "The unregularised flow ends where the zero-loss set is a manifold; the slow phase minimises the nuclear norm.",
    source="Section 5 (Matrix completion)",
    seconds=15,
    settings=FullWidthSettings(width=12),
    notes=("The paper gives no sizes for r = m + n: these are ours, 6 x 6 with twelve columns.",),
)


@entry.runs
def full_width_runs(s):
    flow = {"time": s.time, "solver": "rkc", "rtol": 1e-5, "probes": (lb.probes.SingularValues(),)}
    problem = s.problem()
    return {
        FLOW: lb.FlowJob(problem, lb.L2(s.weight_decay), **flow),
        WITHOUT: lb.FlowJob(problem, lb.L2(0.0), **flow),
    }


@entry.claim(
    at_least(1e-3), "smallest over largest singular value of the square matrix of U over V", rate=0.9,
    control=Instead({WITHOUT: FLOW}),
)  # fmt: skip
def starts_nonsingular(e):
    """With r = m + n the unregularised flow converges to a nonsingular matrix."""
    left, right = (np.asarray(part) for _, part in sorted(e[WITHOUT].params.items()))
    side = e.settings.side
    stacked = [part if part.shape[0] == side else part.T for part in (left, right)]
    values = np.linalg.svd(np.concatenate(stacked), compute_uv=False)
    return float(values[-1] / values[0])


@entry.claim(
    near(0, by=0), "rank of the residuals' derivative there less the number of observed entries",
    control=Instead({WITHOUT: FLOW}),
)  # fmt: skip
def manifold(e):
    """There the stationary points form a manifold."""
    return rank(jacobian(e.problem(WITHOUT), e[WITHOUT].params), SEEN) - e.settings.observed


@entry.claim(within(0.99, 1.01), "|w|² over twice the least nuclear norm that fits", source="Section 5, after Eq. 8")
def least_norm(e):
    """The slow phase minimises |U|² + |V|²: the end has twice the least nuclear norm that fits the data."""
    oracle = e.cached(lb.oracles.min_nuclear_norm, e.problem(FLOW))
    return float(e[FLOW]["l2_norm"][-1] ** 2 / (2 * oracle.value))


@entry.claim(
    at_most(0.1), "σ_6 at the end over σ_6 at time 10", source="Section 5, after Eq. 8", rate=0.9,
)  # fmt: skip
def drifts_to_low_rank(e):
    """The slow phase drifts toward matrices of low rank."""
    run = e[FLOW]
    return float(run["singular_values"][-1, -1] / run.at("singular_values", time=PLATEAU)[-1])


@entry.figure
def full_width_figure(e):
    s, run = e.settings, e[FLOW]
    oracle = e.cached(lb.oracles.min_nuclear_norm, e.problem(FLOW))
    norms = [
        Line(run["time"], run["l2_norm"] ** 2, "flow", "norm"),
        Line(e[WITHOUT]["time"], e[WITHOUT]["l2_norm"] ** 2, r"$\lambda = 0$", "norm", "beside"),
        Rule(2 * oracle.value, r"smallest that fits: $2\,|M|_*$", across="y"),
        slow_scale(s),
        *panels.milestones(run),
    ]
    values = [
        panels.curve(run, "singular_values", role=f"cycle {index % 6}", name=f"singular value {index + 1}", part=index)
        for index in range(run["singular_values"].shape[1])
    ]
    left = Panel(norms, clock(s), Axis(r"$|w|^2 = |U|^2 + |V|^2$", low=0))
    right = Panel(
        [*values, slow_scale(s), *panels.milestones(run)],
        clock(s),
        Axis(r"singular values $\sigma_i(UV^\top)$", "log", low=1e-6),
    )
    return Figure([[left, right]])
