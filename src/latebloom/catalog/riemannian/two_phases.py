"""Figure 1: fast and slow, on the runs of Figure 2, since its own problem is not printed."""

from __future__ import annotations

import numpy as np

from latebloom.catalog.base import Entry
from latebloom.catalog.bounds import at_least, at_most, within
from latebloom.catalog.measures import over
from latebloom.catalog.riemannian.completion import (
    AT_ORACLE,
    AT_THE_END,
    ORACLE_NOTE,
    PLATEAU,
    RECOVERED,
    SEED,
    SEED_REASON,
    CompletionSettings,
    completion_runs,
    ends_at_oracle,
    oracle,
    recoverable,
    recovers,
)
from latebloom.catalog.riemannian.phases import (
    FAST_CLOCK,
    FLOW,
    WITHOUT,
    clock,
)
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

LEFT_1, CAPTION_1 = "Section 1, Figure 1 (left)", "Caption of Figure 1"
fig1 = Entry(
    "riemannian/fig1",
    "Fast and slow: gradient flow with small weight decay fits first and simplifies later",
    "The flow runs to the zero-loss set as if there were no weight decay, and then slowly along it to the smallest "
    "norm.",
    source="Section 1, Figure 1",
    seconds=20,
    settings=CompletionSettings(seed=SEED),
    seed_reason=SEED_REASON,
    notes=(ORACLE_NOTE, "The runs are those of riemannian/fig2."),
)
fig1.runs(completion_runs)


@fig1.claim(at_most(1e-2), "largest relative training error from memorisation to the end", source=LEFT_1)
def train_stays_zero(e):
    """First the training loss drops to zero, and it stays there."""
    run = e[FLOW]
    return float(run["train_error"][run["time"] > run.t1].max()) if run.t1 else None


@fig1.claim(
    at_most(0.05),
    "relative distance of the two matrices up to time 10",
    source="Figure 1 (right), Proposition 1",
    control=FAST_CLOCK,
)
def follows_unregularised_flow(e):
    """The trajectory initially follows the unregularised flow."""
    run, bare = e[FLOW], e[WITHOUT]
    early = run["time"] <= PLATEAU
    gaps = np.linalg.norm(run["components"][early] - bare["components"][early], axis=1)
    return float((gaps / np.linalg.norm(bare["components"][early], axis=1)).max())


@fig1.claim(within(0.9, 1.1), "test error at time 10 over that of the unregularised flow at its end", source=LEFT_1)
def plateau(e):
    """The test loss plateaus where the unregularised flow ends."""
    return e[FLOW].at("test_error", time=PLATEAU) / e[WITHOUT].final["test_error"]


@fig1.claim(at_most(1e-6), "largest relative increase between records after time 10", source=CAPTION_1)
def norm_drops(e):
    """Then the norm of the weights drops steadily."""
    norm = e[FLOW]["l2_norm"][e[FLOW]["time"] >= PLATEAU]
    return float((norm[1:] / norm[:-1] - 1).max())


def drop(e, column):
    """A column at time 10 over its end."""
    return e[FLOW].at(column, time=PLATEAU) / e[FLOW].final[column]


@fig1.claim(at_least(1.5), "norm at time 10 over that at the end", source=f"{CAPTION_1}, Section 5")
def norm_at_the_end(e):
    """The drift leads to a solution of much lower norm."""
    return drop(e, "l2_norm")


@fig1.claim(at_least(3), "test error at time 10 over that at the end", source=LEFT_1, rate=0.8)
def test_improves(e):
    """The test loss decreases while the training loss remains zero."""
    return drop(e, "test_error")


@fig1.claim(at_least(300), "t2/t1 at relative error 1e-2 (on draws that are recoverable)", source=LEFT_1, rate=0.9)
def grokking(e):
    """Generalisation comes much later than memorisation."""
    return recoverable(e) or over(e[FLOW].t2, e[FLOW].t1)


fig1.claim(
    at_most(AT_ORACLE),
    "relative distance, on every draw,",
    text="The slow phase ends at the minimum nuclear-norm interpolator.",
    source="Section 5",
)(ends_at_oracle)
fig1.claim(at_most(RECOVERED), AT_THE_END, text="The end is the planted matrix.", source="Section 5", rate=0.9)(
    recovers
)


def phases(s):
    """The fast phase, the drift and the small norm as bands, with the times between them; named above the panel."""
    junction, slow = -np.log(s.weight_decay), 1 / s.weight_decay
    bands = [
        (1e-2, junction, "fast phase: fit the data", "train"),
        (junction, min(slow, s.time), "slow drift", "cycle 4"),
        (slow, s.time, "small norm", "cycle 4"),
    ]
    between = [(junction, r"$-\ln\lambda$"), (slow, r"$1/\lambda$")]
    return [
        *(Rule(low, name, role, to=high, opacity=0.1) for low, high, name, role in bands if low < high),
        *(Rule(time, name) for time, name in between),
    ]


@fig1.figure
def fig1_figure(e):
    s, run, bare = e.settings, e[FLOW], e[WITHOUT]
    errors = [
        *phases(s),
        panels.curve(run, "train_error", "train error", "train", width=1.8),
        panels.curve(run, "test_error", "test error", "test", width=1.8),
        panels.curve(bare, "test_error", r"test, $\lambda = 0$", "test", "beside"),
        *panels.thresholds(run),
        *panels.milestones(run),
    ]
    norms = [
        *phases(s),
        Line(run["time"], run["l2_norm"] ** 2, "flow", "norm", width=1.8),
        Line(bare["time"], bare["l2_norm"] ** 2, r"$\lambda = 0$", "norm", "beside"),
        Rule(2 * oracle(e).value, r"smallest that fits: $2\,|M|_*$", across="y"),
        *panels.milestones(run),
    ]
    top = 1.25 * float(bare["l2_norm"].max()) ** 2
    above = Panel(errors, clock(s), Axis("relative error", "log", 5e-5, 6), legend="lower left")
    below = Panel(norms, clock(s), Axis(r"$|w|^2 = |U|^2 + |V|^2$", low=0, high=top), legend="upper right")
    return Figure([[above], [below]])
