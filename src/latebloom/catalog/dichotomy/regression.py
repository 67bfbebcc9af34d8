"""A diagonal network on sparse regression, from larger and larger starts: Theorems 3.9 (kernel) and 3.10 (rich)."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings
from latebloom.catalog.bounds import at_least, at_most, holds, within
from latebloom.catalog.controls import Set
from latebloom.core.fields import count, number, numbers
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

BEFORE, AFTER = 0.5, 2.0  # (1 - c) with c = 1/2, and (1 + c) with c = 1


class RegressionSettings(Settings):
    """`f(x) = ⟨u ⊙ u - v ⊙ v, x⟩`, started at α everywhere, on Gaussian samples of a sparse truth: mean of squares."""

    dimension: int = count(default=60, note="d; samples are N(0, I)")
    samples: int = count(default=30, note="n")
    sparsity: int = count(default=3, note="entries of the truth that are not zero: ±1")
    init_scales: tuple[float, ...] = numbers(default=(4, 8, 16, 32, 64), above=1, note="α")
    decay_factor: float = number(default=0.1, above=0, note="λα: weight decay is λ = Θ(α^-p) with p = 1")
    time_factor: float = number(default=2.0, above=0, note="time over log(α)/λ, as gradient flow")
    memorised_at: float = number(default=2e-2, above=0, note="relative error of t1")
    generalised_at: float = number(default=0.2, above=0, note="relative error of t2")

    def problem(self, **changes):
        return lb.problems.DiagonalRegression(self.dimension, self.samples, self.sparsity, seed=self.seed, **changes)

    @property
    def scales(self):
        """The initial scales, in order."""
        return np.sort(self.init_scales)


FULL = {"init_scales": (4, 8, 16, 32, 64, 128, 256)}
thm3_9 = Entry(
    "dichotomy/thm3.9",
    "Regression in the kernel regime: the predictor before (1-c)/λ · log α",
    "Up to half of log(α)/λ the network is the NTK's minimum-norm interpolator, to an error of order α^-2.",
    source="Theorem 3.9, Section 3.3.1",
    seconds=12,
    settings=RegressionSettings(),
    full=FULL,
    controls=(Set(samples=70),),  # more than there are dimensions
    notes=("The theorem gives a limit; the exponents are measured here and not in the paper.",),
)
thm3_10 = Entry(
    "dichotomy/thm3.10",
    "Regression in the rich regime: KKT residual, norm and predictor after (1+c)/λ · log α",
    "By twice log(α)/λ the norm is bounded and the KKT residual falls with α, slowly: α^-0.5 to α^-0.8.",
    source="Theorem 3.10, Section 3.3.2",
    seconds=12,
    settings=RegressionSettings(),
    full=FULL,
    notes=("On an interpolator θ of a 2-homogeneous model, θ = Jᵀν is what (R2) asks for besides f_i(θ) = y_i.",),
)


@thm3_9.runs
@thm3_10.runs
def regression_runs(s):
    first = s.problem()
    probes = (
        lb.probes.DistanceTo("kernel", lb.theory.kernel_regime(first).predict(first.end_to_end)),
        lb.probes.DistanceTo("basis_pursuit", lb.oracles.basis_pursuit(first).solution),
        lb.probes.KernelDrift(),
        lb.probes.KKTResidual(),
    )

    def job(scale):
        decay = s.decay_factor / scale
        return lb.FlowJob(
            s.problem(init_scale=scale),
            lb.L2(decay),
            time=s.time_factor * float(np.log(scale)) / decay,
            solver="rkc",
            probes=probes,
            memorised_at=s.memorised_at,
            generalised_at=s.generalised_at,
            rtol=1e-4,
            atol=1e-9,
        )

    return lb.Grid(job, {"scale": s.scales}, name="α = {scale:g}")


def clocks(e):
    """Every run with the clock of the theorems, `λt / log α`: the kernel regime is before 1, the rich one after."""
    pairs = zip(e.runs.values(), e.settings.scales, strict=True)
    return [(run, run["slow_time"] / np.log(scale)) for run, scale in pairs]


def at(e, column, when):
    """A column at `λt = when · log α`, for every α."""
    return np.array([np.interp(when, clock, run[column]) for run, clock in clocks(e)])


def slope(scale, value):
    """The exponent of a power law, by least squares in logarithms; NaN if a value is missing or not positive."""
    if len(value) < 2 or not (np.isfinite(value).all() and (value > 0).all()):
        return float("nan")
    return float(np.polyfit(np.log(scale), np.log(value), 1)[0])


def falls(values, most):
    """The values, and whether they fall from each α to the next, the last to `most` or below."""
    return values.tolist(), bool((np.diff(values) < 0).all() and values[-1] <= most)


def smallest_norm(e):
    """`|θ|` at the solution of (R2): `|u|² + |v|²` at its least is the l1 norm of `u ⊙ u - v ⊙ v`."""
    return float(np.sqrt(e.cached(lb.oracles.basis_pursuit, e.problem()).value))


@thm3_9.claim(
    holds("the rank of the kernel on the training set is the number of samples"),
    source="Assumption 3.8",
    kind="premise",
)
def features_are_independent(e):
    """The NTK features of the training samples are linearly independent."""
    regime = lb.theory.kernel_regime(e.problem())
    return regime.rank, regime.rank == regime.outputs


@thm3_9.claim(
    holds("relative distance at c = 1/2 falls with every α, to at most {most:g} at the largest", most=1e-4),
    source="Theorem 3.9",
)
def kernel_limit(e, most):
    """As α → ∞ the predictor at (1-c)/λ · log α tends to the minimum-norm interpolator on NTK features."""
    return falls(at(e, "distance_to_kernel", BEFORE), most)


@thm3_9.claim(
    within(-2.1, -1.9),
    "measured exponent in α at p = 1, c = 1/2",
    source="Theorem 3.9 with the rate kept, λ of order α^-p",
    kind="ours",
)
def kernel_limit_exponent(e):
    """The distance is that of ridge regression with the shrunken kernel: of order λ / (α e^{-λt})², or α^-(p+2c)."""
    return slope(e.settings.scales, at(e, "distance_to_kernel", BEFORE))


@thm3_9.claim(
    holds(
        "exponent in α of the change of the normalised kernel at c = 1/2 between {low:g} and {high:g}, and the change "
        "at most {most:g} at the largest α",
        low=-2.1,
        high=-1.9,
        most=2e-6,
    ),
    source="Section 3.2 and Appendix D.1",
)
def kernel_keeps_its_direction(e, low, high, most):
    """Before the transition the direction of the parameters stays near the initial one, and so does the kernel."""
    drift = at(e, "kernel_drift", BEFORE)
    found = slope(e.settings.scales, drift)
    return found, low <= found <= high and bool(drift[-1] <= most)


@thm3_9.claim(at_least(0.5), "smallest recovery error at c = 1/2", source="Section 3.3", kind="ours")
def kernel_does_not_generalise(e):
    """The kernel predictor, here the interpolator of minimum l2 norm, does not recover a sparse truth."""
    return float(at(e, "test_error", BEFORE).min())


@thm3_9.claim(at_most(2e-2), "largest training error at c = 1/2 over all α", source="Section 3.3.1")
def fits_in_the_kernel_regime(e):
    """The training data are fitted in the kernel regime."""
    return float(at(e, "train_error", BEFORE).max())


@thm3_10.claim(
    holds("norm at 2 log(α)/λ at most {most:g} times the least that interpolates, and smaller for larger α", most=3),
    source="Theorem 3.10",
)
def norms_are_bounded(e, most):
    """The norms |θ(t_k)| are uniformly bounded."""
    norms = at(e, "l2_norm", AFTER) / smallest_norm(e)
    return norms.tolist(), bool(norms.max() <= most and (np.diff(norms) < 0).all())


@thm3_10.claim(
    holds(
        "least min over ν of |θ - Jᵀν| / |θ| in [1, 2] · log(α)/λ falls with every α, to at most {most:g} at the "
        "largest",
        most=0.3,
    ),
    source="Theorem 3.10",
    rate=0.9,
)
def tends_to_a_kkt_point(e, most):
    """Every limit point of θ(t_k), α_k → ∞, is a KKT point of min |θ|² subject to f_i(θ) = y_i: stationarity."""
    return falls(np.array([run["kkt_residual"][clock >= 1].min() for run, clock in clocks(e)]), most)


@thm3_10.claim(
    holds(
        "training error at 2 log(α)/λ at most {most:g} at the largest α, and {share:g} of that at the smallest",
        most=5e-3,
        share=0.3,
    ),
    source="Theorem 3.10",
)
def becomes_feasible(e, most, share):
    """Every limit point is a KKT point: feasibility."""
    errors = at(e, "train_error", AFTER)
    return errors.tolist(), bool(errors[-1] <= most and errors[-1] <= share * errors[0])


@thm3_10.claim(
    within(-0.9, -0.3),
    "exponent of the KKT residual at 2 log(α)/λ in α (without the smallest)",
    source="Theorem 3.10 with the rate measured",
    kind="ours",
    rate=0.8,
)
def slow_in_alpha(e):
    """The approach is slow: the theorem has no rate, and coordinates whose dual is nearly active decay last."""
    return slope(e.settings.scales[1:], at(e, "kkt_residual", AFTER)[1:])


@thm3_10.claim(
    holds(
        "relative distance to the basis-pursuit solution at 2 log(α)/λ falls with every α, to at most {most:g} at the "
        "largest",
        most=0.15,
    ),
    source="Section 3.2.3 for the classification case",
    kind="ours",
    rate=0.8,
)
def rich_predictor(e, most):
    """For this network the solution of (R2) is the interpolator of minimum l1 norm."""
    return falls(at(e, "distance_to_basis_pursuit", AFTER), most)


@thm3_10.claim(at_least(0.99), "smallest KKT residual at log(α)/2λ over all α", source="Section 3.3")
def no_kkt_point_before(e):
    """There is a transition around log(α)/λ: before it the parameters are nowhere near a KKT point."""
    return float(at(e, "kkt_residual", 0.5).min())


@thm3_10.claim(
    at_most(0.15),
    "recovery error at 2 log(α)/λ at the largest α (depends on the draw)",
    source="Section 3.3",
    kind="ours",
    rate=0.7,
)
def generalises_after(e):
    """After the transition the network generalises, where minimum l1 norm does."""
    return float(at(e, "test_error", AFTER)[-1])


def curves(e, column, label, mark, *more, behind=None, low=None, high=None, **panel):
    """A column of all runs against `λt / log α`, a curve per α, with one time marked and another column behind."""
    traces = [*more, Rule(mark, "time of the theorem")]
    for place, (name, (run, clock)) in enumerate(zip(e.runs, clocks(e), strict=True)):
        shade = panels.shade_of(place, len(e.runs))
        traces.append(Line(clock, run[column], name.replace("α", r"$\alpha$"), shade=shade))
        if behind:
            traces.append(Line(clock, run[behind], name=f"{name}, train", marks="behind", shade=shade))
    axis = Axis(r"$\lambda t \,/\, \log\alpha$", low=0, high=e.settings.time_factor)
    return Panel(traces, axis, Axis(label, "log", low, high), **panel)


@thm3_9.figure
def thm3_9_figure(e):
    scales = e.settings.scales
    columns = {"predictor's distance": "distance_to_kernel", "kernel's change": "kernel_drift"}
    points = []
    for place, (label, column) in enumerate(columns.items()):
        values = at(e, column, BEFORE)
        points.append(Line(scales, values, label, f"cycle {place}", "points", symbol=panels.SYMBOLS[place]))
        law = values[0] * (scales / scales[0]) ** -2.0
        points.append(Line(scales, law, "slope $-2$", "theory", name=f"{label}, slope -2"))
    axis = Axis(r"initial scale $\alpha$", "log", ticks={float(scale): f"{scale:g}" for scale in scales})
    law = Panel(points, axis, Axis(r"at $\lambda t = \frac{1}{2}\log\alpha$", "log"), legend="upper right")
    gaps = curves(
        e, "distance_to_kernel", "distance to the NTK predictor", BEFORE, low=1e-7, high=2, legend="lower right"
    )
    errors = curves(
        e, "test_error", "recovery error (thin: train)", BEFORE, behind="train_error", low=1e-6, high=2, legend=None
    )
    return Figure([[gaps, law, errors]])


@thm3_10.figure
def thm3_10_figure(e):
    residual = r"KKT residual $\min_\nu |\theta - J^\top\nu| / |\theta|$"
    least = Rule(smallest_norm(e), "(R2)", name="minimum of (R2)", across="y", tag=True)
    norm = curves(e, "l2_norm", r"norm $|\theta|$, least of (R2) dotted", 1.0, least, legend=None)
    gap = curves(e, "distance_to_basis_pursuit", "distance to minimum $l_1$ norm", 1.0, legend=None)
    return Figure([[curves(e, "kkt_residual", residual, 1.0, legend="lower left"), norm, gap]])
