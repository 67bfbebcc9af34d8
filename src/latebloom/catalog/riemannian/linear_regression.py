"""Linear regression, Eqs. 23 and 24: both phases in closed form, and the factor of two in the printed rate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.bounds import at_least, at_most, within
from latebloom.catalog.controls import Altered
from latebloom.catalog.measures import distance
from latebloom.catalog.riemannian.phases import DecaySettings, clock, slow_scale
from latebloom.core.fields import count, number
from latebloom.figures import Axis, Figure, Line, Panel

STATED, HALVED = "F = |Xw - y|²", "F = |Xw - y|²/2"
TOLERANCE = 1e-4  # the flows are solved to a relative 1e-6 a step, and errors add up


class RegressionSettings(DecaySettings):
    features: int = count(default=30, note="d")
    samples: int = count(default=10, note="n")
    init_scale: float = number(default=3.0, least=0, note="norm of the start, which is Gaussian")
    time: float = number(default=2e4, above=0)

    def problem(self):
        """Gaussian data; the loss is |Xw - y|²/2."""
        return lb.problems.LinearRegression.random(
            features=self.features, samples=self.samples, init_scale=self.init_scale, seed=self.seed
        )


regression = Entry(
    "riemannian/linear-regression",
    "Linear regression: both phases in closed form",
    "The flow is at the interpolator nearest to its start after the fast phase and at the one of least norm after the "
    "slow one; for the stated loss the fast rate is twice the printed one.",
    source="Section 5 and Appendix C, Eqs. 23 and 24",
    seconds=20,
    settings=RegressionSettings(),
    notes=("The paper gives no sizes for linear regression: these are ours.",),
)


@regression.runs
def regression_runs(s):
    half, root = s.problem(), np.sqrt(2.0)
    whole = lb.problems.LinearRegression(
        root * np.asarray(half.design), root * np.asarray(half.targets), truth=half.truth, init=half.start
    )
    flow = {"time": s.time, "solver": "rkc", "probes": (lb.probes.Components(),), "rtol": 1e-6, "atol": 1e-9}
    return {
        name: lb.FlowJob(problem, lb.L2(s.weight_decay), **flow) for name, problem in ((STATED, whole), (HALVED, half))
    }


def closed_form(e, factor):
    """Eqs. 23 and 24 with the rate `factor · σ² + λ`; a factor of 1 is as printed."""
    return lb.theory.L2Flow(e.problem(HALVED), e.settings.weight_decay, factor=factor)


def gaps(e, name, factor):
    """The distance of a flow to a closed form at every record."""
    return np.linalg.norm(e[name]["components"] - closed_form(e, factor).at(e[name]["time"]), axis=1)


def nearest(e):
    """Φ(w0): the projection of the start on the interpolators."""
    return lb.theory.L2Flow(e.problem(HALVED), 0.0).limit


def least_norm(e):
    """The interpolator of least norm."""
    return np.asarray(lb.oracles.min_norm(e.problem(HALVED)).solution)


LARGEST = at_most(TOLERANCE), "largest distance to the flow"


@regression.claim(*LARGEST, source="Appendix C, Eq. 23", fails="the rate of this F is 2σ² + λ")
def rate_as_printed(e):
    """For F = |Xw - y|² the part orthogonal to the zero-loss set moves at the rate σ² + λ."""
    return float(gaps(e, STATED, 1.0).max())


@regression.claim(*LARGEST, source="corrects the previous claim", kind="corrected")
def rate_doubled(e):
    """For F = |Xw - y|² the rate is 2σ² + λ, and the limit 2σ²/(2σ² + λ) z*."""
    return float(gaps(e, STATED, 2.0).max())


@regression.claim(*LARGEST, source="Appendix C, Eqs. 23 and 24, for half the loss", kind="corrected")
def rate_of_half_the_sum(e):
    """The printed rate is that of F = |Xw - y|²/2."""
    return float(gaps(e, HALVED, 1.0).max())


@regression.claim(within(0.999, 1.001), "measured rate over λ", source="Appendix C, Eq. 24")
def kernel_rate(e):
    """The part parallel to the zero-loss set decays as exp(-λt)."""
    run, right, decay = e[STATED], closed_form(e, 2.0).spectrum.right, e.settings.weight_decay
    parts = run["components"] - run["components"] @ right @ right.T
    seen = (run["time"] > 0) & (run["time"] <= 5 / decay)
    slope = np.polyfit(run["time"][seen], np.log(np.linalg.norm(parts[seen], axis=1)), 1)[0]
    return float(-slope / decay)


@regression.claim(at_most(0.1), "smallest distance to it over that of the start", source="Appendix C, after Eq. 24")
def first_phase(e):
    """The iterates first come near the projection of the start on the zero-loss set."""
    found = np.linalg.norm(e[STATED]["components"] - nearest(e), axis=1)
    return float(found.min() / found[0])


@regression.claim(
    at_most(3e-2), "relative distance at the end (the bias is λ/(2σ²))", source="Appendix C, after Eq. 24"
)
def second_phase(e):
    """Then they converge slowly to the solution of minimal norm."""
    return distance(e[STATED]["components"][-1], least_norm(e))


def from_zero(e):
    """The problems with a start at zero, where both solutions are one."""
    return replace(e, jobs=regression.jobs(e.settings.but(init_scale=0.0)))


@regression.claim(
    at_least(1.5),
    "test error of the projection over that of the minimal norm",
    source="Section 5 (Linear regression)",
    control=Altered("the start is zero", from_zero),
)
def generalises_better(e):
    """The solution of minimal norm generalises better than the projection of the start."""
    truth = np.asarray(e.problem(HALVED).truth)
    first, last = (np.linalg.norm(point - truth) for point in (nearest(e), least_norm(e)))
    return float(first / last)


@regression.figure
def regression_figure(e):
    s, run = e.settings, e[STATED]
    time, exact = run["time"], closed_form(e, 2.0).at(run["time"])
    goals = (nearest(e), "train", r"to $\Phi(w_0)$"), (least_norm(e), "test", r"to the least norm $X^+y$")
    paths = [
        *(Line(time, np.linalg.norm(run["components"] - goal, axis=1), label, role) for goal, role, label in goals),
        *(
            Line(time, np.linalg.norm(exact - goal, axis=1), "closed form", "theory", name=f"closed form {label}")
            for goal, _, label in goals
        ),
        slow_scale(s),
    ]
    found = [
        Line(time, gaps(e, STATED, 1.0), r"$F = |Xw - y|^2$, printed rate $\sigma^2$", "test"),
        Line(time, gaps(e, STATED, 2.0), r"$F = |Xw - y|^2$, rate $2\sigma^2$", "norm"),
        Line(time, gaps(e, HALVED, 1.0), r"$F = |Xw - y|^2/2$, rate $\sigma^2$", "train"),
    ]
    left = Panel(paths, clock(s), Axis("distance of the flow", "log"), legend="lower left")
    right = Panel(found, clock(s), Axis("distance to the closed form", "log", 1e-11, 1e3), legend="upper left")
    return Figure([[left, right]])
