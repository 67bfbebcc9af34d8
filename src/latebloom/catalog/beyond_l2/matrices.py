"""What the entries on low-rank matrices share: the standard run, the slow flow, and the oracle's word on a draw."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.claims import NotAsked
from latebloom.catalog.measures import distance

RECOVERED = 1e-2  # a relative error that the bias of the penalty allows on every recoverable draw
ORACLE_NOTE = (
    "Minimising the nuclear norm recovers about a fifth of the draws at these sizes. What a run can be held to is "
    "the oracle's answer on the same draw: it ends there, recoverable or not."
)
BIAS_NOTE = (
    "At a finite β the iteration ends at a distance of order β from the minimum nuclear-norm interpolator, a large "
    f"one on draws that are barely recoverable: a run counts as recovered below a relative error of {RECOVERED:g}."
)


def nuclear_job(s, problem, *, method=None, penalty=None, steps=None, **job):
    """Descent with a nuclear-norm penalty, or by another method or with another penalty; the probes of Figure 5."""
    probes = (
        lb.probes.GradientRatio(),
        lb.probes.SingularValues(),
        lb.probes.NuclearNormOfMatrix(),
        lb.probes.Components(),
    )
    method = lb.GradientDescent(s.learning_rate) if method is None else method
    penalty = lb.NuclearNorm(s.strength) if penalty is None else penalty
    return lb.TrainJob(problem, method, penalty, steps=s.steps if steps is None else steps, probes=probes, **job)


def truth_of(e, name):
    """The planted matrix of a run."""
    return np.asarray(e.problem(name).truth)


def true_values(e, name):
    """The singular values of the planted matrix."""
    return np.linalg.svd(truth_of(e, name), compute_uv=False)


def oracle(e, name):
    """The minimum nuclear-norm interpolator of a run's draw."""
    return e.cached(lb.oracles.min_nuclear_norm, e.problem(name))


def unrecoverable(e, name):
    """Why a claim about what is recovered does not speak of a run's draw; None where it does."""
    word = oracle(e, name).recovery
    return None if word == "recovered" else NotAsked(f"the minimum nuclear norm: {word}")


def slow_path(e, name):
    """The slow flow of the nuclear norm on a run's draw."""
    return e.cached(lb.flows.nuclear_path, e.problem(name))


def distance_to_oracle(e, name):
    """The relative distance of a run's end to the oracle's matrix."""
    answer = oracle(e, name)
    return distance(e[name].params, answer.solution) if answer.solved else None


def agrees_with_oracle(e, name, most):
    """Whether a run and the oracle recover, and whether they agree."""
    found = {"run": e[name].final["test_error"] <= most, "oracle": oracle(e, name).recovery == "recovered"}
    return found, found["run"] == found["oracle"]


def departures(run, places, level):
    """The step from which each of some singular values stays below a level; None if it does not."""
    steps = []
    for column in run["singular_values"].T[places]:
        large = np.flatnonzero(column > level)
        after = large[-1] + 1 if len(large) else 0
        steps.append(int(run["step"][after]) if after < len(column) else None)
    return steps
