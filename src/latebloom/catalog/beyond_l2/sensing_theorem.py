"""Theorem 3.5 with its constants and with noise: where its hypothesis can be proved, and where it fails."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings, Study
from latebloom.catalog.bounds import above, at_least, at_most, below, holds, near
from latebloom.catalog.controls import Altered, Instead, Set, with_columns, with_settings
from latebloom.catalog.measures import ETAS, log_slope
from latebloom.core.fields import count, number, numbers
from latebloom.core.seeds import generator
from latebloom.figures import Axis, Figure, Line, Panel, panels

NAME, ENTRIES_ONLY, PROPERTY, PAIRS = "noise {noise:g}", "entries instead", "rank null space property", "pairs"
ANGLES = 20_000  # at which a kernel of two dimensions is looked at, its directions in between covered by continuity


class Theorem35Settings(Settings):
    """A planted matrix measured by all but two directions of a random orthonormal basis of matrices."""

    side: int = count(default=6, note="n1 = n2")
    rank: int = count(default=1, note="r")
    kernel: int = count(default=2, most=2, least=0, note="n1 n2 - N, dimension of the kernel")
    noises: tuple[float, ...] = numbers(default=(0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1), least=0, note="|ξ|")
    learning_rate: float = number(default=0.5, above=0, note="α")
    strength: float = number(default=1e-4, above=0, note="β, of the nuclear norm")
    steps: int = count(default=30_000)
    init_scale: float = number(default=1e-6, least=0, note="ζ, size of the start")

    @property
    def measurements(self):
        return self.side**2 - self.kernel

    def truth(self):
        """A matrix of the random orthogonal model, of Frobenius norm 1."""
        random = generator(self.seed, "truth")
        u, v = (np.linalg.qr(random.normal(size=(self.side, self.rank)))[0] for _ in range(2))
        return u @ v.T / np.sqrt(self.rank)

    def design(self):
        """Orthonormal rows with a Gaussian kernel."""
        random = generator(self.seed, "measurements")
        return np.linalg.qr(random.normal(size=(self.side**2, self.side**2)))[0][:, : self.measurements].T

    def entries(self):
        """The design that observes entries, but none of the last ones."""
        return np.eye(self.side**2)[: self.measurements]

    def job(self, noise, design=None, truth=None):
        """A run on measurements with an error of this norm."""
        design, truth = self.design() if design is None else design, self.truth() if truth is None else truth
        error = generator(self.seed, "noise").normal(size=len(design))
        targets = design @ truth.ravel() + noise * error / np.linalg.norm(error)
        shape = (len(design), self.side, self.side)
        problem = lb.problems.MatrixRegression(
            design.reshape(shape), targets, truth=truth, init_scale=self.init_scale, seed=self.seed
        )
        return lb.TrainJob(
            problem,
            lb.GradientDescent(self.learning_rate),
            lb.NuclearNorm(self.strength),
            steps=self.steps,
            probes=(lb.probes.GradientRatio(), lb.probes.NuclearNormOfMatrix(), lb.probes.Components()),
        )


theorem35 = Entry(
    "beyond-l2/thm3.5",
    "Theorem 3.5: the distance to the truth with its constants, and with noise over six decades",
    "Where the robust rank null-space property can be proved, C1 η + C2 αβ + C3 |ξ| bounds the nuclear distance.",
    source="Theorems 3.5 and C.50",
    seconds=15,
    settings=Theorem35Settings(),
    notes=(
        "The constant ρ of the property is not computable in general. With a kernel of two dimensions it is a maximum "
        "over a circle, which is bounded by continuity between 20,000 directions.",
        "C is that of the noise, |Xᵀξ|²/(αβ). C' is what descent gives: the largest squared gradient after t1, over "
        "β². ρ₂ is that of the row space, with which C2 is finite.",
        "The measurements are orthonormal, so that all of X's singular values are 1 and the constants moderate.",
    ),
)


@theorem35.runs
def theorem35_runs(s):
    lost = np.zeros((s.side, s.side))
    lost[-1, -1] = 1.0  # a matrix of rank one, of which nothing is observed but zeros
    jobs = {NAME.format(noise=noise): s.job(noise) for noise in s.noises}
    return jobs | {ENTRIES_ONLY: s.job(0.0, s.entries(), lost)}


@theorem35.studies
def theorem35_studies(s):
    told = {"experiment": "beyond-l2/thm3.5", "seed": s.seed, "side": s.side, "rank": s.rank, "kernel": s.kernel}

    def compute():
        bounds = [null_space_bounds(design, (s.side, s.side), s.rank) for design in (s.design(), s.entries())]
        lower, upper = np.array(bounds).T
        return {"lower": lower, "upper": upper}

    return [Study(PROPERTY, told, compute), Study(PAIRS, told, lambda: measure_pairs(s))]


def measure_pairs(s, count=200):
    """|B - A|_* over the bound of Theorem C.49: of random pairs, of pairs of equal measurements, and of the worst.

    The worst pair splits the direction of the kernel that has the largest ratio: -A its first r singular parts, B the
    others. A has rank r and the measurements of B; at that ρ the bound is met exactly, and at any smaller it fails.
    """
    from scipy.linalg import null_space

    random, design, shape = generator(s.seed, "pairs"), s.design(), (s.side, s.side)
    lower, upper = null_space_bounds(design, shape, s.rank)
    tau, kernel = lb.theory.robust_constant(design, upper, shape=shape), null_space(design)
    shifts = [random.normal(size=s.side**2) * random.choice([1e-2, 1.0]) for _ in range(count)]
    shifts += [kernel @ random.normal(size=kernel.shape[1]) for _ in range(count if kernel.size else 0)]
    found = []
    for shift in shifts:
        planted = random.normal(size=(s.side, s.rank)) @ random.normal(size=(s.rank, s.side))
        blurred = planted + 0.1 * random.choice([0, 1]) * random.normal(size=shape)
        found.append(over_bound(blurred, shift.reshape(shape), s.rank, upper, tau, design))
    if kernel.shape[1] == 0:  # every ρ will do: there is no worst pair
        return {"random": np.array([max(found)]), "tight": np.array([np.nan]), "smaller": np.array([np.nan])}
    around = directions(kernel).reshape(-1, *shape)
    sigma = np.linalg.svd(around, compute_uv=False)
    u, values, vt = np.linalg.svd(around[np.argmax(sigma[:, : s.rank].sum(axis=1) / sigma[:, s.rank :].sum(axis=1))])
    head = (u[:, : s.rank] * values[: s.rank]) @ vt[: s.rank]
    worst = [over_bound(-head, u * values @ vt, s.rank, rho, tau, design) for rho in (lower, 0.9 * lower)]
    return {"random": np.array([max(found)]), "tight": np.array(worst[:1]), "smaller": np.array(worst[1:])}


def over_bound(first, shift, rank, rho, tau, design):
    """|B - A|_* over (1+ρ)/(1-ρ) (|B|_* - |A|_* + 2 Σ_{l>r} σ_l(A)) + 2τ/(1-ρ) |X vec(B - A)|, with B - A the shift."""
    of_first, of_second, of_shift = (np.linalg.svd(m, compute_uv=False) for m in (first, first + shift, shift))
    excess = of_second.sum() - of_first.sum() + 2 * of_first[rank:].sum()
    misfit = float(np.linalg.norm(design @ shift.ravel()))
    return float(of_shift.sum() / ((1 + rho) / (1 - rho) * excess + 2 * tau / (1 - rho) * misfit))


def null_space_bounds(design, shape, rank, angles=ANGLES):
    """Bounds on the rank null space constant of a design whose kernel has two dimensions at most.

    On the circle of the kernel the sum of the r largest singular values changes by at most √r a radian, and that of
    the others, the nuclear distance to rank r, by at most √min(n1, n2).
    """
    from scipy.linalg import null_space

    kernel = null_space(design)
    if kernel.shape[1] < 2:
        exact = lb.theory.rank_null_space_lower_bound(design, shape, rank).lower
        return exact, exact
    sigma = np.linalg.svd(directions(kernel, angles).reshape(angles, *shape), compute_uv=False)
    head, tail, half = sigma[:, :rank].sum(axis=1), sigma[:, rank:].sum(axis=1), np.pi / angles / 2
    room = np.maximum(tail - np.sqrt(min(shape)) * half, 0.0)
    with np.errstate(divide="ignore"):
        return float((head / tail).max()), float(((head + np.sqrt(rank) * half) / room).max())


def directions(kernel, angles=ANGLES):
    """The directions of a kernel of one or two dimensions, as rows: all of them, or so many around the circle."""
    if kernel.shape[1] == 1:
        return kernel.T
    turns = np.pi * np.arange(angles) / angles
    return np.stack([np.cos(turns), np.sin(turns)], axis=1) @ kernel.T


def rho_of(e):
    """The bound on the constant of the measurements."""
    return float(e.tables[PROPERTY]["upper"][0])


@theorem35.claim(below(1), "ρ, bounded from above,", source="Theorem 3.5, Definition C.48", kind="premise")
def null_space_property(e):
    """The measurements have the robust rank null-space property of order r, with a constant ρ below 1."""
    return rho_of(e)


@theorem35.claim(
    holds("both hold"),
    source="Theorem 3.5, the conditions of Theorem 3.4",
    kind="premise",
    control=Altered("a learning rate of 3", with_settings(learning_rate=3)),
)
def conditions(e):
    """0 < ασ_max < 2 and 0 < β√min(n1,n2) < σ_max."""
    told = lb.theory.conditions(e.problem(), e.settings.learning_rate, lb.NuclearNorm(e.settings.strength))
    decided = {c.name: bool(c.holds) for c in told if c.name in {"learning_rate", "strength"}}
    return decided, all(decided.values())


def smaller_rho(evidence):
    """The pairs judged by a ρ that the measurements do not have."""
    table = evidence.tables[PAIRS]
    changed = {"random": table["smaller"], "smaller": table["tight"]}
    return replace(evidence, tables={**evidence.tables, PAIRS: {**table, **changed}})


@theorem35.claim(
    at_most(1),
    "largest |B - A|_* over the bound, of 400 pairs,",
    source="Theorems C.47 and C.49",
    control=Altered("a ρ a tenth smaller than the measurements have", smaller_rho),
)
def bound_between_pairs(e):
    """With the property, |B - A|_* is bounded by the excess of nuclear norm and the misfit, for all A and B."""
    return float(e.tables[PAIRS]["random"][0])


@theorem35.claim(
    above(1),
    "|B - A|_* over the bound with a ρ a tenth smaller than the measurements have, of the worst pair,",
    source="Theorems C.47 and C.49 (only if)",
    control=Altered("the ρ that the measurements have", smaller_rho),
)
def only_with_the_property(e):
    """The bound holds for all pairs only with a constant that the measurements have."""
    return float(e.tables[PAIRS]["smaller"][0])


def constants_of(e, noise):
    """C1, C2 and C3 for a run: C from the noise, C' from the gradients after t1, ρ₂ of the row space."""
    s, name = e.settings, NAME.format(noise=noise)
    run, problem, pace = e[name], e.problem(name), e.settings.learning_rate * e.settings.strength
    design, rho = np.asarray(problem.design), rho_of(e)
    error = np.asarray(problem.targets) - design @ np.asarray(problem.truth).ravel()
    of_noise = float(np.sum((design.T @ error) ** 2)) / pace
    after = run["step"] >= run.t1
    of_descent = s.side * (1 + float(run["gradient_ratio"][after].max())) ** 2
    tau = lb.theory.robust_constant(design, rho, shape=problem.shape)
    return lb.theory.recovery_constants(
        problem,
        s.learning_rate,
        lb.NuclearNorm(s.strength),
        rho=rho,
        tau=tau,
        descent_constant=of_noise + of_descent,
    )


def distances(e, noise):
    """|A(t) - A*|_* at every record."""
    s, name = e.settings, NAME.format(noise=noise)
    away = e[name]["components"].reshape(-1, s.side, s.side) - np.asarray(e.problem(name).truth)
    return np.linalg.svd(away, compute_uv=False).sum(axis=1)


def told_and_found(e, noise):
    """For every η: the bound, the smallest distance until t1 + Δt(η), and the time until the bound is met over that.

    None of a run that did not memorise.
    """
    s, run = e.settings, e[NAME.format(noise=noise)]
    if run.t1 is None:
        return None
    away, after, pace = distances(e, noise), run["step"] >= run.t1, s.learning_rate * s.strength
    begin = run["components"][after][0] - np.asarray(e.problem(NAME.format(noise=noise)).truth).ravel()
    until = run.t1 + np.sum(begin**2) / (pace * ETAS)
    known, (steps, values) = constants_of(e, noise), (run["step"][after], away[after])
    bounds = known.eta * ETAS + known.strength * pace + known.noise * noise
    smallest = np.array([values[steps <= max(end, steps[0])].min() for end in until])
    met = [np.flatnonzero(values <= bound) for bound in bounds]
    times = np.array([steps[hits[0]] if len(hits) else np.inf for hits in met])
    return bounds, smallest, times / until


@theorem35.claim(
    holds("a finite C2"),
    source="Theorem C.50, Eq. 107",
    fails="ρ₂ = 1 for N < n1 n2, and C2 is infinite",
    control=Set(kernel=0, noises=(0.0,), steps=1_000),
)
def constant_as_printed(e):
    """C2 = (C + C')/2 (1+ρ)/(1-ρ) + 4τ√n σ_max(X)/((1-ρ₂)(1-ρ)) with ρ₂ = σ_max(I - αXᵀX)."""
    found = constants_of(e, 0).strength_as_printed
    return (found, True) if np.isfinite(found) else ("infinite", False)


@theorem35.claim(
    at_most(1),
    "largest distance over the bound, over η from 1e-3 to 1 and the noises,",
    source="Theorem C.50, with ρ₂ of the row space",
    kind="corrected",
)
def error_bound(e):
    """By t1 + Δt(η) there was an iterate with |A - A*|_* ≤ C1 η + C2 αβ + C3 |ξ|."""
    found = [told for noise in e.settings.noises if (told := told_and_found(e, noise)) is not None]
    if len(found) < len(e.settings.noises):
        return None
    return max(float((smallest / bounds).max()) for bounds, smallest, _ in found)


def pausing(evidence):
    """The run without noise with a pause at t1, longer than any Δt that is asked for."""
    run = evidence[NAME.format(noise=0)]
    late = run["step"] + np.where(run["step"] >= run.t1, 10**9, 0)
    return with_columns(evidence, NAME.format(noise=0), step=late)


@theorem35.claim(
    at_least(0.5),
    "smallest time until the bound is met over t1 + Δt(η), without noise,",
    source="Theorem 3.5 (the 'if and only if')",
    fails="the distance falls below the bound long before",
    control=Altered("there is a pause of a billion steps at t1", pausing),
)
def only_if_as_printed(e):
    """The bound is met only if t2 ≥ t1 + Δt(η)."""
    found = told_and_found(e, 0)
    if found is None:
        return None
    bounds, _, times = found
    asked = bounds < distances(e, 0)[e[NAME.format(noise=0)]["step"] >= e[NAME.format(noise=0)].t1][0]
    return float(times[asked].min()) if asked.any() else None


@theorem35.claim(
    at_most(1e-2),
    "relative error at the end, without noise,",
    source="Section 3.2: memorisation and the norm of A* are enough to conclude A = A*",
)
def recovers(e):
    """For such measurements memorisation and |A|_* = |A*|_* mean A = A*."""
    return e[NAME.format(noise=0)].final["test_error"]


@theorem35.claim(
    near(1, by=0.1),
    "slope of the log of the error at the end in log |ξ|, for |ξ| from 1e-3 to 1,",
    source="ours: the term C3 |ξ| of Theorem 3.5 is of the right order",
    kind="ours",
)
def error_follows_noise(e):
    """Above the bias of the penalty the error is proportional to the noise."""
    noises = [noise for noise in e.settings.noises if noise >= 1e-3]
    return log_slope(noises, [e[NAME.format(noise=noise)].final["test_error"] for noise in noises])


@theorem35.claim(
    at_most(1.2),
    "error at |ξ| = 1e-6 over that without noise",
    source="ours: the term C2 αβ of Theorem 3.5",
    kind="ours",
    control=Instead({NAME.format(noise=1e-6): NAME.format(noise=1e-2)}),
)
def bias_remains(e):
    """Below the bias of the penalty the noise does not matter."""
    quiet, silent = (e[NAME.format(noise=noise)].final["test_error"] for noise in (1e-6, 0))
    return quiet / silent


@theorem35.claim(
    at_most(1e-2),
    "relative error at the end, of a matrix whose one entry is not observed,",
    source="Theorem 3.5",
    outside="an unobserved entry alone is a matrix of rank 1 in the kernel: there is no ρ below 1",
    control=Instead({ENTRIES_ONLY: NAME.format(noise=0)}),
)
def entries_suffice(e):
    """As many observed entries recover a matrix of rank 1 too."""
    return e[ENTRIES_ONLY].final["test_error"]


@theorem35.figure
def theorem35_figure(e):
    s, shown = e.settings, []
    for place, noise in enumerate(s.noises):
        run, shade = e[NAME.format(noise=noise)], panels.shade_of(place, len(s.noises))
        shown.append(Line(run["step"][1:], distances(e, noise)[1:], rf"$|\xi|$ = {noise:g}", shade=shade))
    vertical = Axis(r"$|A^{(t)} - A^*|_*$", "log")
    left = Panel(shown, panels.clock_axis(e[NAME.format(noise=0)]), vertical, legend="lower left")
    noisy = [noise for noise in s.noises if noise > 0]
    ends = [float(distances(e, noise)[-1]) for noise in noisy]
    told = [found[0][0] for noise in noisy if (found := told_and_found(e, noise)) is not None]
    lines = [Line(noisy, ends, "at the end", "test", "linked")]
    if len(told) == len(noisy):
        lines.append(Line(noisy, told, rf"bound at $\eta$ = {ETAS[0]:g}", "theory"))
    right = Panel(lines, Axis(r"noise $|\xi|$", "log"), Axis(r"$|A - A^*|_*$", "log"), legend="upper left")
    return Figure([[left, right]])
