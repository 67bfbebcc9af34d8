"""Figure 19: coherence raises the number of measurements that recovery needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import latebloom as lb
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, Study, at_least, at_most
from latebloom.core.progress import tracked
from latebloom.figures.look import canvas, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIMENSION = 100
TAUS = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
SPARSITIES = (1, 3, 5, 10, 15, 20, 30)
DRAWS = 2
TOLERANCE = 1e-6
COHERENCE, MINIMUM = "coherence", "smallest number of measurements"


def problem(count: int, sparsity: int, tau: float, seed: int):
    return lb.problems.SparseRecovery(
        DIMENSION, sparsity, count, coherence=tau, signal_to_noise=np.inf, normalise="rows", seed=seed
    )


def recovery_error(count: int, sparsity: int, tau: float, seed: int) -> float:
    """The relative error of basis pursuit on a noiseless draw; 1 where it is not solved."""
    drawn = problem(count, sparsity, tau, seed)
    oracle = lb.oracles.basis_pursuit(drawn)
    truth = np.asarray(drawn.truth)
    return float(np.linalg.norm(oracle.solution - truth) / np.linalg.norm(truth)) if oracle.solved else 1.0


def smallest_count(sparsity: int, tau: float, seed: int) -> int:
    """The smallest N from which basis pursuit recovers, by bisection (recovery is monotone in N up to chance)."""
    low, high = sparsity - 1, DIMENSION
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if recovery_error(middle, sparsity, tau, seed) <= TOLERANCE else (middle, high)
    return high


def measure_coherence(seed: int) -> dict[str, np.ndarray]:
    taus = np.linspace(0, 1, 11)
    # X = MΦ with Φ orthonormal: the coherence of the rows of M with Φ is that of the rows of X with the identity.
    rows = [np.asarray(problem(30, 5, float(tau), seed).design) for tau in taus]
    return {"tau": taus, "coherence": np.array([lb.theory.coherence(x.T, np.eye(DIMENSION)) for x in rows])}


def measure_minimum(seed: int) -> dict[str, np.ndarray]:
    grid = [(tau, sparsity, draw) for tau in TAUS for sparsity in SPARSITIES for draw in range(DRAWS)]
    counts = [smallest_count(s, tau, 1000 * seed + draw) for tau, s, draw in tracked(grid, "basis pursuit")]
    tau, sparsity, draw = (np.array(column, dtype=float) for column in zip(*grid, strict=True))
    return {"tau": tau, "sparsity": sparsity, "draw": draw, "count": np.array(counts, dtype=float)}


def studies(request: Request):
    settings = {"experiment": "beyond-l2/fig19", "version": 1, "seed": request.seed}
    sizes = {"taus": list(TAUS), "sparsities": list(SPARSITIES), "draws": DRAWS}
    return (
        Study(COHERENCE, settings, lambda: measure_coherence(request.seed)),
        Study(MINIMUM, settings | sizes, lambda: measure_minimum(request.seed)),
    )


def mean_count(evidence: Evidence, tau: float) -> float:
    table = evidence.tables[MINIMUM]
    return float(table["count"][table["tau"] == tau].mean())


def grows(evidence: Evidence) -> Measured:
    """The mean smallest N by τ."""
    means = [mean_count(evidence, tau) for tau in TAUS]
    return Measured([round(mean, 1) for mean in means], bool(np.all(np.diff(means) > 0)))


def grows_with_sparsity(evidence: Evidence) -> Measured:
    table = evidence.tables[MINIMUM]
    means = [float(table["count"][(table["tau"] == 0) & (table["sparsity"] == s)].mean()) for s in SPARSITIES]
    return Measured(means, bool(np.all(np.diff(means) > 0)))


def last_of_support(evidence: Evidence) -> Measured:
    """The largest difference between the smallest N at τ=1 and the last index of the support, over all draws."""
    table = evidence.tables[MINIMUM]
    full = table["tau"] == 1
    gaps = []
    for sparsity, draw, count in zip(table["sparsity"][full], table["draw"][full], table["count"][full], strict=True):
        truth = np.asarray(problem(1, int(sparsity), 1.0, 1000 * evidence.request.seed + int(draw)).truth)
        gaps.append(abs(count - (np.flatnonzero(truth)[-1] + 1)))
    return at_most(float(max(gaps)), 0)


def coherence_rises(evidence: Evidence) -> Measured:
    values = evidence.tables[COHERENCE]["coherence"]
    return Measured([round(float(v), 3) for v in values], bool(values[0] < 0.6 and np.all(values[1:] > 0.999)))


CLAIMS = (
    Claim(
        "minimum-grows-with-coherence",
        "As τ increases, the number of samples needed for perfect recovery increases.",
        "Appendix G.1.3, Figure 19b",
        "mean over s of the smallest N strictly increasing in τ",
        grows,
        rate=0.8,
    ),
    Claim(
        "minimum-grows-with-sparsity",
        "As s increases, the number of samples needed for perfect recovery increases.",
        "Appendix G.1.3, Figure 19b",
        "mean smallest N at τ=0 strictly increasing in s",
        grows_with_sparsity,
        rate=0.6,
    ),
    Claim(
        "full-coherence-as-printed",
        "When τ converges to 1 the number converges to n for all s.",
        "Appendix G.1.3",
        "mean smallest N at τ=1 at least 99 % of n; fails: it is enough to have measured the support",
        lambda e: at_least(mean_count(e, 1.0), 0.99 * DIMENSION),
        documented=False,
    ),
    Claim(
        "full-coherence-needs-the-support",
        "At τ=1 measurement i reads component i: the smallest N is the last index of the support of a*.",
        "corrects the previous claim",
        "difference zero in every draw",
        last_of_support,
    ),
    Claim(
        "coherence-jumps",
        "The higher τ, the less is the incoherence between the measurements and Φ.",
        "Appendix G.1.2, Figure 19a",
        "coherence below 0.6 at τ=0 and 1 as soon as one measurement is a column of Φ",
        coherence_rises,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (left, right) = canvas(1, 2, height=2.4)
    table = evidence.tables[COHERENCE]
    left.plot(table["tau"], table["coherence"], "o-")
    left.set_xlabel(r"coherence parameter $\tau$")
    left.set_ylabel(r"coherence $\mu(M^T, \Phi)$")
    table = evidence.tables[MINIMUM]
    for tau, colour in zip(TAUS, shades(len(TAUS)), strict=True):
        means = [table["count"][(table["tau"] == tau) & (table["sparsity"] == s)].mean() for s in SPARSITIES]
        right.plot(SPARSITIES, means, "o-", color=colour, label=rf"$\tau$ = {tau:g}")
    right.axhline(DIMENSION, color="black", linestyle="--", linewidth=0.9, label="$n$")
    right.set_xlabel("sparsity $s$")
    right.set_ylabel(r"smallest $N$ for recovery")
    right.legend(fontsize=6, ncols=2)
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig19",
    title="Coherence, and the smallest number of measurements for perfect recovery",
    claim="The number of measurements that perfect recovery needs grows with sparsity and coherence.",
    source="Appendix G.1.3, Figure 19",
    seconds=8,
    settings={"dimension n": 100, "sparsity s": SPARSITIES, "coherence τ": TAUS, "noise": "none", "draws": DRAWS},
    studies=studies,
    claims=CLAIMS,
    draw=draw,
    notes=("The oracle is our certified basis pursuit in place of cvxpy.",),
)
