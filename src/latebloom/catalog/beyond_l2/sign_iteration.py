"""What sign steps do (Lemmas C.30 to C.32), and a strength too large for the data (Lemma C.33)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Study
from latebloom.catalog.beyond_l2.draws import SparseSettings
from latebloom.catalog.bounds import at_least, at_most, holds, within
from latebloom.catalog.controls import Altered, Instead
from latebloom.core.fields import count, number, numbers
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

SIGNS = "sign iterations"
PUSHED = "β={:g}"
WEAK = Instead({PUSHED.format(1.0): PUSHED.format(1e-5), PUSHED.format(3.0): PUSHED.format(1e-5)})
STEP = 2.0**-6  # α of the lemmas: a power of two, so that sums of it are exact


class SignSettings(SparseSettings):
    starts: int = count(default=200, note="starts of the sign iteration, every third one a multiple of α")
    learning_rate: float = number(default=0.1, above=0, note="α of the runs")
    strengths: tuple[float, ...] = numbers(default=(1e-5, 1e-1, 1.0, 3.0), above=0, note="β of the runs, l1")
    steps: int = count(default=20_000, note="of the runs")


lemmas = Entry(
    "beyond-l2/sign-steps",
    "Lemmas C.30 to C.33: sign steps arrive within α and stay there; a large β oscillates",
    "Steps of sign(a) bring every component within α of zero, where it oscillates; so does descent with a large β.",
    source="Lemmas C.30 to C.33",
    seconds=3,
    settings=SignSettings(),
    notes=("The step α of the sign iterations is a power of two: their sums are exact.",),
)


def iterate(starts, steps):
    """a(1), a(2), … of a ← a - α sign(a), a row per step."""
    path = [starts]
    for _ in range(steps - 1):
        path.append(path[-1] - STEP * np.sign(path[-1]))
    return np.array(path)


@lemmas.studies
def lemma_studies(s):
    def compute():
        random = np.random.default_rng(s.seed)
        odd = random.uniform(-20, 20, size=s.starts)
        starts = STEP * np.where(np.arange(s.starts) % 3, odd, np.round(odd))
        other = random.permutation(starts)
        path, whole = iterate(starts, 60), starts / STEP == np.round(starts / STEP)
        first = 1 + np.argmax(np.abs(path) <= STEP, axis=0)
        later = np.where(np.arange(1, 61)[:, None] > np.floor(np.abs(starts) / STEP), np.abs(path), 0.0)
        return {
            "start": starts,
            "whole": whole.astype(float),
            "first": first.astype(float),
            "later": later.max(axis=0),
            "end": path[-1],
            "before_end": path[-2],
            "other": other,
            "larger": (np.abs(starts) > np.abs(other)).astype(float),
        }

    return [Study(SIGNS, {"experiment": lemmas.id, "version": 1, "seed": s.seed, "starts": s.starts}, compute)]


@lemmas.runs
def lemma_runs(s):
    def job(strength):
        return lb.TrainJob(s.problem(), lb.GradientDescent(s.learning_rate), lb.L1(strength), steps=s.steps)

    return {PUSHED.format(strength): job(strength) for strength in s.strengths}


def _other(**columns):
    """The evidence with other columns of the study."""

    def change(e):
        found = e.tables[SIGNS]
        return replace(e, tables={SIGNS: dict(found) | {name: made(found) for name, made in columns.items()}})

    return change


@lemmas.claim(
    within(0, 0),
    "share of the ends within α of zero that the next step moves",
    source="Lemmas C.30 and C.31, item 1",
    fails="sign(a) ≠ 0 off zero: they go to and fro; a/α is no subgradient of |a| there",
    control=Altered("only the starts that are multiples of α", lambda e: _only(e, 1)),
)
def stationary_as_printed(e):
    """A point is stationary if and only if |a|_∞ ≤ α."""
    found = e.tables[SIGNS]
    return float(np.mean(found["end"] != found["before_end"]))


@lemmas.claim(
    within(0, 0),
    "points at zero that move, and points off it that do not",
    source="corrects the previous claim",
    kind="corrected",
    control=Altered("the end is taken for the step before it", _other(before_end=lambda t: t["end"])),
)
def only_zero_is_stationary(e):
    """With the subgradient sign(a) that the experiments use, zero alone is stationary."""
    found = e.tables[SIGNS]
    return int(np.sum((found["end"] == found["before_end"]) != (found["end"] == 0)))


@lemmas.claim(
    at_most(1),
    "largest |a(t)|/α after ⌊|a(1)|/α⌋ steps",
    source="Lemmas C.30 and C.31, item 2 (if)",
    control=Altered("the starts are twice as far", _other(later=lambda t: 2 * np.maximum(t["later"], STEP))),
)
def arrives_in_time(e):
    """|a(t)| ≤ α if t > ⌊|a(1)|/α⌋."""
    return float(e.tables[SIGNS]["later"].max() / STEP)


@lemmas.claim(
    within(0, 0),
    "share of the starts beyond α that are within α at t = ⌊|a(1)|/α⌋ already",
    source="Lemmas C.30 and C.31, item 2 (only if)",
    fails="a multiple of α arrives a step earlier",
    control=Altered("only the starts that are no multiples of α", lambda e: _only(e, 0)),
)
def only_then_as_printed(e):
    """… and only then."""
    found = e.tables[SIGNS]
    far = np.abs(found["start"]) > STEP
    return float(np.mean(found["first"][far] <= np.floor(np.abs(found["start"][far]) / STEP)))


@lemmas.claim(
    within(0, 0),
    "largest |a| in the end, of the starts that are multiples of α",
    source="Lemma C.30, item 3",
    control=Altered("of the others", _other(whole=lambda t: 1 - t["whole"])),
)
def multiples_end_at_zero(e):
    """If a(1) is a multiple of α the iteration ends at zero."""
    found = e.tables[SIGNS]
    return float(np.abs(found["end"][found["whole"] == 1]).max())


@lemmas.claim(
    within(0, 0),
    "|a|_0 in the end less the number of components that are multiples of α at the start",
    source="Lemma C.31, item 3",
    fails="those are the ones that end at zero: it counts the wrong components",
    control=Altered("the others are counted", _other(whole=lambda t: 1 - t["whole"])),
)
def nonzeros_as_printed(e):
    """|a(t)|_0 is the number of components that are multiples of α."""
    found = e.tables[SIGNS]
    return int(np.count_nonzero(found["end"]) - found["whole"].sum())


@lemmas.claim(
    within(0, 0),
    "|a|_0 in the end less the number of components that are no multiples of α at the start, component by component",
    source="corrects the previous claim",
    kind="corrected",
    control=Altered("the others are counted", _other(whole=lambda t: 1 - t["whole"])),
)
def nonzeros_are_the_others(e):
    """|a(t)|_0 is the number of components that are no multiples of α."""
    found = e.tables[SIGNS]
    return int(np.sum((found["end"] != 0) != (found["whole"] == 0)))


@lemmas.claim(
    within(0, 0),
    "exceptions among pairs with |a| > |a*|",
    source="Lemma C.32",
    control=Altered("pairs with |a| ≤ |a*|", _other(larger=lambda t: 1 - t["larger"])),
)
def sign_of_the_difference(e):
    """If |a| > |a*| then sign(a - a*) = sign(a)."""
    found = e.tables[SIGNS]
    a, truth = (found[name][found["larger"] == 1] for name in ("start", "other"))
    return int(np.sum(np.sign(a - truth) != np.sign(a)))


def over_gradient(e, strength):
    """β√n over |∇g| at the start."""
    problem = e.problem()
    return strength * np.sqrt(e.settings.dimension) / float(np.linalg.norm(problem.gradient(problem.init())))


@lemmas.claim(
    holds("β√n at least {ratio:g} times |∇g(a(1))|; both errors at the end at least {error:g}", ratio=10, error=1),
    source="Lemma C.33, Section 3.1",
    control=WEAK,
)
def large_strength_oscillates(e, ratio, error):
    """If β|H| is far above |∇g| at the start the errors stay above a suboptimal value: nothing is memorised."""
    chosen = [b for b in e.settings.strengths if over_gradient(e, b) >= ratio]
    ends = {
        f"β={b:g}": min(e[PUSHED.format(b)].final[column] for column in ("train_error", "test_error")) for b in chosen
    }
    return ends, bool(ends) and min(ends.values()) >= error


@lemmas.claim(
    at_least(0.99),
    "smallest share of signs that one more step flips, and its length over αβ√n, at the large strengths,",
    source="Lemma C.33",
    control=WEAK,
)
def sign_flips(e):
    """Every coordinate overshoots and flips its sign: a step is as long as that of the penalty alone."""
    s, moved = e.settings, []
    for strength in (b for b in s.strengths if over_gradient(e, b) >= 10):
        problem, params = e.problem(), np.asarray(e[PUSHED.format(strength)].params)
        step = s.learning_rate * (np.asarray(problem.gradient(params)) + strength * np.sign(params))
        flipped = np.mean(np.sign(params - step) != np.sign(params))
        moved.append(
            min(float(flipped), float(np.linalg.norm(step) / (s.learning_rate * strength * np.sqrt(s.dimension))))
        )
    return min(moved)


def _only(e, whole):
    found = e.tables[SIGNS]
    chosen = found["whole"] == whole
    return replace(e, tables={SIGNS: {name: column[chosen] for name, column in found.items()}})


@lemmas.figure
def lemma_figure(e):
    found = e.tables[SIGNS]
    path = iterate(np.sort(found["start"])[:: max(1, len(found["start"]) // 12)], 40) / STEP
    left = [
        Line(np.arange(1, 41), path, r"$a(t)/\alpha$", "norm", width=0.7),
        Rule(-1.0, r"$|a| \leq \alpha$", "grey", to=1.0, across="y"),
    ]
    right = [
        Line(run["step"][1:], run["train_error"][1:], name, f"cycle {place}")
        for place, (name, run) in enumerate(e.runs.items())
    ]
    first = Panel(left, Axis("step $t$"), Axis(r"$a/\alpha$"), title="sign steps")
    second = Panel(right, panels.STEPS, Axis("relative training error", "log"), title="descent with l1")
    return Figure([[first, second]])
