"""A student under plain (sub)gradient descent: t2 is proportional to 1/(αβ), and why it is not under Adam."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings
from latebloom.catalog.beyond_l2.networks import L1, L2, SYMBOLS, later, memorise_first, penalty_of
from latebloom.catalog.bounds import at_least, at_most, each, holds, within
from latebloom.catalog.controls import Altered
from latebloom.core.fields import count, number, numbers
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

DESCENT, ADAM, DECOUPLED, UNDIVIDED = "descent", "Adam", "Adam, decay apart", "Adam, no division"
NAME = "{method}, {penalty}, α={learning_rate:g}, β={strength:g}"
WITHOUT = "descent, no penalty"
PLAIN = ((DESCENT, L2), (DESCENT, L1))
GROUPS = (*PLAIN, (ADAM, L2), (ADAM, L1), (DECOUPLED, L2), (UNDIVIDED, L2))
LABELS = {group: f"{group[0]}, {SYMBOLS[group[1]]}" for group in GROUPS}


class PlainSettings(Settings):
    """A student B max(A x, 0) of a teacher of the same form, fitted on all samples by one method after the other."""

    dimension: int = count(default=10, note="d, entries of an input")
    width: int = count(default=50, note="r, hidden units of teacher and student")
    outputs: int = count(default=2, note="c, entries of an output")
    samples: int = count(default=20, least=2, note="N")
    learning_rates: tuple[float, ...] = numbers(default=(0.02, 0.06), above=0, note="α of descent")
    strengths: tuple[float, ...] = numbers(default=(1e-3, 3e-3), above=0, note="β, of |W|² and of l1")
    adam_rates: tuple[float, ...] = numbers(default=(3e-3, 1e-2), above=0, note="α of Adam")
    decays: tuple[float, ...] = numbers(default=(1e-2, 3e-2), above=0, note="β of |W|² where it stands beside Adam")
    floor: float = number(default=1.0, above=0, note="ε of Adam that divides by nothing but itself")
    steps: int = count(default=60_000, note="at most")
    memorised_at: float = number(default=0.05, above=0, note="share of the variance left of the samples at t1")
    generalised_at: float = number(default=1.0, above=0, note="the same of the test set at t2: 1 is the best constant")

    def axes(self, method):
        """The learning rates and strengths of a method."""
        if method in (DESCENT, UNDIVIDED):
            return self.learning_rates, self.strengths
        return self.adam_rates, self.decays if method == DECOUPLED else self.strengths

    def job(self, method, penalty, learning_rate, strength, **options):
        problem = lb.problems.TeacherStudent(
            self.dimension, self.width, output_dimension=self.outputs, samples=self.samples, seed=self.seed
        )
        steps = {
            DESCENT: lambda: lb.GradientDescent(learning_rate),
            ADAM: lambda: lb.Optax("adam", learning_rate=learning_rate),
            DECOUPLED: lambda: lb.Optax("adamw", learning_rate=learning_rate, weight_decay=2 * strength),
            UNDIVIDED: lambda: lb.Optax("adam", learning_rate=learning_rate, eps=self.floor),
        }[method]()
        marks = {"memorised_at": self.memorised_at, "generalised_at": self.generalised_at}
        inside = None if method == DECOUPLED or not strength else penalty_of(penalty, strength)
        chosen = {"steps": self.steps, "stop_at": "generalised"} | options
        return lb.TrainJob(problem, steps, inside, probes=[lb.probes.WeightNorm("l2")], **marks, **chosen)


def cells(s, method, penalty):
    """Names, learning rates and strengths of a group of runs."""
    rates, strengths = s.axes(method)
    known = {"method": method, "penalty": penalty}
    return {NAME.format(**known, learning_rate=a, strength=b): (a, b) for a in rates for b in strengths}


def exchanged(method, other, penalty):
    """One method's runs in the place of another's, in the order of their cells."""

    def change(e):
        names = zip(cells(e.settings, method, penalty), cells(e.settings, other, penalty), strict=True)
        return replace(e, runs={**e.runs, **{name: e[taken] for name, taken in names}})

    return Altered(f"{other}'s runs in the place of {method}'s", change)


plain_descent = Entry(
    "beyond-l2/plain-descent",
    "A student under plain descent, and under Adam with and without its division",
    "Under (sub)gradient descent t2 is proportional to 1/(αβ); Adam divides the penalty's push by its size.",
    source="Section 2.2, Theorem 2.1, for the networks of Section 4",
    seconds=25,
    settings=PlainSettings(),
    notes=(
        "(d, r, c, N) = (10, 50, 2, 20): the teacher and student of Section 4, small. The paper ran its networks with "
        "Adam only, and refers to Figure 2 for a law that it derives for descent.",
        "Decay apart is AdamW: W shrinks by 2αβ W beside Adam's step on the loss. No division is Adam with ε = 1, far "
        "above the root of its second moment: what is left is descent with momentum.",
        "Runs stop at t2; times are compared as exponents, and as αβ t2.",
    ),
)


@plain_descent.runs
def plain_runs(s):
    jobs = {
        name: s.job(method, penalty, *cell)
        for method, penalty in GROUPS
        for name, cell in cells(s, method, penalty).items()
    }
    slowest = min(a * b for a in s.learning_rates for b in s.strengths)
    rate = max(s.learning_rates)
    steps = min(s.steps, round(1 / (slowest * rate / min(s.learning_rates))))
    return {**jobs, WITHOUT: s.job(DESCENT, L2, rate, 0.0, steps=steps)}


def runs_of(e, method, penalty):
    return [e[name] for name in cells(e.settings, method, penalty)]


def exponents(e, method, penalty):
    """The exponents of t2 - t1 in α and in β, by least squares over the runs that have both."""
    rows = [
        (*cell, e[name].milestones.delay)
        for name, cell in cells(e.settings, method, penalty).items()
        if e[name].milestones.delay
    ]
    if len(rows) < 3:
        return None
    logs = np.log(np.array(rows, dtype=float))
    powers = np.linalg.lstsq(np.column_stack([logs[:, :2], np.ones(len(rows))]), logs[:, 2])[0]
    return [float(power) for power in powers[:2]]


def paces(e, method, penalty):
    """αβ t2, run by run: infinite where there is no t2."""
    return [a * b * later(e[name]) for name, (a, b) in cells(e.settings, method, penalty).items()]


@plain_descent.claim(holds("t1 under {most:g} steps and before t2 in every run", most=200), source="Section 2.2")
def memorises_first(e, most):
    """The training loss is minimised first, whatever the method, the penalty and its strength."""
    return memorise_first([run for group in GROUPS for run in runs_of(e, *group)], most)


PROPORTIONAL, EXPONENTS = each(within(-1.1, -0.9)), "exponents of t2 - t1 in α and in β"


@plain_descent.claim(
    PROPORTIONAL, f"{EXPONENTS}, l2,", id="proportional-l2", source="Section 2.2", control=exchanged(DESCENT, ADAM, L2)
)
def proportional(e):
    """Under gradient descent with a penalty on the squares the grokking time is proportional to 1/(αβ)."""
    return exponents(e, DESCENT, L2)


@plain_descent.claim(
    PROPORTIONAL, f"{EXPONENTS}, l1,", id="proportional-l1", source="Section 2.2", control=exchanged(DESCENT, ADAM, L1)
)
def proportional_l1(e):
    """Under subgradient descent with l1 the grokking time is proportional to 1/(αβ)."""
    return exponents(e, DESCENT, L1)


@plain_descent.claim(
    each(at_most(1.25)),
    "largest over smallest αβ t2, by penalty,",
    source="The constant of Section 2.2, measured",
    kind="ours",
    control=exchanged(DESCENT, ADAM, L2),
)
def one_constant(e):
    """Under descent one number, αβ t2, is the same for every α and β."""
    return {penalty: max(found) / min(found) for _, penalty in PLAIN if (found := paces(e, DESCENT, penalty))}


@plain_descent.claim(
    at_least(5),
    "test error in variances at the end, with no penalty, after the longest t2 at this α,",
    source="Section 1, contribution (ii)",
)
def nothing_without(e):
    """Without regularisation the student stays where it memorised: nothing falls late under descent."""
    run = e[WITHOUT]
    return run.final["test_error"] if run.t1 is not None else None


SLOWER = each(within(-0.9, -0.3))


@plain_descent.claim(SLOWER, f"{EXPONENTS}, l2,", source="Adam's steps, measured", kind="ours", rate=0.8)
def slower_under_adam(e):
    """Under Adam the same student's delay grows as a smaller power of 1/α and of 1/β."""
    return exponents(e, ADAM, L2)


@plain_descent.claim(
    at_most(0.1),
    "largest αβ t2 under Adam over the smallest under descent, l2 and l1,",
    source="Adam divides a gradient by the root of its second moment",
    kind="ours",
    control=exchanged(ADAM, UNDIVIDED, L2),
)
def adam_enlarges_the_push(e):
    """After memorisation gradients are small, and Adam, which divides by their size, follows the penalty faster."""
    return max(max(paces(e, ADAM, kind)) / min(paces(e, DESCENT, kind)) for kind in (L2, L1))


@plain_descent.claim(PROPORTIONAL, EXPONENTS, source="AdamW: decay beside Adam's step, measured", kind="ours")
def decay_apart_is_proportional(e):
    """A decay that Adam does not divide brings the law back, with Adam's steps on the loss as they are."""
    return exponents(e, DECOUPLED, L2)


@plain_descent.claim(
    within(0.7, 1.3),
    "mean αβ t2 of Adam with its decay apart over that of descent",
    source="AdamW: decay beside Adam's step, measured",
    kind="ours",
    rate=0.8,
)
def decay_apart_has_the_constant(e):
    """And with nearly the constant of descent: on the clock αβ t it is the decay that generalises."""
    return float(np.mean(paces(e, DECOUPLED, L2)) / np.mean(paces(e, DESCENT, L2)))


@plain_descent.claim(PROPORTIONAL, EXPONENTS, source="Adam with a large ε, measured", kind="ours")
def no_division_is_proportional(e):
    """Adam that divides by a constant keeps its momentum, and has the law of descent: the division breaks it."""
    return exponents(e, UNDIVIDED, L2)


@plain_descent.figure
def plain_figure(e):
    """Test errors on the clock αβ t; below, αβ t2 of every method, and the norms."""

    def clock(method, penalty, column, across, legend=None):
        rows = cells(e.settings, method, penalty).items()
        traces = [
            Line(a * b * e[name]["step"], e[name][column], f"{a:g}, {b:g}", shade=panels.shade_of(place, len(rows)))
            for place, (name, (a, b)) in enumerate(rows)
        ]
        level = [Rule(1.0, across="y", width=0.7)] if column == "test_error" else []
        axes = Axis(r"$\alpha\beta t$", "log", low=1e-4), across
        title = LABELS[method, penalty]
        return Panel([*traces, *level], *axes, title=title, legend=legend, legend_title=r"$\alpha$, $\beta$")

    error, norm = Axis("share of variance left", "log"), Axis("norm of the weights")
    marks = []
    for place, group in enumerate(GROUPS):
        products = [a * b for a, b in cells(e.settings, *group).values()]
        marks.append(Line(products, paces(e, *group), LABELS[group], f"cycle {place}", "points", size=4))
    axes = Axis(r"$\alpha\beta$", "log"), Axis(r"$\alpha\beta\, t_2$", "log")
    laws = Panel(marks, *axes, title="one number, or not", legend="lower right")
    return Figure(
        [
            [clock(*PLAIN[0], "test_error", error, "upper right"), clock(*PLAIN[1], "test_error", error)],
            [clock(ADAM, L2, "test_error", error), clock(DECOUPLED, L2, "test_error", error)],
            [laws, clock(*PLAIN[1], "l2_norm_of_weights", norm)],
        ]
    )
