"""Matrices as products of layers: depth instead of the nuclear norm, and weight decay from a large start.

The paper prints no figure of its Appendix F.2; this one is ours.
"""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings, Study
from latebloom.catalog.beyond_l2.draws import RECOVERABLE_REASON, RECOVERABLE_SEED
from latebloom.catalog.beyond_l2.matrices import RECOVERED, oracle, true_values
from latebloom.catalog.bounds import at_least, at_most, holds, within
from latebloom.catalog.controls import Instead, Set
from latebloom.catalog.measures import completion, distance, over
from latebloom.core.fields import count, number, numbers
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

DEPTHS = (1, 2, 3)
LAYERS, CELL = "L={depth}", "L={depth}, N={count}, draw {draw}"
LOOSE, LOOSE_SCALE = "L=2 from 1e-2", 1e-2
LARGE, LARGE_STRONGER = "large start, L=2, weight decay", "large start, L=2, stronger weight decay"
LARGE_WITHOUT, LARGE_SHALLOW = "large start, L=2, no weight decay", "large start, L=1, weight decay"
ORACLE = "minimum nuclear norm"
MOST_DRAWS = 100  # among which one is looked for of which the oracle says something


class DeepSettings(Settings):
    """Completion by products of layers, all of the matrix's side, without noise."""

    side: int = count(default=10, note="n1 = n2 = d, of the matrix and of its layers")
    rank: int = count(default=2, note="r")
    observed: int = count(default=70, note="N, entries observed in the runs that are shown")
    counts: tuple[int, ...] = numbers(default=(40, 50, 60, 70, 80), whole=True, least=1, note="N, of the shares")
    draws: int = count(default=10, note="of the shares")
    learning_rate: float = number(default=0.3, above=0, note="α, from a small start")
    steps: int = count(default=10_000, note="from a small start")
    small_1: float = number(default=1e-6, above=0, note="standard deviation of the small start, L = 1")
    small_2: float = number(default=1e-4, above=0, note="standard deviation of the small start, L = 2")
    small_3: float = number(default=1e-2, above=0, note="standard deviation of the small start, L = 3")
    large_learning_rate: float = number(
        default=0.05, above=0, note="α, from a large start: keeps the balance of its layers to a few per cent"
    )
    large_1: float = number(default=0.8, above=0, note="standard deviation of the large start, L = 1")
    large_2: float = number(
        default=0.5, above=0, note="standard deviation of the large start, L = 2: a product as large"
    )
    weight_decay: float = number(default=3e-4, above=0, note="λ, from a large start")
    stronger: float = number(default=1e-3, above=0, note="λ, the stronger one")
    decay_time: float = number(default=12, above=0, note="steps·αλ: the balance of the layers decays as exp(-2·that)")
    bare_steps: int = count(default=20_000, note="from a large start without weight decay")
    recovered_at: float = number(default=RECOVERED, above=0, note="relative error of t2 and of a recovered matrix")

    @property
    def seeds(self):
        """The draws of the shares."""
        return range(self.seed, self.seed + self.draws)

    def problem(self, seed, *, observed=None, depth=1, scale=1e-6):
        """A draw, as a product of layers from some start."""
        count = self.observed if observed is None else observed
        shape = (self.side, self.side)
        return completion(seed, shape=shape, rank=self.rank, observed=count, depth=depth, init_scale=scale)

    def draw_with(self, word):
        """The first draw from the seed on of which the oracle says this; the seed if there is none among many."""
        seeds = range(self.seed, self.seed + MOST_DRAWS)
        said = (seed for seed in seeds if lb.oracles.min_nuclear_norm(self.problem(seed)).recovery == word)
        return next(said, self.seed)

    def small_job(self, seed, depth, scale=None):
        """Plain gradient descent from a small start, without a penalty."""
        return lb.TrainJob(
            self.problem(seed, depth=depth, scale=getattr(self, f"small_{depth}") if scale is None else scale),
            lb.GradientDescent(self.learning_rate),
            None,
            steps=self.steps,
            probes=probes(depth),
            memorised_at=self.recovered_at,
            generalised_at=self.recovered_at,
        )

    def cell_job(self, depth, count, draw):
        """The same with any number of entries; only the end counts."""
        problem = self.problem(draw, observed=count, depth=depth, scale=getattr(self, f"small_{depth}"))
        return lb.TrainJob(
            problem, lb.GradientDescent(self.learning_rate), None, steps=self.steps, records_per_decade=10
        )

    def large_job(self, seed, depth, weight_decay):
        """Gradient descent from a large start, with weight decay or without."""
        rate = self.large_learning_rate
        return lb.TrainJob(
            self.problem(seed, depth=depth, scale=getattr(self, f"large_{depth}")),
            lb.GradientDescent(rate),
            lb.L2(weight_decay) if weight_decay else None,
            steps=round(self.decay_time / (rate * weight_decay)) if weight_decay else self.bare_steps,
            probes=probes(depth),
            generalised_at=self.recovered_at,
        )


def probes(depth):
    """What is recorded of a product of so many layers."""
    common = lb.probes.SingularValues(), lb.probes.EffectiveRank(), lb.probes.Components()
    return (*common, lb.probes.LayerBalance()) if depth > 1 else common


app_f2 = Entry(
    "beyond-l2/app-f2",
    "Deep matrix factorisation: depth instead of the nuclear norm, and weight decay from a large start",
    "Depth recovers low-rank matrices without a penalty and from fewer entries than the nuclear norm; from a large "
    "start, weight decay on two layers groks.",
    source="Appendix F.2",
    seconds=20,
    settings=DeepSettings(seed=RECOVERABLE_SEED),
    full={"counts": tuple(range(36, 97, 6)), "draws": 30},
    seed_reason=f"{RECOVERABLE_REASON}; on the next one, 11, it is not",
    notes=(
        "The oracle chooses the draws: the small start is shown on the first draw from the seed on whose minimum "
        "nuclear-norm interpolator is not the planted matrix, the large start on the first whose interpolator is.",
        "At N = 70 the minimum nuclear norm recovers 13 of the first 60 draws, L = 2 recovers 51 and L = 3 all of them "
        f"within {DeepSettings().steps:,} steps.",
        "The planted matrix has two equal singular values, so that the steps of the staircase are short.",
        "Shallow means the matrix itself; its best case is the nuclear norm, so that the oracle stands for it in the "
        "comparison of sample sizes.",
    ),
)


@app_f2.runs
def app_f2_runs(s):
    lean, rich = s.draw_with("not recoverable"), s.draw_with("recovered")
    small = {LAYERS.format(depth=depth): s.small_job(lean, depth) for depth in DEPTHS}
    cells = lb.Grid(s.cell_job, {"depth": DEPTHS[1:], "count": s.counts, "draw": s.seeds}, name=CELL)
    large = {
        LARGE: s.large_job(rich, 2, s.weight_decay),
        LARGE_STRONGER: s.large_job(rich, 2, s.stronger),
        LARGE_WITHOUT: s.large_job(rich, 2, 0.0),
        LARGE_SHALLOW: s.large_job(rich, 1, s.weight_decay),
    }
    return {**small, LOOSE: s.small_job(lean, 2, LOOSE_SCALE), **cells, **large}


@app_f2.studies
def app_f2_studies(s):
    """The oracle's word on every draw of the shares."""
    cells = [(count, seed) for count in s.counts for seed in s.seeds]

    def compute():
        words = [lb.oracles.min_nuclear_norm(s.problem(seed, observed=count)).recovery for count, seed in cells]
        counts, seeds = (np.array(column) for column in zip(*cells, strict=True))
        return {"count": counts, "draw": seeds, "recovered": np.array([word == "recovered" for word in words])}

    return [Study(ORACLE, {"shape": [s.side] * 2, "rank": s.rank, "cells": [list(pair) for pair in cells]}, compute)]


@app_f2.claim(
    holds("recovery error at least {least:g}, and that of the zero-filled matrix to {to:g}", least=0.3, to=1e-3)
)
def shallow_stays(e, least, to):
    """In the shallow case nothing is recovered without a penalty: the unseen entries stay at zero."""
    problem, error = e.problem("L=1"), e["L=1"].final["test_error"]
    unseen = float(np.linalg.norm(np.asarray((1 - problem.mask) * problem.truth))) / problem.truth_norm
    return {"error": error, "over zeros": error / unseen}, abs(error / unseen - 1) <= to and error >= least


AT_THE_END = "recovery error at the end from standard deviation"


@app_f2.claim(at_most(RECOVERED), f"{AT_THE_END} 1e-4", id="depth-2", rate=0.7)
def two_layers(e):
    """With L = 2 and a small start there is no need for the nuclear norm, on a draw where the nuclear norm fails."""
    return e["L=2"].final["test_error"]


@app_f2.claim(at_most(RECOVERED), f"{AT_THE_END} 1e-2", id="depth-3", rate=0.9)
def three_layers(e):
    """Nor with L = 3."""
    return e["L=3"].final["test_error"]


@app_f2.claim(
    at_least(RECOVERED),
    "recovery error of L = 2 from standard deviation 1e-2",
    source="ours, beside Appendix F.2",
    rate=0.9,
    kind="ours",
    control=Instead({LOOSE: "L=2"}),
)
def small_by_depth(e):
    """How small the start has to be depends on the depth: where L = 3 recovers, L = 2 does not."""
    return e[LOOSE].final["test_error"]


def shares(e):
    """The share of draws that are recovered by the oracle and by each depth, by the number of entries."""
    s, table = e.settings, e.tables[ORACLE]

    def share(depth, n):
        ends = [e[CELL.format(depth=depth, count=n, draw=draw)].final["test_error"] for draw in s.seeds]
        return float(np.mean(np.array(ends) <= s.recovered_at))

    found = {ORACLE: {n: float(table["recovered"][table["count"] == n].mean()) for n in s.counts}}
    return found | {LAYERS.format(depth=depth): {n: share(depth, n) for n in s.counts} for depth in DEPTHS[1:]}


@app_f2.claim(
    holds("share of draws recovered at N = 70 by L = 2 and L = 3 at least {above:g} above the oracle's", above=0.3),
    source="Appendix F.2, Arora et al. 2019",
    rate=0.65,
    kind="ours",
)
def beyond_nuclear_norm(e, above):
    """Depth does more than stand in for the nuclear norm: it recovers draws on which the nuclear norm cannot."""
    nearest = min(e.settings.counts, key=lambda n: abs(n - e.settings.observed))
    found = {name: by_count[nearest] for name, by_count in shares(e).items()}
    return found, min(found["L=2"], found["L=3"]) >= found[ORACLE] + above


@app_f2.claim(
    holds("smallest N with {share:.0%} of draws recovered: L = 3 at most L = 2, and both below the oracle", share=0.9),
    rate=0.5,
)
def fewer_samples(e, share):
    """Depth recovers with fewer samples than the shallow case needs, even with the nuclear norm."""
    found = {
        name: next((n for n, value in by_count.items() if value >= share), None) for name, by_count in shares(e).items()
    }
    never = max(e.settings.counts) + 1
    needed = {name: never if n is None else n for name, n in found.items()}
    return found, needed["L=3"] <= needed["L=2"] < needed[ORACLE]


@app_f2.claim(
    holds(
        "L = 3 recovers at most {fewer:.0%} of draws fewer than L = 2 at every N, and at least {more:.0%} more at some",
        fewer=0.1,
        more=0.2,
    ),
    rate=0.9,
)
def deeper_is_better(e, fewer, more):
    """Increasing L biases A towards low rank, which often leads to a more accurate recovery."""
    found = shares(e)
    gains = [found["L=3"][n] - found["L=2"][n] for n in e.settings.counts]
    return {"least": min(gains), "most": max(gains)}, min(gains) >= -fewer and max(gains) >= more


@app_f2.claim(
    at_most(0.2),
    "largest share of draws recovered at the smallest N",
    id="sufficiently-large-n",
    rate=0.9,
    control=Set(counts=(80,)),
)
def sufficiently_large(e):
    """Recovery needs N sufficiently large: at 40 entries, for 36 unknowns in a matrix of rank 2, none is enough."""
    return max(by_count[min(by_count)] for by_count in shares(e).values())


@app_f2.claim(
    holds(
        "L = 3: σ_2 is half of its true value at least {ratio:g} times as late as σ_1, with an effective rank of at "
        "most {rank:g} in between",
        ratio=1.1,
        rank=1.2,
    ),
    source="Appendix F.2, after Gidel et al. 2019 and Li et al. 2020",
    rate=0.8,
    kind="ours",
)
def staircase(e, ratio, rank):
    """From a small start the singular values appear one after the other."""
    run, truth = e["L=3"], true_values(e, "L=3")
    first, second = (run.first(run["singular_values"][:, i] >= truth[i] / 2) for i in (0, 1))
    if not (first and second):
        return None, False
    between = (run["step"] >= first) & (run["step"] <= second)
    found = {"step ratio": second / first, "effective rank": float(run["effective_rank"][between].min())}
    return found, found["step ratio"] >= ratio and found["effective rank"] <= rank


@app_f2.claim(
    at_most(4),
    "the larger t2/t1 of L = 2 and L = 3, both at relative error 1e-2,",
    source="ours, beside Appendix F.2",
    rate=0.4,
    kind="ours",
)
def no_delay(e):
    """From a small start there is no grokking: the run generalises while it memorises."""
    ratios = [e[name].milestones.ratio for name in ("L=2", "L=3")]
    return None if None in ratios else max(ratios)


@app_f2.claim(
    holds("recovery error at t1 at least {error:g}, t2/t1 at least {ratio:g}", error=1, ratio=100),
    source="Appendix F.2, Lyu et al. 2023",
    rate=0.7,
)
def large_start_groks(e, error, ratio):
    """From a start far from the origin with a small weight decay, L = 2 first memorises, then finds the matrix."""
    run = e[LARGE]
    if not (run.t1 and run.t2):
        return None, False
    found = {"error at t1": float(run.record(step=run.t1)["test_error"]), "t2/t1": run.milestones.ratio}
    return found, found["error at t1"] >= error and found["t2/t1"] >= ratio


@app_f2.claim(
    within(0.7, 1.3),
    "λ t2 at λ = 3e-4 over λ t2 at λ = 1e-3",
    source="Appendix F.2, Lyu et al. 2023",
    rate=0.6,
    kind="ours",
)
def time_scale(e):
    """The generalisation time is inversely proportional to the weight decay λ."""
    s, weak, strong = e.settings, e[LARGE].t2, e[LARGE_STRONGER].t2
    return s.weight_decay * weak / (s.stronger * strong) if weak and strong else None


@app_f2.claim(
    at_most(2e-2),
    "relative distance to the minimum nuclear-norm interpolator",
    source="min (|U|² + |V|²)/2 over U Vᵀ = A is |A|_*",
    rate=0.7,
    kind="ours",
)
def ends_at_nuclear_norm(e):
    """Weight decay on two layers is the nuclear norm of their product: the run ends at the oracle's matrix."""
    solution = oracle(e, LARGE_SHALLOW).solution
    return distance(e[LARGE]["components"][-1].reshape(solution.shape), solution)


def error_at_memorisation(run):
    """The recovery error at t1; None if there is none."""
    return None if run.t1 is None else float(run.record(step=run.t1)["test_error"])


@app_f2.claim(at_least(0.9), "recovery error at the end over that at t1")
def weight_decay_is_needed(e):
    """Without weight decay the large start is never forgotten."""
    return over(e[LARGE_WITHOUT].final["test_error"], error_at_memorisation(e[LARGE_WITHOUT]))


@app_f2.claim(
    holds("recovery error falls at least {fold:g}-fold after t1 and ends at {end:g} or more", fold=3, end=0.3),
    source="Appendix E, Appendix F.2",
)
def without_understanding(e, fold, end):
    """In the shallow case the same start and weight decay give grokking without understanding."""
    before, after = error_at_memorisation(e[LARGE_SHALLOW]), e[LARGE_SHALLOW].final["test_error"]
    if before is None:
        return None, False
    return {"drop": before / after, "end": after}, before / after >= fold and after >= end


def imbalances(e, name):
    """`A1ᵀA1 - A2 A2ᵀ` at the start and at the end."""
    pair = (e.problem(name).init(), e[name].params)
    start, end = ([np.asarray(layer) for _, layer in sorted(params.items())] for params in pair)
    return start[0].T @ start[0] - start[1] @ start[1].T, end[0].T @ end[0] - end[1] @ end[1].T


@app_f2.claim(
    at_most(0.1), "relative change at the end", source="Arora et al. 2018, cited in Appendix F.2", kind="ours"
)
def balance_is_kept(e):
    """Without a penalty A1ᵀA1 - A2A2ᵀ is constant, up to the step length."""
    start, end = imbalances(e, LARGE_WITHOUT)
    return distance(end, start)


def decayed(e, steps):
    """`|D(0)| (1 - αλ)^(2t)` for the imbalance `D = A1ᵀA1 - A2 A2ᵀ`, as weight decay alone would have it."""
    s, (start, _) = e.settings, imbalances(e, LARGE)
    return np.linalg.norm(start) * (1 - s.large_learning_rate * s.weight_decay) ** (2.0 * steps)


@app_f2.claim(
    within(0.75, 1.3),
    "|A1ᵀA1 - A2A2ᵀ| at the end over the start, over (1 - αλ)^(2T),",
    source="ours, beside Appendix F.2",
    rate=0.9,
    kind="ours",
)
def balance_decays(e):
    """Weight decay takes it to zero at the rate (1 - αλ)^(2t)."""
    _, end = imbalances(e, LARGE)
    return float(np.linalg.norm(end) / decayed(e, e[LARGE]["step"][-1:])[0])


@app_f2.figure
def app_f2_figure(e):
    small = {f"$L = {depth}$": e[LAYERS.format(depth=depth)] for depth in DEPTHS}
    errors = panels.family_errors(small, low=1e-8, title="small start, no penalty")
    title = "small start, no penalty, $L = 3$"
    stairs = panels.singular_values(e["L=3"], true_values(e, "L=3"), marked=False, title=title)
    shallow = panels.curve(e[LARGE_SHALLOW], "test_error", "recovery, $L = 1$", "grey", width=0.9)
    look = {"low": 1e-6, "title": "large start, weight decay", "legend": "lower left"}
    large = panels.errors(e[LARGE], shallow, test="recovery, $L = 2$", **look)
    return Figure([[errors, stairs, shares_panel(e)], [large, ranks_panel(e), balance_panel(e)]])


def shares_panel(e):
    """The share of draws that are recovered, against the number of entries."""
    looks = (("nuclear norm", "theory", "o"), ("$L = 2$", "cycle 0", "s"), ("$L = 3$", "cycle 1", "^"))
    lines = [
        Line(list(by_count), list(by_count.values()), label, role, "linked", symbol=symbol)
        for by_count, (label, role, symbol) in zip(shares(e).values(), looks, strict=True)
    ]
    entries = Axis("observed entries $N$", low=min(e.settings.counts) - 8)
    share = Axis("share of draws recovered", low=-0.03, high=1.03)
    return Panel(lines, entries, share, title="small start, and the oracle", legend="upper left")


def ranks_panel(e):
    """The effective rank against the step."""
    lines = [
        panels.curve(e[LARGE_SHALLOW], "effective_rank", "large start, $L = 1$, weight decay", "grey"),
        panels.curve(e[LARGE], "effective_rank", "large start, $L = 2$, weight decay", "cycle 0"),
        panels.curve(e["L=3"], "effective_rank", "small start, $L = 3$", "cycle 1"),
        Rule(e.settings.rank, "planted rank", across="y"),
    ]
    return Panel(
        lines,
        panels.clock_axis(e[LARGE]),
        Axis("effective rank", low=0),
        legend="upper right",
    )


def balance_panel(e):
    """Relative imbalance; once the layers have the size of the truth it is half of the absolute one."""
    run = e[LARGE]
    without = panels.curve(
        e[LARGE_WITHOUT], "layer_balance", "no weight decay", "grey", part=0, width=2.4, opacity=0.45
    )
    kept = panels.curve(run, "layer_balance", "weight decay", "cycle 0", part=0)
    name = r"$|D_0|(1 - \alpha\lambda)^{2t} / 2$"
    theory = Line(run["step"], decayed(e, run["step"]) / 2, name, "theory")
    vertical = Axis("imbalance of the layers", "log")
    title = "large start, $L = 2$"
    return Panel([without, kept, theory], panels.clock_axis(run), vertical, title=title, legend="lower left")
