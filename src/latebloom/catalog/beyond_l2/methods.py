"""Other iterations on the problem of Figure 3: projected subgradient steps (Figure 12) and ISTA (Figure 13)."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.beyond_l2.draws import COLUMNS_NOTE, THRESHOLD_NOTE
from latebloom.catalog.beyond_l2.sparse import L1Settings, sparse_job
from latebloom.catalog.bounds import at_most, within
from latebloom.catalog.measures import distance, over
from latebloom.figures import Figure, Rule, panels

OTHER, SUBGRADIENT = "this method", "subgradient"

fig12 = Entry(
    "beyond-l2/fig12",
    "Sparse recovery by projected subgradient descent",
    "One step memorises; the generalisation time is that of the subgradient method.",
    source="Appendix D.1, Figure 12",
    seconds=4,
    settings=L1Settings(),
    notes=(COLUMNS_NOTE, THRESHOLD_NOTE),
)
fig13 = Entry(
    "beyond-l2/fig13",
    "Sparse recovery by iterative soft-thresholding (ISTA)",
    "Proximal gradient descent groks at the same time as the subgradient method, and ends at the Lasso solution.",
    source="Appendix D.1, Figure 13",
    seconds=4,
    settings=L1Settings(),
    notes=(COLUMNS_NOTE, THRESHOLD_NOTE),
)


@fig12.runs
def fig12_runs(s):
    return {OTHER: sparse_job(s, method=lb.ProjectedSubgradient(s.learning_rate)), SUBGRADIENT: sparse_job(s)}


@fig13.runs
def fig13_runs(s):
    return {OTHER: sparse_job(s, method=lb.ProximalGradient(s.learning_rate)), SUBGRADIENT: sparse_job(s)}


@fig12.claim(within(1, 1), "t1 in steps", source="Section 3.1, Appendix D.1")
def one_step(e):
    """One training step is enough for the projected subgradient to get zero training error."""
    return e[OTHER].t1


@fig12.claim(at_most(1e-12), "largest relative training error after step 1", source="Appendix D.1")
def zero_error_throughout(e):
    """Every iterate after the first interpolates."""
    return float(e[OTHER]["train_error"][1:].max())


@fig13.claim(at_most(100), "t1 in steps", source="Appendix D.1")
def memorises_first(e):
    """The pattern is that of the subgradient case: memorisation first."""
    return e[OTHER].t1


@fig13.claim(at_most(1e-8), "relative distance to the Lasso oracle", source="Appendix D.1", rate=0.7)
def ends_at_lasso(e):
    """The proximal iteration converges to the minimiser of g + β|a|_1 itself."""
    oracle = e.cached(lb.oracles.lasso, e.problem(OTHER), e.settings.strength)
    return distance(e[OTHER].params, oracle.solution) if oracle.solved else None


SAME_TIME = within(0.95, 1.05), "t2 over the subgradient method's t2"


@fig12.claim(*SAME_TIME, source="Appendix D.1", rate=0.8)
@fig13.claim(*SAME_TIME, source="Appendix D.1", rate=0.8)
def same_generalisation(e):
    """The same grokking pattern as with the subgradient method: generalisation is driven by h."""
    return over(e[OTHER].t2, e[SUBGRADIENT].t2)


@fig12.claim(at_most(1e-3), "recovery error at the end", source="Appendix D.1", rate=0.8)
@fig13.claim(at_most(1e-3), "recovery error at the end", source="Appendix D.1", rate=0.8)
def recovers(e):
    """The iterates converge to a*."""
    return e[OTHER].final["test_error"]


def true_norm(e):
    """|a*|_1."""
    return float(np.abs(e.problem(OTHER).truth).sum())


@fig12.claim(at_most(1e-2), "relative gap at the end", source="Appendix D.1", rate=0.8)
@fig13.claim(at_most(1e-2), "relative gap at the end", source="Appendix D.1", rate=0.8)
def l1_norm_converges(e):
    """|a|_1 converges to |a*|_1."""
    return abs(e[OTHER].final["l1_norm"] - true_norm(e)) / true_norm(e)


@fig12.figure
@fig13.figure
def beside_subgradient(e):
    """Errors with those of the subgradient method in grey, norm and components."""
    run, size = e[OTHER], Rule(true_norm(e), r"$|a^*|_1$", across="y")
    reference = panels.curve(e[SUBGRADIENT], "test_error", "subgradient, recovery", "grey", width=0.8)
    norm = panels.norm(run, "l1_norm", r"$|a|_1$", size)
    components = panels.components(run, np.asarray(e.problem(OTHER).truth))
    return Figure([[panels.errors(run, reference), norm, components]], height=2.1)
