"""The bounds of Appendix E where they say something: Rademacher complexities, and how many points are needed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings, Study
from latebloom.catalog.bounds import at_most, each, within
from latebloom.catalog.controls import Altered
from latebloom.catalog.measures import log_slope
from latebloom.core.fields import count, number, numbers
from latebloom.figures import Axis, Figure, Line, Panel

KINDS = ("l1", "l2")
TEST = 4000  # points to count errors on
MIXES = np.linspace(0, 1, 6)  # shares of a random direction in the classifiers of Theorem E.2


class BoundSettings(Settings):
    """Points of signs, labelled by the majority of a few coordinates, at sizes at which the bounds are below one."""

    dimension: int = count(default=10, note="d of the bounds")
    samples: int = count(default=2000, note="n of the bounds")
    sparsity: int = count(default=1, note="k of the bounds, odd")
    delta: float = number(default=0.05, above=0, below=1, note="δ: the bounds hold with probability 1 - δ")
    signs: int = count(default=400, note="random signs of the Rademacher averages")
    wide: int = count(default=300, note="d of the Rademacher averages")
    few: int = count(default=64, note="n of the Rademacher averages")
    dimensions: tuple[int, ...] = numbers(default=(40, 80, 160, 320), whole=True, least=2, note="d of the law")
    votes: tuple[int, ...] = numbers(default=(1, 3, 5), whole=True, least=1, note="k of the law, at d = 100")
    level: float = number(default=0.2, above=0, below=0.5, note="test error that counts as generalising")
    draws: int = count(default=3, note="of every size of the law")

    def data(self, dimension, points, sparsity, draw=0):
        chosen = {"sparsity": sparsity, "test_samples": TEST, "seed": 1000 * self.seed + draw}
        return lb.problems.SparseSigns(dimension, points, **chosen)

    @property
    def rest(self):
        """The last term of the bounds."""
        return 3 * float(np.sqrt(np.log(2 / self.delta) / (2 * self.samples)))

    @property
    def bounds(self):
        """The right-hand sides of Eqs. 38 and 40."""
        k, d, n = self.sparsity, self.dimension, self.samples
        return {
            "l1": 4 * k * float(np.sqrt(2 * np.log(2 * d) / n)) + self.rest,
            "l2": 4 * float(np.sqrt(k * d / n)) + self.rest,
        }


app_e = Entry(
    "dichotomy/app-e",
    "Appendix E: Rademacher complexities, margin bounds, and the points that the two classifiers need",
    "The bounds hold where they are below one; the max l2-margin classifier needs points in proportion to d, the max "
    "l1-margin classifier few more in eight times the dimension.",
    source="Appendix E, Theorems E.2 to E.5",
    seconds=25,
    settings=BoundSettings(),
    notes=("Eqs. 38 and 40 are below one only with thousands of points: at Figure 1a's n = 256 they are above two.",),
)


def averages(s):
    """Rademacher averages of both classes by random signs and by those of a coordinate, and Eqs. 36 and 37."""
    inputs = np.asarray(s.data(s.wide, s.few, 1).inputs, dtype=float)
    random = np.random.default_rng([s.seed, 1]).choice([-1.0, 1.0], size=(s.signs, s.few))
    found = {}
    for name, signs in (("random", random), ("aligned", inputs[:, :1].T)):
        sums = signs @ inputs / s.few
        found[name] = np.array([np.abs(sums).max(axis=1).mean(), np.linalg.norm(sums, axis=1).mean()])
    largest, lengths = np.abs(inputs).max(axis=1), np.linalg.norm(inputs, axis=1)
    first = np.sqrt(2 * np.log(2 * s.wide) * np.sum(largest**2))
    return found | {"bound": np.array([first, np.sqrt(np.sum(lengths**2))]) / s.few}


def direction(kind, data):
    """The classifier of largest margin, of l1 or l2 norm one."""
    solve = lb.oracles.max_l1_margin if kind == "l1" else lb.oracles.max_l2_margin
    found = np.asarray(solve(data).direction)
    return found / (np.abs(found).sum() if kind == "l1" else np.linalg.norm(found))


def errors(s):
    """Test errors of the two classifiers, and of random ones."""
    data = s.data(s.dimension, s.samples, s.sparsity)
    random = np.random.default_rng([s.seed, 3]).normal(size=(len(KINDS), s.dimension))
    random[:, 0] = 0  # the coordinate that votes
    trained = np.stack([direction(kind, data) for kind in KINDS])
    return {"trained": data.test_errors(trained), "random": data.test_errors(random)}


def uniform(s):
    """Of classifiers between the truth and a random one: test error, share of small margins, complexity's term."""
    data = s.data(s.dimension, s.samples, s.sparsity)
    best = direction("l1", data)
    random = np.random.default_rng([s.seed, 2]).normal(size=s.dimension)
    random *= -np.sign(random @ best) / np.abs(random).sum()  # it is wrong more often than not
    mixed = [(1 - mix) * best + mix * random for mix in MIXES]
    margins = [np.asarray(data.labels) * (np.asarray(data.inputs) @ w) for w in mixed]
    q = 1 / (2 * s.sparsity)
    term = 2 / q * float(np.sqrt(2 * np.log(2 * s.dimension) / s.samples))
    return {
        "error": data.test_errors(np.stack(mixed)),
        "small margins": np.array([np.mean(margin <= q) for margin in margins]),
        "complexity": np.full(len(mixed), term),
        "none": np.zeros(len(mixed)),
    }


def needed(s, kind, dimension, sparsity):
    """The number of points at which the mean test error falls to the level, between sizes √2 apart."""
    sizes = 2 * np.unique(np.round(np.geomspace(1, 512, 19))).astype(int)

    def mean(place):
        draws = [s.data(dimension, int(sizes[place]), sparsity, draw) for draw in range(s.draws)]
        return float(np.mean([data.test_errors(direction(kind, data)[None])[0] for data in draws]))

    low, high = 0, len(sizes) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if mean(middle) <= s.level else (middle, high)
    ends = np.array([-mean(low), -mean(high)])
    return float(np.exp(np.interp(-s.level, ends, np.log(sizes[[low, high]]))))


def law(s):
    """Points needed, a row for each d (at k = 3) and each k (at d = 100)."""
    sizes = [(d, 3) for d in s.dimensions] + [(100, k) for k in s.votes]
    columns = {kind: np.array([needed(s, kind, d, k) for d, k in sizes]) for kind in KINDS}
    return columns | {"d": np.array([d for d, _ in sizes]), "k": np.array([k for _, k in sizes])}


@app_e.studies
def bound_studies(s):
    told = {name: list(value) if isinstance(value, tuple) else value for name, value in s.values.items()}
    computed = {"averages": averages, "errors": errors, "uniform": uniform, "law": law}
    return [
        Study(name, {"experiment": app_e.id, "version": 2, **told}, lambda made=made: made(s))
        for name, made in computed.items()
    ]


def swapped(table, column, other):
    """A control: another column of a study stands where one should."""

    def change(e):
        changed = {**e.tables[table], column: e.tables[table][other]}
        return replace(e, tables={**e.tables, table: changed})

    return change


@app_e.claim(
    each(at_most(1)),
    "Rademacher average over its bound, for l1 and l2,",
    source="Theorem E.3, Eqs. 36 and 37",
    control=Altered("the signs are those of a coordinate", swapped("averages", "random", "aligned")),
)
def rademacher_bounds(e):
    """The empirical Rademacher complexities of linear functions of bounded l1 and l2 norm are below Eqs. 36 and 37."""
    table = e.tables["averages"]
    return dict(zip(KINDS, (table["random"] / table["bound"]).tolist(), strict=True))


@app_e.claim(
    at_most(1),
    "largest test error over the right-hand side, over classifiers between the best and a wrong one,",
    source="Theorem E.2, Eq. 35",
    control=Altered("small margins do not count", swapped("uniform", "small margins", "none")),
)
def margin_bound(e):
    """For all functions of a class the test error is below the share of small margins plus the complexity's term."""
    table = e.tables["uniform"]
    right = table["small margins"] + table["complexity"] + e.settings.rest
    return float(np.max(table["error"] / right))


@app_e.claim(
    each(at_most(1)),
    "test error over its bound, which is below one half,",
    source="Theorems E.4 and E.5, Eqs. 38 and 40",
    control=Altered("the classifiers are random ones", swapped("errors", "trained", "random")),
)
def bounds_hold(e):
    """The test errors of the two max-margin classifiers are below the bounds of Theorems E.4 and E.5."""
    found = dict(zip(KINDS, e.tables["errors"]["trained"], strict=True))
    return {kind: float(found[kind] / min(bound, 0.5)) for kind, bound in e.settings.bounds.items()}


def exponent(e, kind, name):
    """The exponent in d (of the first rows) or in k (of the others) of the points needed."""
    s, table = e.settings, e.tables["law"]
    rows = slice(0, len(s.dimensions)) if name == "d" else slice(len(s.dimensions), None)
    return log_slope(table[name][rows], table[kind][rows])


EXCHANGED = Altered("the classifiers have changed places", swapped("law", "l2", "l1"))
SMALL = Altered("the classifiers have changed places", swapped("law", "l1", "l2"))


@app_e.claim(
    within(0.8, 1.2), "exponent in d of the points that it needs", source="Section 3.2.3, O(kd)", control=EXCHANGED
)
def l2_needs_points_like_d(e):
    """The max l2-margin classifier needs O(kd) points to generalise: in proportion to d."""
    return exponent(e, "l2", "d")


@app_e.claim(
    at_most(0.6),
    "exponent in d of the points that it needs (log d itself has 0.22 between 40 and 320)",
    source="Section 3.2.3, O(k² log d)",
    control=SMALL,
)
def l1_needs_points_like_log_d(e):
    """The max l1-margin classifier needs only O(k² log d) points: a small power of d at most."""
    return exponent(e, "l1", "d")


def reversed_law(e):
    """The evidence in which many votes need the points of few."""
    table = e.tables["law"]
    return replace(e, tables={**e.tables, "law": {**table, "k": table["k"].max() + 1 - table["k"]}})


@app_e.claim(
    each(within(0.1, 1)),
    "exponent in k of the points needed, over the bound's (1 for l2, 2 for l1),",
    source="Section 3.2.3, O(kd) and O(k² log d)",
    control=Altered("many votes need the points of few", reversed_law),
)
def no_more_than_the_bound_in_k(e):
    """In k the points needed grow no faster than k (l2) and k² (l1)."""
    return {"l2": exponent(e, "l2", "k"), "l1": exponent(e, "l1", "k") / 2}


@app_e.figure
def bounds_figure(e):
    s, table = e.settings, e.tables["law"]
    shown = []
    for name, label in (("d", "dimension $d$ ($k=3$)"), ("k", "votes $k$ ($d=100$)")):
        rows = slice(0, len(s.dimensions)) if name == "d" else slice(len(s.dimensions), None)
        x = table[name][rows]
        lines = [
            Line(x, table["l2"][rows], r"max $L^2$-margin", "train", "linked"),
            Line(x, table["l1"][rows], r"max $L^1$-margin", "norm", "linked"),
            Line(x, table["l2"][rows][0] * x / x[0], "slope 1", "theory"),
        ]
        axis = Axis(label, "log", ticks={int(value): str(int(value)) for value in x})
        shown.append(Panel(lines, axis, Axis(f"points for an error of {s.level:g}", "log"), legend="upper left"))
    return Figure([shown])
