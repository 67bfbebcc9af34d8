"""Figure 2: three weights, one sample: straight to the point of least norm on the zero-loss plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.geometry.common import (
    DECAY,
    FREE_NOTE,
    LEARNING_RATE,
    SCALE_NOTE,
    STEPS,
    bend,
    junction,
    linear_flow,
    memorised_at,
    settled,
    toy_job,
)
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_least, at_most
from latebloom.figures.old import landscape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.engine.training import TrainJob

STARTS = ((-2.0, 2.2, 0.4), (2.6, -1.2, -1.4), (-0.6, -1.8, 2.2), (3.0, 2.2, 0.4))
TOTAL = 3.0


def jobs(request: Request) -> dict[str, TrainJob]:
    return {f"from {start}": toy_job("plane", start) for start in STARTS}


def in_plane(points: np.ndarray) -> np.ndarray:
    """The part of each row along the plane, `w - mean(w)`."""
    return points - points.mean(axis=1, keepdims=True)


def straightness(evidence: Evidence) -> Measured:
    return at_most(max(bend(run["parameters"][settled(run) :]) for run in evidence.runs.values()), 5e-3)


def whole_path_bend(evidence: Evidence) -> Measured:
    return at_least(min(bend(run["parameters"]) for run in evidence.runs.values()), 0.1)


def direction(evidence: Evidence) -> Measured:
    """The smallest cosine between the motion after memorisation and minus the norm's gradient along the plane."""
    cosines = []
    for run in evidence.runs.values():
        slide = run["parameters"][junction(run) :][run["slow_time"][junction(run) :] <= 4]
        motion, force = np.diff(in_plane(slide), axis=0), -in_plane(slide)[:-1]
        cosines.append(
            (np.sum(motion * force, axis=1) / np.linalg.norm(motion, axis=1) / np.linalg.norm(force, axis=1)).min()
        )
    return at_least(float(min(cosines)), 1 - 1e-9)


def closed_form(evidence: Evidence) -> Measured:
    gaps = [
        np.abs(run["parameters"] - linear_flow(run["parameters"][0], TOTAL, DECAY, run["time"])).max()
        for run in evidence.runs.values()
    ]
    return at_most(float(max(gaps)), 0.1)


def slow_rate(evidence: Evidence) -> Measured:
    """The largest relative gap of the in-plane part to its start times e^{-2λt}, up to slow time 4."""
    gaps = []
    for run in evidence.runs.values():
        size = np.linalg.norm(in_plane(run["parameters"]), axis=1)
        ratio = size / (size[0] * np.exp(-run["slow_time"])) - 1
        gaps.append(np.abs(ratio[run["slow_time"] <= 4]).max())
    return at_most(float(max(gaps)), 1e-3)


CLAIMS = (
    Claim(
        "first-to-the-plane",
        "For all initialisations the model first converges to the zero-loss plane.",
        "Section 3.2, Figure 2",
        "memorised (relative error 0.03) by slow time 2λt = 0.05 from every start",
        lambda e: at_most(memorised_at(e.runs), 0.05),
    ),
    Claim(
        "straight-on-the-plane",
        "Then it moves directly towards the solution of minimum norm.",
        "Section 3.2, Figure 2",
        "from slow time 0.05 after memorisation no path strays from its chord by more than 0.5 % of its length",
        straightness,
    ),
    Claim(
        "two-phases",
        "It is the path on the plane that is straight, not the whole path: memorising is another direction.",
        "Section 3.2, Figure 2",
        "every whole path strays from its chord by at least 10 % of its length",
        whole_path_bend,
    ),
    Claim(
        "optimal-direction",
        "The motion is along the direction that optimally minimises the norm on the zero-loss set.",
        "Section 3.2",
        "cosine with minus the norm's gradient along the plane at least 1 - 1e-9 up to slow time 4",
        direction,
    ),
    Claim(
        "reaches-ones",
        "The model slowly reaches the generalising solution (1, 1, 1).",
        "Section 3.2",
        "relative distance at most 0.01 at slow time 8 (weight decay leaves λ/(3 + λ) = 0.0033)",
        lambda e: at_most(max(run.final["test_error"] for run in e.runs.values()), 0.01),
    ),
    Claim(
        "slow-rate",
        "The part along the plane shrinks as e^{-2λt} from the first step on.",
        "Equation 4, solved",
        "relative gap at most 1e-3 up to slow time 4",
        slow_rate,
    ),
    Claim(
        "closed-form",
        "The path is that of the flow.",
        "Equation 4, solved",
        "no weight further than 0.1 from the exact flow (steps of 0.01 at curvature 6, while memorising)",
        closed_form,
    ),
)


def draw(evidence: Evidence) -> Figure:
    from mpl_toolkits.mplot3d import Axes3D  # noqa: F401  registers the projection

    figure, axes = landscape.stage(
        [("space", "train"), ("space", "test")],
        height=3.9,
        width_ratios=(1.75, 1),
        per_subplot_kw={"space": {"projection": "3d", "computed_zorder": False}},
    )
    space, errors = axes["space"], (axes["train"], axes["test"])
    landscape.plane(space, total=TOTAL, reach=3.6)
    for run, colour in zip(evidence.runs.values(), landscape.PATHS, strict=False):
        points = run["parameters"]
        landscape.path(space, points, junction(run), colour=colour)
        exact = linear_flow(points[0], TOTAL, DECAY, run["time"])
        landscape.predicted(space, exact)
        gap, distance = (exact.sum(axis=1) - TOTAL) / TOTAL, np.linalg.norm(exact - 1, axis=1) / np.sqrt(3)
        for axis, values, theory in zip(
            errors, (run["train_error"], run["test_error"]), (np.abs(gap), distance), strict=True
        ):
            axis.plot(run["time"], values, color=colour, linewidth=1.8)
            landscape.predicted(axis, np.column_stack([run["time"], theory]))
    landscape.end(space, (1.0, 1.0, 1.0))
    for axis, label in zip(errors, ("train error", "test error"), strict=True):
        axis.set(xscale="log", yscale="log", xlim=(1e-2, None), ylim=(2e-3, 4), xlabel="time", ylabel=label)
    dress(space)
    landscape.key(figure, theory="exact flow", zero="zero-loss plane")
    return figure


def dress(space) -> None:
    """A view along the plane's edge from above, with light panes, so that the plane and not the box is seen."""
    space.view_init(elev=22, azim=22)
    space.set_box_aspect((1, 1, 1), zoom=1.05)
    for axis in (space.xaxis, space.yaxis, space.zaxis):
        axis.set_pane_color((1, 1, 1, 0))
        axis.set_major_locator(_ticks())
        axis.labelpad = -6
    space.tick_params(pad=-2, labelsize=6)


def _ticks():
    from matplotlib.ticker import MultipleLocator

    return MultipleLocator(2)


EXPERIMENT = Experiment(
    id="geometry/fig2",
    title="Three weights, one sample: four paths to the zero-loss plane and straight along it to (1, 1, 1)",
    claim="From every start: first to the plane, then straight to its point of least norm.",
    source="Section 3.2, Figure 2",
    seconds=6,
    settings={
        "model": "w1 x1 + w2 x2 + w3 x3",
        "sample": "(1, 1, 1) -> 3",
        "initial weights": STARTS,
        "weight decay λ": DECAY,
        "learning rate": LEARNING_RATE,
        "steps": STEPS,
    },
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=(SCALE_NOTE, FREE_NOTE),
)
