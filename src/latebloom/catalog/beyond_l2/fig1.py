"""Figure 1: l1 and the nuclear norm make a network grok as l2 does; smaller strengths delay it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.beyond_l2 import networks
from latebloom.catalog.beyond_l2.networks import (
    L1,
    L2,
    NOTES,
    NUCLEAR,
    PRINTED,
    SYMBOLS,
    Sizes,
    name_of,
    network,
    network_job,
)
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_least, at_most
from latebloom.figures.look import canvas, shades
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.engine.run import Run
    from latebloom.engine.training import TrainJob

RATE = 1e-2
KINDS = (L1, L2, NUCLEAR)
STRENGTHS: Sizes = {
    "everyday": {L1: (1e-6, 1e-5, 3e-5), L2: (1e-6, 1e-5, 1e-4), NUCLEAR: (1e-5, 1e-4, 1e-3)},
    "full": {L1: (3e-7, 1e-6, 1e-5), L2: (3e-7, 1e-6, 1e-5), NUCLEAR: (3e-6, 1e-5, 1e-4)},
}
STEPS = 12_000
GROWING = {"everyday": (3e-5, 1e-4), "full": (1e-6, 1e-5)}  # of l1, where the l2 norm is looked at after t2
COLLAPSED = (L1, RATE, 1e-3)


def jobs(request: Request) -> dict[str, TrainJob]:
    problem, chosen = network(request), STRENGTHS[request.size]
    runs = networks.grid_jobs(request, (L2, NUCLEAR), (RATE,), chosen, STEPS)
    # The norms are shown after t2, too.
    runs |= {name_of(L1, RATE, b): network_job(problem, L1, RATE, b, steps=STEPS) for b in shown(request)}
    return runs | {name_of(*COLLAPSED): network_job(problem, *COLLAPSED, steps=2_000)}


def shown(request: Request) -> list[float]:
    """The strengths of l1 whose norms are drawn."""
    return sorted({*STRENGTHS[request.size][L1], *GROWING[request.size]})


def family(evidence: Evidence, kind: str) -> list[Run]:
    return [evidence.runs[name_of(kind, RATE, strength)] for strength in STRENGTHS[evidence.request.size][kind]]


def all_runs(evidence: Evidence) -> list[Run]:
    return [run for kind in KINDS for run in family(evidence, kind)]


def ends_right(evidence: Evidence) -> Measured:
    """The test accuracy at the end with the largest strength of each penalty."""
    ends = {kind: family(evidence, kind)[-1].final["test_accuracy"] for kind in KINDS}
    return Measured(ends, min(ends.values()) >= 0.99)


def norms_until(run: Run, start: float | None, end: float | None) -> np.ndarray:
    """The l2 norm of the weights from one step to another; nothing if one of them was not seen."""
    steps = run["step"]
    inside = np.zeros(len(steps), bool) if start is None or end is None else (steps >= start) & (steps <= end)
    return run["l2_norm_of_weights"][inside]


def grows_after(evidence: Evidence) -> Measured:
    """The largest l2 norm after its smallest one since t1, over that, and the test accuracy at the end: strong l1."""
    found = {}
    for strength in GROWING[evidence.request.size]:
        run = evidence.runs[name_of(L1, RATE, strength)]
        norms = norms_until(run, run.t1, run["step"][-1])
        if not len(norms):  # never memorised
            return Measured(None, False)
        lowest = int(np.argmin(norms))
        found[f"β={strength:g}"] = [float(norms[lowest:].max() / norms[lowest]), run.final["test_accuracy"]]
    return Measured(found, all(ratio >= 1.03 and accuracy >= 0.99 for ratio, accuracy in found.values()))


def falls_on_the_way(evidence: Evidence) -> Measured:
    """|W| at t2 over its largest value since t1, in the runs under l1 that generalise."""
    series = [norms_until(run, run.t1, run.t2) for run in family(evidence, L1)]
    ratios = [float(norms[-1] / norms.max()) for norms in series if len(norms)]
    return Measured(ratios, bool(ratios) and max(ratios) <= 0.9)


def collapses(evidence: Evidence) -> Measured:
    run = evidence.runs[name_of(*COLLAPSED)]
    said = "outweighs the loss" in run.outcome.sentence
    return Measured(run.final["train_accuracy"], said and run.final["train_accuracy"] <= 0.1)


CLAIMS = (
    Claim(
        "memorises-first",
        "The network memorises first, whatever the penalty and its strength.",
        "Section 2.1, Figure 1 (top)",
        "t1 under 300 steps and before t2 in every run (99 % of pairs)",
        lambda e: networks.memorise_first(all_runs(e), 300),
    ),
    Claim(
        "all-grok",
        "l1 and the nuclear norm have the same effect on grokking as l2.",
        "Section 2.1, Figure 1 (top)",
        "test accuracy at least 0.99 at the end with the largest strength of each",
        ends_right,
        rate=0.8,
    ),
    Claim(
        "smaller-is-later",
        "Smaller values of β delay generalisation.",
        "Section 2.1, caption of Figure 1",
        "t2 falls from each strength to the next larger one, for every penalty",
        lambda e: networks.earlier_with_strength(e, KINDS, (RATE,), STRENGTHS[e.request.size]),
        rate=0.8,
    ),
    Claim(
        "l2-norm-increases",
        "Under l1 the l2 norm is not monotonic after memorisation: it increases despite generalisation.",
        "Section 2.1 and caption of Figure 1 (bottom middle)",
        "at two strengths of l1 it ends its fall and rises by 3 % or more, with test accuracy at least 0.99 at the end",
        grows_after,
        rate=0.8,
    ),
    Claim(
        "l2-norm-falls-first",
        "Beside it: on the way to t2 the l2 norm falls, and the rise around t2 gives back only a part.",
        "Section 2.1, measured",
        "|W| at t2 at most 0.9 of its largest value since t1, in every run under l1 that generalises",
        falls_on_the_way,
        rate=0.8,
    ),
    Claim(
        "l1-shrinks",
        "The l1 norm falls, since it is what is penalised.",
        "Figure 1 (bottom left)",
        "the l1 norm at the end at most half of that at t1, largest strength",
        lambda e: at_most(l1_left(e), 0.5),
    ),
    Claim(
        "collapse",
        "If β is too large, the training loss is never minimised.",
        "Section 2.2",
        "at l1 strength 1e-3 training accuracy is at most 0.1, and the outcome says why",
        collapses,
    ),
    Claim(
        "late",
        "There is a long delay between memorisation and generalisation.",
        "Section 2.1",
        "t2/t1 at least 20 at the middle strength, for every penalty",
        lambda e: at_least(min(family(e, kind)[1].milestones.ratio or 0.0 for kind in KINDS), 20),
        rate=0.8,
    ),
)


def l1_left(evidence: Evidence) -> float | None:
    run = family(evidence, L1)[-1]
    first, norms = run.t1, run["l1_norm_of_weights"]
    return None if first is None else float(norms[-1] / run.record(step=first)["l1_norm_of_weights"])


def draw(evidence: Evidence) -> Figure:
    figure, axes = canvas(2, 3, height=2.1)
    for axis, kind in zip(axes[:3], KINDS, strict=True):
        strengths = STRENGTHS[evidence.request.size][kind]
        runs = dict(zip((rf"$\beta$ = {b:g}" for b in strengths), family(evidence, kind), strict=True))
        networks.accuracies(axis, runs, SYMBOLS[kind])
    norms = [(b, evidence.runs[name_of(L1, RATE, b)]) for b in shown(evidence.request)]
    for axis, kind in zip(axes[3:], KINDS, strict=True):
        for (strength, run), colour in zip(norms, shades(len(norms)), strict=True):
            axis.plot(run["step"], run[f"{kind}_norm_of_weights"], color=colour, label=rf"$\beta$ = {strength:g}")
            second = run.t2
            if second is not None:
                axis.plot(second, run.record(step=second)[f"{kind}_norm_of_weights"], "o", color=colour, markersize=3)
        panels.log_steps(axis)
        axis.set_ylabel(f"{SYMBOLS[kind]} norm of the weights")
    axes[4].legend(loc="lower right", fontsize=5.5, title=r"$\ell_1$ penalty, dot: $t_2$", title_fontsize=5.5)
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig1",
    title="A network groks modular addition under l1, l2 and the nuclear norm",
    claim="l1, l2 and the nuclear norm all make the network grok; smaller β delays it.",
    source="Section 2.1, Figure 1",
    seconds=60,
    full_seconds=167,
    settings=PRINTED
    | {"learning rate α": RATE, "strengths β": STRENGTHS, "strengths of l2-norm-increases": GROWING, "steps": STEPS},
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=(
        *NOTES,
        "The figure's values of α and β are not printed; these show the same.",
        "The largest strength under which the network still memorises depends on p. At p = 97 l1 at 2e-5, the squared "
        "l2 norm at 1e-4 and the nuclear norm at 1e-4 still did; l1 at 3e-5, the others at 3e-4 did not (one draw).",
    ),
)
