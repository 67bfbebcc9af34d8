"""Theorem 4.9: a trajectory that starts on the zero-loss set stays near it, at a distance of order λ."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.catalog.geometry.common import SCALE_NOTE
from latebloom.catalog.measures import log_slope
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_least, at_most
from latebloom.figures.look import CYCLE, THEORY, canvas, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.flows import FlowJob

DECAYS = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4)  # the paper's λ, which multiplies |w|²
UNTIL = 20.0  # slow time 2λt
STARTS = {"plane": (-1.0, 1.0, 3.0), "curved": (0.4, 2.5), "leaky_sum": (-1.0, 3.0)}  # of zero loss
CURVED = "curved"


def name_of(kind: str, decay: float) -> str:
    return f"{kind}, λ={decay:g}"


def jobs(request: Request) -> dict[str, FlowJob]:
    import latebloom as lb
    from latebloom.problems.vector.toy_models import ToyModel

    probes = (lb.probes.Trajectory(),)
    tight: dict[str, Any] = {"rtol": 1e-8, "atol": 1e-11, "records_per_decade": 20, "probes": probes}
    return {
        name_of(kind, decay): lb.FlowJob(
            ToyModel(kind, init=start), lb.L2(2 * decay), time=UNTIL / (2 * decay), solver="rkc", **tight
        )
        for kind, start in STARTS.items()
        for decay in DECAYS
    }


@lru_cache(maxsize=4)
def _distances(kind: str) -> Any:
    import jax

    import latebloom as lb
    from latebloom.problems.vector.toy_models import ToyModel

    problem = ToyModel(kind, init=STARTS[kind])
    return jax.jit(lambda rows: jax.lax.map(lambda w: lb.zero_loss.distance_to_zero_loss(problem, w), rows))


def distances(evidence: Evidence, kind: str, decay: float) -> tuple[np.ndarray, np.ndarray]:
    """Slow time 2λt and the distance to the zero-loss set."""
    run = evidence.runs[name_of(kind, decay)]
    return run["slow_time"], np.asarray(_distances(kind)(run["parameters"]))


def largest(evidence: Evidence, kind: str) -> list[float]:
    return [float(distances(evidence, kind, decay)[1].max()) for decay in DECAYS]


def stays(evidence: Evidence) -> Measured:
    """The largest distance at the smallest λ, relative to the norm at the start, over the three sets."""
    found = [largest(evidence, kind)[-1] / float(np.linalg.norm(start)) for kind, start in STARTS.items()]
    return at_most(max(found), 1e-3)


def slopes(evidence: Evidence) -> Measured:
    found = {kind: log_slope(DECAYS, largest(evidence, kind)) for kind in STARTS}
    return Measured(found, all(0.95 <= value <= 1.05 for value in found.values()))


def descent(evidence: Evidence) -> Measured:
    """The largest rise of `L + λ|θ|²` between two records, relative."""
    rises = [
        np.diff(run["train_loss"] + run["penalty_value"]).max() / run["penalty_value"][0]
        for run in evidence.runs.values()
    ]
    return at_most(float(max(rises)), 1e-7)


def loss_bound(evidence: Evidence) -> Measured:
    """The largest loss over λ|θ(0)|², the bound of Lemma A.1."""
    shares = [run["train_loss"].max() / run["penalty_value"][0] for run in evidence.runs.values()]
    return at_most(float(max(shares)), 1.0)


def loss_order(evidence: Evidence) -> Measured:
    """The slope in λ of the largest loss on the hyperbola: 1 if the bound were tight."""
    losses = [float(evidence.runs[name_of(CURVED, decay)]["train_loss"].max()) for decay in DECAYS]
    return at_least(log_slope(DECAYS, losses), 1.9)


CLAIMS = (
    Claim(
        "stability",
        "For every ε there is a λ below which a trajectory that starts at zero loss never leaves the ε-neighbourhood "
        "of the zero-loss set.",
        "Theorem 4.9",
        "largest distance at λ = 3e-4 at most 1e-3 of |θ(0)|, on three sets",
        stays,
    ),
    Claim(
        "order-lambda",
        "The distance is of order λ at regular points (the theorem gives no rate).",
        "sharpens Theorem 4.9",
        "slope of the largest distance in λ between 0.95 and 1.05",
        slopes,
    ),
    Claim(
        "descent",
        "Gradient flow never increases L + λ|θ|².",
        "Appendix A, proof of Lemma A.1",
        "largest relative rise between two records at most 1e-7",
        descent,
    ),
    Claim(
        "loss-bound",
        "The loss stays below λ|θ(0)|².",
        "Appendix A, Lemma A.1",
        "largest ratio at most 1",
        loss_bound,
    ),
    Claim(
        "loss-of-order-lambda-squared",
        "The loss is of order λ², and not λ as in the bound.",
        "sharpens Lemma A.1",
        "slope of the largest loss in λ at least 1.9",
        loss_order,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (left, right) = canvas(1, 2, height=2.5)
    for decay, colour in zip(DECAYS, shades(len(DECAYS)), strict=True):
        times, distance = distances(evidence, CURVED, decay)
        left.plot(times[1:], distance[1:], color=colour, label=rf"$\lambda = ${decay:g}")
    left.set_xlim(1e-3, UNTIL)
    left.set_ylim(bottom=1e-6)
    left.set_xlabel(r"slow time $2\lambda t$")
    left.set_ylabel(r"distance to $\mathcal{Z}$")
    left.set_title(r"$w_1 w_2 = 1$")
    left.legend(loc="lower right", fontsize=6)
    for kind, colour, marker in zip(STARTS, CYCLE, "os^", strict=False):
        found = np.array(largest(evidence, kind))
        right.plot(DECAYS, found, marker, color=colour, label=kind.replace("_", " "))
        right.plot(DECAYS, found[-1] * np.array(DECAYS) / DECAYS[-1], "--", color=THEORY, linewidth=0.9)
    right.set_xlabel(r"the paper's $\lambda$")
    right.set_ylabel(r"largest distance to $\mathcal{Z}$")
    right.legend(loc="upper left", title="dashed: slope 1", title_fontsize=6)
    for axis in (left, right):
        axis.set_xscale("log")
        axis.set_yscale("log")
    return figure


EXPERIMENT = Experiment(
    id="geometry/thm4.9",
    title="Theorem 4.9: weight decay keeps to the zero-loss set",
    claim="From a point of zero loss the flow stays within a distance of order λ of the zero-loss set.",
    source="Section 4.3, Theorem 4.9; Appendix A",
    seconds=20,
    settings={
        "models": "w1+w2+w3 = 3, w1 w2 = 1, leaky ReLU of w1+w2 = 2; one sample",
        "starts": STARTS,
        "the paper's λ": DECAYS,
        "slow time 2λt": UNTIL,
        "solver": "Runge-Kutta-Chebyshev, relative tolerance 1e-8",
    },
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=(SCALE_NOTE, "Distances are to the point that Gauss-Newton steps of least norm lead to."),
)
