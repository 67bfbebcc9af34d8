"""`latebloom run`: one simulation of your own."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from latebloom.cli.common import Json, StoreOption, log, open_store, print_json, use_compile_cache

ProblemText = Annotated[str, typer.Argument(metavar="PROBLEM", help="E.g. 'sparse_recovery[measurements=40,seed=3]'.")]
MethodText = Annotated[str, typer.Option("--method", help="E.g. 'gradient_descent[learning_rate=0.1]'.")]
PenaltyText = Annotated[list[str] | None, typer.Option("--penalty", help="E.g. 'l1[strength=1e-5]'; repeat to add up.")]
ProbeText = Annotated[list[str] | None, typer.Option("--probe", help="E.g. 'gradient_ratio'; repeat for more.")]
Steps = Annotated[int, typer.Option("--steps", min=0, help="How many steps.")]
Until = Annotated[str | None, typer.Option("--until", help="Stop when 'memorised' or 'generalised'.")]
Flow = Annotated[float | None, typer.Option("--flow", help="Integrate the gradient flow to this time instead.")]
SlowFlow = Annotated[float | None, typer.Option("--slow-flow", help="Integrate the limit λ → 0 to this slow time.")]
Memorised = Annotated[float, typer.Option("--memorised", help="Threshold on the train error.")]
Generalised = Annotated[float, typer.Option("--generalised", help="Threshold on the test error.")]


def run(
    problem: ProblemText,
    method: MethodText = "gradient_descent[learning_rate=0.1]",
    penalty: PenaltyText = None,
    steps: Steps = 100_000,
    probe: ProbeText = None,
    memorised: Memorised = 1e-3,
    generalised: Generalised = 1e-3,
    until: Until = None,
    flow: Flow = None,
    slow_flow: SlowFlow = None,
    as_json: Json = False,
    store: StoreOption = None,
) -> int:
    """Run one simulation of your own and keep it in the store."""
    use_compile_cache()
    from latebloom import methods, penalties, probes, problems
    from latebloom.catalog.reproduction import compute_one, run_json
    from latebloom.core.record import parse
    from latebloom.engine.training import Job
    from latebloom.errors import InputError
    from latebloom.flows import FlowJob, SlowFlowJob
    from latebloom.store import run_key

    terms = [parse(text, penalties.TABLE, "penalty") for text in penalty or []]
    what: Any = parse(problem, problems.TABLE, "problem")
    preferred: Any = (terms[0] if len(terms) == 1 else penalties.Sum(*terms)) if terms else None  # type: ignore[arg-type]
    measured: Any = tuple(parse(text, probes.TABLE, "probe") for text in probe or [])
    if flow is not None and slow_flow is not None:
        raise InputError("--flow and --slow-flow are two ways of running: give one of them")
    if slow_flow is not None:
        job = SlowFlowJob(what, preferred, slow_flow, measured, memorised, generalised)
    elif flow is None:
        how: Any = parse(method, methods.TABLE, "method")
        job = Job(what, how, preferred, steps, measured, memorised, generalised, until)
    else:
        job = FlowJob(what, preferred, flow, measured, memorised, generalised)
    result = compute_one(job, open_store(store))
    key = run_key(job.configuration())
    if as_json:
        print_json(run_json(job.problem.name(), result))
    else:
        print(f"{key}  {result.outcome}\n{result.milestones}")
        log(f"see it with: latebloom runs show {key[:8]}")
    return 1 if result.outcome.failed else 0
