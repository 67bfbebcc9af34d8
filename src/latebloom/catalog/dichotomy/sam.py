"""1-SAM on a diagonal network: reducing sharpness induces grokking (Appendix B.2)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings, Study
from latebloom.catalog.bounds import at_least, at_most, holds, within
from latebloom.catalog.controls import Altered, Set
from latebloom.catalog.measures import log_slope
from latebloom.core.fields import count, number, numbers
from latebloom.core.seeds import generator
from latebloom.figures import Axis, Figure, Line, Panel, panels

RADIUS, PLAIN = "ρ = {:g}", "ρ = 0"
PLATEAU = 0.1  # a slow time 8ηρ²t before the sharpness has fallen much


class SamSettings(Settings):
    """The diagonal network and the data of `dichotomy/label-noise`, by steps on one sample at a time."""

    dimension: int = count(default=40, note="d")
    samples: int = count(default=20, note="n")
    sparsity: int = count(default=2, note="entries of the truth that are not zero")
    init_scale: float = number(default=0.5, above=0, note="α, every entry of u and v at the start")
    learning_rate: float = number(default=5e-3, above=0, note="η")
    radii: tuple[float, ...] = numbers(default=(0.1, 0.07, 0.05), above=0, note="ρ, how far 1-SAM climbs")
    slow_time: float = number(default=8.0, above=5, note="8ηρ²t at the end: e-foldings of the equivalent weight decay")

    def problem(self):
        """The draw."""
        chosen = {"init_scale": self.init_scale, "seed": self.seed}
        return lb.problems.DiagonalRegression(self.dimension, self.samples, self.sparsity, **chosen)

    def steps(self, radius):
        """How many there are at a radius."""
        return round(self.slow_time / (8 * self.learning_rate * radius**2))


def without_sharpness(e):
    """The evidence with plain steps in the place of those of 1-SAM."""
    return replace(e, tables={**e.tables, **{RADIUS.format(radius): e.tables[PLAIN] for radius in e.settings.radii}})


def one_radius(e):
    """The evidence with the largest ρ at every ρ."""
    largest = e.tables[RADIUS.format(max(e.settings.radii))]
    return replace(e, tables={**e.tables, **{RADIUS.format(radius): largest for radius in e.settings.radii}})


def climbing(e):
    """The evidence with the largest ρ in the place of none."""
    return replace(e, tables={**e.tables, PLAIN: e.tables[RADIUS.format(max(e.settings.radii))]})


sam = Entry(
    "dichotomy/sam",
    "1-SAM on a diagonal network: zero loss early, generalisation when the sharpness has fallen",
    "Steps on one sample's loss at the worst point nearby fit at once, and generalise at a step that grows like ρ^-2.",
    source="Appendix B.2",
    seconds=8,
    settings=SamSettings(),
    controls=(Altered("ρ = 0 at every ρ", without_sharpness), Altered("the largest ρ at every ρ", one_radius)),
    notes=(
        "The paper names 1-SAM without an experiment; data, network and start are those of its Theorem B.1.",
        "A step is θ - η ∇ℓ_i(θ + ρ ∇ℓ_i/|∇ℓ_i|) with one sample i. At zero loss that adds ρ²|∇f_i|² to the loss, in "
        "the mean weight decay 8ρ² m_j on u_j and v_j, m_j the mean of x_j².",
    ),
)


def descend(problem, radius, *, learning_rate, steps, seed):
    """Steps, and training and population loss over those of the zero function, at a hundred records."""
    samples = len(problem.design)
    data, truth = np.asarray(problem.design) * np.sqrt(samples / 2), np.asarray(problem.truth)
    labels, (u, v) = data @ truth, np.asarray(problem.init())
    chosen = generator(seed, "order").integers(samples, size=steps)
    records = np.unique(np.round(np.geomspace(1, steps, 100)).astype(int))
    rows = []
    for first, last in zip([0, *records[:-1]], records, strict=True):
        for sample in chosen[first:last]:
            x, y = data[sample], labels[sample]
            up, down = 2 * u * x, -2 * v * x  # ∇f; that of the loss has the sign of the residual
            reach = radius * np.sign(x @ (u * u - v * v) - y) / np.sqrt(up @ up + down @ down)
            high, low = u + reach * up, v + reach * down
            pull = 4 * learning_rate * (x @ (high * high - low * low) - y)
            u, v = u - pull * high * x, v + pull * low * x
        gap = u * u - v * v - truth
        rows.append([np.sum((data @ gap) ** 2) / np.sum(labels**2), gap @ gap / (truth @ truth)])
    train, test = np.array(rows).T
    return {"step": records.astype(float), "train_loss": train, "test_loss": test}


@sam.studies
def sam_studies(s):
    problem, smallest = s.problem(), min(s.radii)

    def study(name, radius, steps):
        chosen = {"learning_rate": s.learning_rate, "steps": steps, "seed": s.seed}
        identity = {"problem": problem.text, "radius": radius, "version": 1, **chosen}
        return Study(name, identity, partial(descend, problem, radius, **chosen))

    found = [study(RADIUS.format(radius), radius, s.steps(radius)) for radius in s.radii]
    return [*found, study(PLAIN, 0.0, s.steps(smallest))]


def smallest(e):
    """The smallest radius, and its curves."""
    radius = min(e.settings.radii)
    return radius, e.tables[RADIUS.format(radius)]


def slow(e, radius):
    """8ηρ²t at the records of a radius."""
    return 8 * e.settings.learning_rate * radius**2 * e.tables[RADIUS.format(radius)]["step"]


def half_step(e, radius):
    """The step at which half of the population loss of plain steps is left; NaN if that is not reached."""
    table, level = e.tables[RADIUS.format(radius)], 0.5 * e.tables[PLAIN]["test_loss"][-1]
    above = np.flatnonzero(table["test_loss"] > level)
    last = int(above[-1]) if len(above) else 0
    return float(table["step"][last + 1]) if last + 1 < len(table["step"]) else np.nan


def fitted_step(table):
    """The first step from which the training loss stays below a tenth of the zero function's."""
    above = np.flatnonzero(table["train_loss"] > 0.1)
    return float(table["step"][min(above[-1] + 1, len(table["step"]) - 1)]) if len(above) else 1.0


@sam.claim(
    holds(
        f"at the smallest ρ, at 8ηρ²t = {PLATEAU:g}, training loss at most {{fits:g}} and population loss at least "
        "{far:g} of the zero function's",
        fits=0.05,
        far=0.2,
    ),
    rate=0.9,
)
def first_phase_overfits(e, fits, far):
    """In the first phase the algorithm minimises the training loss and finds a minimiser with poor generalisation."""
    radius, table = smallest(e)
    train, test = (
        float(np.interp(np.log(PLATEAU), np.log(slow(e, radius)), table[f"{name}_loss"])) for name in ("train", "test")
    )
    return {"training loss": train, "population loss": test}, train <= fits and test >= far


@sam.claim(at_most(0.01), "population loss at the end over the zero function's, at the smallest ρ,", rate=0.9)
def second_phase_generalises(e):
    """In the second phase it implicitly minimises the sharpness, and generalises: 1-SAM, too, triggers grokking."""
    return float(smallest(e)[1]["test_loss"][-1])


@sam.claim(
    at_least(10.0),
    "step of half the population loss of plain steps over that of a tenth of the training loss, at the smallest ρ,",
    rate=0.8,
    control=Set(radii=(0.3, 0.25)),
)
def second_phase_is_longer(e):
    """The second phase is typically longer than the first by magnitude."""
    radius, table = smallest(e)
    return half_step(e, radius) / fitted_step(table)


@sam.claim(
    within(-2.3, -1.7),
    "exponent in ρ of the step at which half of the population loss of plain steps is left",
    source="ours: the sharpness of 1-SAM is ρ² tr ∇²L / 2 per step of η",
    kind="ours",
    rate=0.9,
)
def slow_like_the_square(e):
    """The second phase takes of order 1/(ηρ²) steps."""
    return log_slope(e.settings.radii, [half_step(e, radius) for radius in e.settings.radii])


@sam.claim(
    at_least(0.2),
    "population loss at the end over the zero function's",
    source="ours",
    kind="ours",
    rate=0.9,
    control=Altered("the largest ρ in the place of none", climbing),
)
def plain_steps_do_not(e):
    """Without climbing (ρ = 0) the same steps stay at the minimiser that they find first."""
    return float(e.tables[PLAIN]["test_loss"][-1])


@sam.figure
def sam_figure(e):
    curves, collapse = [], []
    for place, radius in enumerate(e.settings.radii):
        table, shade = e.tables[RADIUS.format(radius)], panels.shade_of(place, len(e.settings.radii))
        curves.append(Line(table["step"], table["test_loss"], rf"$\rho$ = {radius:g}", shade=shade))
        curves.append(
            Line(table["step"], table["train_loss"], name=f"rho = {radius:g}, train", marks="behind", shade=shade)
        )
        collapse.append(Line(slow(e, radius), table["test_loss"], name=f"rho = {radius:g}", shade=shade))
    plain = e.tables[PLAIN]
    curves.append(Line(plain["step"], plain["test_loss"], r"$\rho$ = 0", "grey", "beside"))
    y = Axis("loss (thin: train)", "log", 1e-3, 4)
    left = Panel(curves, Axis("step $t$", "log", low=1), y, legend="lower left")
    right = Panel(
        collapse, Axis(r"slow time $8\eta\rho^2 t$", "log", low=1e-3), Axis("population loss", "log", 1e-3, 4)
    )
    return Figure([[left, right]])
