"""The landscape of matrix completion (Appendix F), perturbed starts (Remark 3.13), the iteration against the flow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings, Study
from latebloom.catalog.bounds import at_most, each, holds
from latebloom.catalog.controls import Altered, Instead, OtherBound
from latebloom.core.fields import count, number, numbers
from latebloom.figures import Axis, Figure, Line, Panel

NOISE, FLOW, ITERATION = "σ = {:g}", "flow", "iteration"
SADDLES = ("zero", "V alone", "U of rank one")


class LandscapeSettings(Settings):
    """A symmetric matrix of rank two, partly observed, for the landscape; the multiplication table for the runs."""

    size: int = count(default=6, least=3, note="d of the landscape")
    fraction: float = number(default=0.7, above=0, most=1, note="share of its ordered pairs that are observed")
    strength: float = number(default=1e-2, above=0, note="λ of the landscape")
    starts: int = count(default=12, note="random starts of descent")
    table_size: int = count(default=24, least=2, note="d of the table")
    table_fraction: float = number(default=0.4, above=0, most=1, note="share of the table that is observed")
    init_scale: float = number(default=10.0, above=1, note="α of the perturbed starts")
    noises: tuple[float, ...] = numbers(default=(0.0, 1e-4, 1e-3, 1e-2, 1.0), least=0, note="σ, of their entries")
    weight_decay: float = number(default=3e-3, above=0, note="λ of the runs")
    learning_rate: float = number(default=0.1, above=0, note="η of the iteration")
    slow_time: float = number(default=12.0, above=0, note="λt of iteration and flow, from α = 3")

    def table(self, **changes):
        return lb.problems.MultiplicationTable(self.table_size, self.table_fraction, seed=self.seed, **changes)


app_f = Entry(
    "dichotomy/app-f",
    "Appendix F: every minimum is global, every saddle strict; perturbed starts; the iteration against the flow",
    "Descent from every start ends at the convex problem's value, saddles have negative curvature, a small "
    "perturbation of the identity leaves the kernel regime as it is, and steps of 0.1 follow the flow.",
    source="Appendix F, Theorem F.3; Remark 3.13; Section 3.3.3",
    seconds=15,
    settings=LandscapeSettings(),
    notes=("Saddles are found by descent in subspaces that the gradient does not leave, and checked to be critical.",),
)


@app_f.runs
def landscape_runs(s):
    decay = lb.L2(s.weight_decay)
    end = 0.5 * float(np.log(s.init_scale)) / s.weight_decay  # T_c^- with c = 1/2

    def perturbed(noise):
        problem = s.table(init_scale=s.init_scale, init_noise=noise)
        options = {"solver": "rkc", "rtol": 1e-3, "atol": 1e-9, "probes": (lb.probes.FillIn(),)}
        return lb.FlowJob(problem, decay, time=end, **options)

    problem, time = s.table(init_scale=3.0), s.slow_time / s.weight_decay
    steps = round(time / s.learning_rate)
    both = {
        FLOW: lb.FlowJob(problem, decay, time=time, solver="rkc", rtol=1e-3, atol=1e-9, learning_rate=s.learning_rate),
        ITERATION: lb.TrainJob(problem, lb.GradientDescent(s.learning_rate), decay, steps=steps),
    }
    return {NOISE.format(noise): perturbed(noise) for noise in sorted(s.noises)} | both


class Landscape:
    """`(1/n) Σ (⟨P_i, U Uᵀ - V Vᵀ⟩ - y_i)² + (λ/2) (|U|² + |V|²)` of a random matrix of rank two."""

    def __init__(self, s):
        random = np.random.default_rng([s.seed, 5])
        factor = random.normal(size=(s.size, 2))
        self.size, self.strength, self.random = s.size, s.strength, random
        self.truth = factor @ np.diag([1.0, -0.5]) @ factor.T
        self.mask = random.random((s.size, s.size)) < s.fraction

    def split(self, theta):
        return np.asarray(theta).reshape(2, self.size, self.size)

    def rest(self, theta):
        """`∇` of the mean of squares in W, not made symmetric."""
        u, v = self.split(theta)
        return 2 / self.mask.sum() * self.mask * (u @ u.T - v @ v.T - self.truth)

    def loss(self, theta):
        u, v = self.split(theta)
        gap = (u @ u.T - v @ v.T - self.truth)[self.mask]
        return float(np.mean(gap**2) + self.strength / 2 * np.sum(np.square(theta)))

    def gradient(self, theta):
        u, v = self.split(theta)
        both = self.rest(theta) + self.rest(theta).T
        return (np.stack([both @ u, -both @ v]) + self.strength * self.split(theta)).ravel()

    def printed_gradient(self, theta):
        """Eqs. 45 and 46: twice the gradient in W in the place of its symmetric part."""
        u, v = self.split(theta)
        once = 2 * self.rest(theta)
        return (np.stack([once @ u, -once @ v]) + self.strength * self.split(theta)).ravel()

    def differences(self, theta, step=1e-6):
        """The gradient by central differences."""
        units = step * np.eye(len(theta))
        return np.array([(self.loss(theta + unit) - self.loss(theta - unit)) / (2 * step) for unit in units])

    def least_curvature(self, theta, step=1e-5):
        """The smallest eigenvalue of the Hessian, by differences of the gradient."""
        units = step * np.eye(len(theta))
        rows = [(self.gradient(theta + unit) - self.gradient(theta - unit)) / (2 * step) for unit in units]
        return float(np.linalg.eigvalsh((np.array(rows) + np.array(rows).T) / 2)[0])

    def descend(self, theta, free=None):
        """Descent to a critical point, of the entries that are free."""
        from scipy.optimize import minimize

        free = np.ones(len(theta), bool) if free is None else free

        def pair(x):
            at = np.where(free, 0, theta)
            at[free] = x
            return self.loss(at), self.gradient(at)[free]

        found = minimize(
            pair, theta[free], jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-10, "maxiter": 20000}
        )
        end = np.where(free, 0, theta).astype(float)
        end[free] = found.x
        return end

    def saddles(self):
        """Critical points that are no minima: zero, the best V without U, the best U of rank one without V."""
        start = self.random.normal(size=(2, self.size, self.size))
        v_alone, one = np.zeros_like(start, bool), np.zeros_like(start, bool)
        v_alone[1], one[0, :, 0] = True, True
        return [np.zeros(start.size)] + [
            self.descend(np.where(free, start, 0).ravel(), free.ravel()) for free in (v_alone, one)
        ]

    def violation(self, theta):
        """How far W is from a minimiser of the mean of squares plus (λ/2) |W|_*: relative violation of (43)."""
        u, v = self.split(theta)
        matrix, both = u @ u.T - v @ v.T, (self.rest(theta) + self.rest(theta).T) / self.strength
        nuclear = np.linalg.svd(matrix, compute_uv=False).sum()
        along = abs(1 + np.sum(both * matrix) / nuclear) if nuclear > 0 else 0.0
        return float(max(np.linalg.norm(both, 2) - 1, along))


def minima(s):
    """Where descent ends, from random starts: loss, violation of the convex problem's conditions, least curvature."""
    here = Landscape(s)
    ends = [here.descend(here.random.normal(size=2 * s.size**2)) for _ in range(s.starts)]
    measures = {"loss": here.loss, "violation": here.violation, "curvature": here.least_curvature}
    return {name: np.array([measure(end) for end in ends]) for name, measure in measures.items()}


def saddles(s):
    """Loss, length of the gradient and least curvature at the saddles."""
    here = Landscape(s)
    points = here.saddles()
    return {
        "loss": np.array([here.loss(point) for point in points]),
        "violation": np.array([here.violation(point) for point in points]),
        "slope": np.array([np.linalg.norm(here.gradient(point)) for point in points]),
        "curvature": np.array([here.least_curvature(point) for point in points]),
    }


def gradients(s):
    """The gradient at a random point: by differences, as corrected, as printed."""
    here = Landscape(s)
    point = here.random.normal(size=2 * s.size**2)
    return {"gradient": np.stack([here.differences(point), here.gradient(point), here.printed_gradient(point)])}


@app_f.studies
def landscape_studies(s):
    told = {"seed": s.seed, "size": s.size, "fraction": s.fraction, "strength": s.strength, "starts": s.starts}
    computed = {"minima": minima, "saddles": saddles, "gradients": gradients}
    return [
        Study(name, {"experiment": app_f.id, "version": 2, **told}, lambda made=made: made(s))
        for name, made in computed.items()
    ]


def instead(table, other, column):
    """A control's change: a column of one study has numbers of another's."""

    def change(e):
        here = e.tables[table]
        swapped = {**here, column: np.resize(e.tables[other][column], len(here[column]))}
        return replace(e, tables={**e.tables, table: swapped})

    return change


@app_f.claim(
    at_most(1e-6),
    "spread of the loss over all random starts, relative,",
    source="Property F.1, Theorem F.3",
    control=Altered("some descents end at saddles", instead("minima", "saddles", "loss")),
)
def minima_are_global(e):
    """All local minima of the regularised loss are global: descent from every start ends at one value."""
    found = e.tables["minima"]["loss"]
    return float((found.max() - found.min()) / found.min())


@app_f.claim(
    at_most(1e-4),
    "largest relative violation of the conditions (43), over all ends,",
    source="Theorem F.3, Eqs. 42 to 44",
    control=Altered("some descents end at saddles", instead("minima", "saddles", "violation")),
)
def minima_are_those_of_the_convex_problem(e):
    """That value is the minimum of the convex problem in W, the mean of squares plus (λ/2) |W|_*."""
    return float(e.tables["minima"]["violation"].max())


@app_f.claim(
    holds(
        "at every saddle |∇𝓛| at most {slope:g} and the smallest eigenvalue of the Hessian at most -{share:g} λ",
        slope=1e-6,
        share=0.1,
    ),
    source="Property F.2, Theorem F.3",
    control=Altered("minima stand for the saddles", instead("saddles", "minima", "curvature")),
)
def saddles_are_strict(e, slope, share):
    """At every saddle point there is a direction of negative curvature."""
    table = e.tables["saddles"]
    curvature = table["curvature"] / e.settings.strength
    strict = bool(np.all(table["slope"] <= slope) and np.all(curvature <= -share))
    return dict(zip(SADDLES, np.round(curvature, 3).tolist(), strict=True)), strict


def as_printed(e):
    """The evidence with the printed gradient for the right one."""
    rows = e.tables["gradients"]["gradient"]
    return replace(e, tables={**e.tables, "gradients": {"gradient": rows[[0, 2, 2]]}})


def gradient_gap(e, row):
    """The distance of a written gradient from differences of the loss, relative."""
    table = e.tables["gradients"]["gradient"]
    return float(np.linalg.norm(table[row] - table[0]) / np.linalg.norm(table[0]))


@app_f.claim(
    at_most(1e-6),
    "relative distance from differences of the loss",
    source="Appendix F, Eqs. 45 and 46",
    fails="P_i = e_i e_jᵀ is not symmetric: its symmetric part is missing",
    control=OtherBound(at_most(1)),
)
def gradient_as_printed(e):
    """The gradient in U is ((4/n) Σ s_i P_i + λ) U."""
    return gradient_gap(e, 2)


@app_f.claim(
    at_most(1e-6),
    "relative distance from differences of the loss",
    source="Appendix F, Eqs. 45 and 46 corrected",
    kind="corrected",
    control=Altered("as printed", as_printed),
)
def gradient(e):
    """The gradient in U is ((2/n) Σ s_i (P_i + P_iᵀ) + λ) U."""
    return gradient_gap(e, 1)


def half_steps(e):
    """The evidence in which a step is taken for half of the time that it is."""
    return replace(e, settings=e.settings.but(learning_rate=e.settings.learning_rate / 2))


SMALL_NOISE, LARGE_NOISE = NOISE.format(1e-3), NOISE.format(1.0)


@app_f.claim(
    each(at_most(2e-2)),
    "largest unobserved entry over the largest observed one at log(α)/2λ, for σ up to 1e-3,",
    source="Remark 3.13",
    control=Instead({SMALL_NOISE: LARGE_NOISE}),
)
def small_perturbation_changes_nothing(e):
    """Corollary 3.11 still holds if σ is sufficiently small: unobserved entries are filled with zero."""
    noises = [noise for noise in sorted(e.settings.noises) if noise <= 1e-3]
    return {f"σ={noise:g}": float(e[NOISE.format(noise)].final["fill_in"]) for noise in noises}


@app_f.claim(
    at_most(0.02),
    "largest difference of the recovery errors along the way",
    source="Section 3.1 and Figure 3",
    control=Altered("the steps are half as long as said", half_steps),
)
def iteration_follows_the_flow(e):
    """Gradient flow is the continuous counterpart of gradient descent: with η = 0.1 the table is completed alike."""
    flow, iteration = e[FLOW], e[ITERATION]
    times = iteration["step"] * e.settings.learning_rate
    return float(np.max(np.abs(np.interp(times, flow["time"], flow["test_error"]) - iteration["test_error"])))


@app_f.figure
def landscape_figure(e):
    s, flow, iteration = e.settings, e[FLOW], e[ITERATION]
    errors = [
        Line(flow["time"][1:], flow["test_error"][1:], "flow", "test"),
        Line(iteration["step"][1:] * s.learning_rate, iteration["test_error"][1:], "iteration", "norm", "beside"),
    ]
    shown = [noise for noise in sorted(s.noises) if noise > 0]
    fills = [Line(shown, [float(e[NOISE.format(noise)].final["fill_in"]) for noise in shown], "", "train", "linked")]
    points = [
        Line(e.tables[name]["loss"], e.tables[name]["curvature"] / s.strength, label, role, "points", symbol=symbol)
        for name, label, role, symbol in (
            ("minima", "ends of descent", "train", "o"),
            ("saddles", "saddles", "test", "s"),
        )
    ]
    return Figure(
        [
            [
                Panel(
                    points,
                    Axis("loss", "log"),
                    Axis(r"least eigenvalue of $\nabla^2 L$ over $\lambda$"),
                    legend="upper right",
                ),
                Panel(fills, Axis(r"perturbation $\sigma$", "log"), Axis("fill-in at $T_c^-$", "log"), legend=None),
                Panel(errors, Axis("time", "log"), Axis("recovery error", "log"), legend="lower left"),
            ]
        ],
    )
