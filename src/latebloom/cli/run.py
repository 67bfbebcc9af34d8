"""`latebloom run`: one simulation of your own."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from latebloom.cli import complete
from latebloom.cli.common import (
    Fresh,
    Json,
    StoreOption,
    log,
    open_store,
    print_json,
    refuse_together,
    whole,
)
from latebloom.errors import InputError

METHOD = "gradient_descent[learning_rate=0.1]"
STEPS = 100_000
ProblemText = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="E.g. 'sparse_recovery[measurements=40,seed=3]'; `latebloom problems` lists them.",
        autocompletion=complete.problems,
    ),
]
MethodText = Annotated[
    str | None,
    typer.Option(
        "--method",
        help=f"E.g. 'adamw[0.001,weight_decay=1.0]' (default: {METHOD}); `latebloom methods` lists them.",
        autocompletion=complete.methods,
    ),
]
PenaltyText = Annotated[
    list[str] | None,
    typer.Option("--penalty", help="E.g. 'l1[strength=1e-5]'; repeat to add up.", autocompletion=complete.penalties),
]
ProbeText = Annotated[
    list[str] | None,
    typer.Option("--probe", help="E.g. 'gradient_ratio'; repeat for more.", autocompletion=complete.probes),
]
Steps = Annotated[
    int | None, typer.Option("--steps", parser=whole, metavar="N", help="How many steps, e.g. 1e6 (default: 100,000).")
]
Time = Annotated[float | None, typer.Option("--time", help="Integrate the gradient flow to this time instead.")]
SlowTime = Annotated[float | None, typer.Option("--slow-time", help="Integrate the limit λ → 0 to this slow time.")]
StopAt = Annotated[
    str | None,
    typer.Option(
        "--stop-at", help="Stop when 'memorised' or 'generalised'.", autocompletion=lambda: ["memorised", "generalised"]
    ),
]
Memorised = Annotated[float, typer.Option("--memorised-at", help="Threshold on the train error.")]
Generalised = Annotated[float, typer.Option("--generalised-at", help="Threshold on the test error.")]


def run(
    problem: ProblemText,
    method: MethodText = None,
    penalty: PenaltyText = None,
    steps: Steps = None,
    time: Time = None,
    slow_time: SlowTime = None,
    probe: ProbeText = None,
    stop_at: StopAt = None,
    memorised_at: Memorised = 1e-3,
    generalised_at: Generalised = 1e-3,
    fresh: Fresh = False,
    as_json: Json = False,
    store: StoreOption = None,
) -> int:
    """Run one simulation of your own and keep it in the store.

    One that was interrupted or killed goes on where it was. More --steps continue a finished one; a longer --time or
    --slow-time starts anew, because records are spaced from the end.
    """
    _check_one(method=method, steps=steps, time=time, slow_time=slow_time)
    import latebloom as lb
    from latebloom import methods, penalties, probes, problems
    from latebloom.catalog.reproduction import run_json
    from latebloom.core.record import parse
    from latebloom.engine.storage import require_complete, run_stored

    terms: Any = [parse(text, penalties.TABLE, "penalty") for text in penalty or []]
    common: Any = {
        "problem": parse(problem, problems.TABLE, "problem"),
        "penalty": (terms[0] if len(terms) == 1 else penalties.Sum(*terms)) if terms else None,
        "probes": tuple(parse(text, probes.TABLE, "probe") for text in probe or []),
        "stop_at": stop_at,
        "memorised_at": memorised_at,
        "generalised_at": generalised_at,
    }
    job: Any
    if slow_time is not None:
        job = lb.SlowFlowJob(**common, slow_time=slow_time)
    elif time is not None:
        job = lb.FlowJob(**common, time=time)
    else:
        how: Any = parse(method or METHOD, methods.TABLE, "method")
        job = lb.TrainJob(method=how, **common, steps=STEPS if steps is None else steps)
    (result,), _ = run_stored([job], open_store(store), renewed=set() if fresh else None)
    require_complete([result])
    if as_json:
        print_json(run_json(job.problem.name(), result))
    else:
        print(f"{job.key}  {result.outcome}\n{result.milestones}")
        log(f"see it with: latebloom runs show {job.key[:8]}")
    return 1 if result.outcome.failed else 0


def _check_one(*, method: str | None, steps: int | None, time: float | None, slow_time: float | None) -> None:
    """Refuses what would be ignored: a second budget, and a method where a flow has no steps."""
    refuse_together(steps=steps, time=time, slow_time=slow_time)
    for flow, moment in {"--time": time, "--slow-time": slow_time}.items():
        if moment is not None and method is not None:
            raise InputError(f"{flow} integrates a flow, which makes no steps: leave --method out, or give --steps")
