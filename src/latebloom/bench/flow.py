"""Gradient flow to a long time: ours against the iteration it is the limit of, and against other integrators."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

import latebloom as lb
from latebloom.bench.base import BenchResult, show_seconds
from latebloom.bench.timing import Timed, describe, take_turns

NAME = "flow"
WEIGHT_DECAY, UNTIL, LEARNING_RATE, RTOL = 1e-3, 1e5, 1e-2, 1e-3
ACCURACY = 1e-4  # how far our test error, which is about 1, may be from the reference for a time to count
STRENGTHS = (1e-3, 1e-4, 1e-5, 1e-6)
# The loosest of rtol = 1e-1, 3e-2, 1e-2, 3e-3, ... at which each was seen to stay within ACCURACY of the reference.
SCIPY = {"LSODA": 3e-3, "BDF": 1e-4, "Radau": 3e-3}
EXTENSISQ = {"SSV2stab": 3e-5}


@dataclass(frozen=True)
class Task:
    """The flow as the other integrators take it: a vector field, its Jacobian and the errors to compare."""

    problem: lb.problems.MatrixCompletion
    weight_decay: float = WEIGHT_DECAY
    time: float = UNTIL

    def run(self, **options: Any) -> lb.Run:
        """Ours, with records and milestones."""
        return lb.flow(self.problem, weight_decay=self.weight_decay, time=self.time, progress=False, **options)

    @cached_property
    def start(self) -> np.ndarray:
        return np.asarray(ravel_pytree(self.problem.init())[0])

    def slope(self, w: jax.Array) -> jax.Array:
        unravel = ravel_pytree(self.problem.init())[1]
        return -ravel_pytree(self.problem.gradient(unravel(w)))[0] - self.weight_decay * w

    def field(self, w: np.ndarray) -> np.ndarray:
        """`slope` in plain NumPy: for integrators written in Python, calling a compiled function costs more."""
        left, right = w[:200].reshape(20, 10), w[200:].reshape(10, 20)
        mask, values = self.data
        residual = self.problem.weight * (mask * (left @ right) - values)
        return -np.concatenate([(residual @ right.T).ravel(), (left.T @ residual).ravel()]) - self.weight_decay * w

    @cached_property
    def data(self) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(self.problem.mask), np.asarray(self.problem.values)

    @cached_property
    def jacobian(self) -> Callable[[Any], jax.Array]:
        return jax.jit(jax.jacfwd(self.slope))

    @cached_property
    def errors(self) -> Callable[[Any], jax.Array]:
        """The test error of every row."""
        unravel = ravel_pytree(self.problem.init())[1]
        return jax.jit(jax.vmap(lambda w: self.problem.test_error(unravel(w))))


@dataclass(frozen=True)
class Answer:
    """What an integrator gave at the first of the times asked for, and how long it took."""

    seconds: float
    errors: np.ndarray
    gradients: int
    reached: float


def task(seed: int = 0, **changes: Any) -> Task:
    """Completion 20x20 of rank 3 from 200 entries with factors of width 10, weight decay 1e-3, to time 1e5."""
    problem = lb.problems.MatrixCompletion(
        (20, 20), 3, 200, width=10, init_scale=1.0, truth_kind="gaussian", truth_norm=30, weight=2.0, seed=seed
    )
    return Task(problem, **changes)


def measure(
    *,
    seed: int = 0,
    time: float = UNTIL,
    steps: int = 200_000,
    torch_steps: int = 2_000,
    cap: float = 12.0,
    strengths: tuple[float, ...] = STRENGTHS,
    repeats: int = 5,
) -> list[BenchResult]:
    """Ours at rtol 1e-3 against gradient descent with step 1e-2, and against other integrators of like accuracy."""
    job = task(seed, time=time)
    ours = take_turns({"ours": lambda: job.run(rtol=RTOL)}, repeats=repeats)["ours"]
    run = ours.answer
    rows = np.unique(np.linspace(1, len(run["time"]) - 1, 60).astype(int))
    times = run["time"][rows]
    reference = by_scipy(job, "LSODA", times, rtol=1e-7, cap=np.inf).errors
    mine = Answer(ours.seconds, run["test_error"][rows], run.provenance["gradients"], time)
    accuracy = _distance(mine, reference)
    how = f"ours {describe(repeats, ours)}, {mine.gradients:,} gradients, test error within {accuracy:.0e}"
    agree = accuracy <= ACCURACY
    return [
        *_against_descent(job, ours, steps, how, agree=agree),
        _against_torch(job, ours, torch_steps, how, agree=agree),
        *_against_integrators(job, mine, times, reference, cap),
        _scaling(seed, strengths),
    ]


def _distance(answer: Answer, reference: np.ndarray) -> float:
    """The largest distance between the curves of the test error, as far as the answer goes."""
    return float(np.abs(answer.errors - reference[: len(answer.errors)]).max(initial=0.0))


# The iteration


def _against_descent(job: Task, ours: Timed, steps: int, how: str, *, agree: bool) -> list[BenchResult]:
    method, penalty = lb.GradientDescent(LEARNING_RATE), lb.L2(job.weight_decay)
    never: dict[str, Any] = {
        "memorised_at": 1e-300,
        "generalised_at": 1e-300,
    }  # nothing is run again to pin a milestone
    timed = take_turns(
        {"train": lambda: lb.train(job.problem, method, penalty, steps=steps, progress=False, **never)}, repeats=1
    )["train"]
    needed = job.time / LEARNING_RATE
    gradients = needed / ours.answer.provenance["gradients"]
    return [
        BenchResult.at_least(
            NAME,
            "to time 1e5, against the compiled loop of train with step 1e-2",
            ours=ours.seconds,
            theirs=timed.seconds * needed / steps,
            least=100,
            agree=agree,
            note=f"theirs extrapolated from {steps:,} of {needed:,.0f} steps; {how}",
        ),
        BenchResult(
            NAME,
            "gradients to time 1e5, against gradient descent with step 1e-2",
            None,
            None,
            gradients,
            "at least 150",
            agree and gradients >= 150,
            f"{needed:,.0f} against {ours.answer.provenance['gradients']:,}; a Jacobian's product counts as two",
        ),
    ]


def torch_descent(job: Task, steps: int) -> dict[str, np.ndarray]:
    """A Python loop over PyTorch's automatic differentiation; raises ImportError without PyTorch."""
    import torch  # pyright: ignore[reportMissingImports]

    layers = [torch.tensor(np.asarray(layer), requires_grad=True) for layer in job.problem.init().values()]
    mask, values = (torch.tensor(np.asarray(part)) for part in (job.problem.mask, job.problem.values))
    optimizer = torch.optim.SGD(layers, lr=LEARNING_RATE, weight_decay=job.weight_decay)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = job.problem.weight / 2 * ((mask * (layers[0] @ layers[1]) - values) ** 2).sum()
        loss.backward()
        optimizer.step()
    return dict(zip(job.problem.init(), (layer.detach().numpy() for layer in layers), strict=True))


def _against_torch(job: Task, ours: Timed, steps: int, how: str, *, agree: bool) -> BenchResult:
    what, least = "to time 1e5, against a PyTorch loop with step 1e-2", 3000
    try:
        importlib.import_module("torch")
    except ImportError:
        note = "PyTorch is not installed: pip install torch, or pip install 'latebloom[torch]'"
        return BenchResult(NAME, what, ours.seconds, None, None, f"at least {least}", None, note)
    timed = take_turns({"torch": lambda: torch_descent(job, steps)}, repeats=2)["torch"]
    needed = job.time / LEARNING_RATE
    return BenchResult.at_least(
        NAME,
        what,
        ours=ours.seconds,
        theirs=timed.seconds * needed / steps,
        least=least,
        agree=agree,
        note=f"theirs extrapolated from {steps:,} of {needed:,.0f} steps; {how}",
    )


# Other integrators


class _TooSlow(Exception):
    """A contender has had its time."""


def by_scipy(job: Task, method: Any, times: np.ndarray, *, rtol: float, cap: float) -> Answer:
    """One of SciPy's integrators or a class like them, with a compiled Jacobian; stops after `cap` seconds."""
    from scipy.integrate import solve_ivp

    implicit = method in ("LSODA", "BDF", "Radau")
    extra: dict[str, Any] = {"jac": lambda t, w: np.asarray(job.jacobian(w))} if implicit else {}
    jax.block_until_ready(job.jacobian(job.start) if implicit else None)
    started, calls, latest = perf_counter(), 0, 0.0

    def field(t: float, w: np.ndarray) -> np.ndarray:
        nonlocal calls, latest
        calls, latest = calls + 1, max(latest, t)
        if perf_counter() - started > cap:
            raise _TooSlow
        return job.field(w)

    try:
        span = (0.0, job.time)
        answer: Any = solve_ivp(field, span, job.start, method, t_eval=times, rtol=rtol, atol=1e-3 * rtol, **extra)
    except _TooSlow:
        return Answer(perf_counter() - started, np.zeros(0), calls, latest)
    seconds = perf_counter() - started
    return Answer(seconds, np.asarray(job.errors(answer.y.T)), calls, float(answer.t[-1]))


def by_diffrax(job: Task, solver: Any, times: np.ndarray, *, rtol: float, time: float) -> Answer:
    """One of diffrax's solvers as far as `time`, compiled before it is timed."""
    saved = jnp.asarray(times[times <= time])

    @jax.jit
    def solve(start: jax.Array) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, w, args: job.slope(w)),
            solver,
            0.0,
            time,
            1e-4,
            start,
            saveat=diffrax.SaveAt(ts=saved),
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=1e-3 * rtol),
            max_steps=None,
            adjoint=diffrax.ForwardMode(),
        )

    compiled: Any = solve.lower(jnp.asarray(job.start)).compile()
    started = perf_counter()
    answer = jax.block_until_ready(compiled(jnp.asarray(job.start)))
    seconds = perf_counter() - started
    steps = int(answer.stats["num_steps"])
    return Answer(seconds, np.asarray(job.errors(answer.ys)), steps, time)


def _against_integrators(
    job: Task, mine: Answer, times: np.ndarray, reference: np.ndarray, cap: float
) -> list[BenchResult]:
    results = [
        _compare(f"SciPy's {method}", mine, by_scipy(job, method, times, rtol=rtol, cap=cap), rtol, reference, job)
        for method, rtol in SCIPY.items()
    ]
    try:
        library: Any = importlib.import_module("extensisq")
    except ImportError:
        note = "extensisq is not installed: pip install extensisq"
        results += [BenchResult(NAME, _what(n), mine.seconds, None, None, "at least 1", None, note) for n in EXTENSISQ]
    else:
        for name, rtol in EXTENSISQ.items():
            answer = by_scipy(job, getattr(library, name), times, rtol=rtol, cap=cap)
            results.append(_compare(f"extensisq's {name}", mine, answer, rtol, reference, job))
    # Both are slow here: an explicit one is held to steps of 3.3 over the spectral radius, an implicit one solves
    # 400 equations a stage.
    for name, solver, time in (("Tsit5", diffrax.Tsit5(), 1e-2), ("Kvaerno5", diffrax.Kvaerno5(), 1e-5)):
        answer = by_diffrax(job, solver, times, rtol=1e-4, time=time * job.time)
        results.append(_compare(f"diffrax's {name}", mine, answer, 1e-4, reference, job))
    return results


def _what(yardstick: str) -> str:
    return f"to time 1e5, against {yardstick}"


def _compare(
    yardstick: str, mine: Answer, theirs: Answer, rtol: float, reference: np.ndarray, job: Task
) -> BenchResult:
    distance, seconds = _distance(theirs, reference), theirs.seconds
    note = (
        f"rtol {rtol:g}: test error within {distance:.0e} of a tight reference, ours {_distance(mine, reference):.0e}"
    )
    if not len(theirs.errors):
        note = f"rtol {rtol:g}: stopped at time {theirs.reached:.3g} after {show_seconds(seconds)}, a lower bound"
    elif theirs.reached < job.time and "Tsit5" in yardstick:
        note += f"; extrapolated from time {theirs.reached:g}, where its step is already held by stability"
        seconds *= job.time / theirs.reached
    elif theirs.reached < job.time:
        note += f"; run to time {theirs.reached:g} only, a lower bound"
    agree = _distance(mine, reference) <= ACCURACY
    return BenchResult.at_least(
        NAME, _what(yardstick), ours=mine.seconds, theirs=seconds, least=1, agree=agree, note=note
    )


# Cost in the strength


def _scaling(seed: int, strengths: tuple[float, ...]) -> BenchResult:
    """Gradients to the slow time 100 as the weight decay falls: a power -1/2 of it, where descent has -1."""
    spent = [
        task(seed, weight_decay=strength, time=100 / strength).run(rtol=RTOL).provenance["gradients"]
        for strength in strengths
    ]
    exponent = -float(np.polyfit(np.log(strengths), np.log(spent), 1)[0])
    counts = ", ".join(f"{count:,} at {strength:g}" for count, strength in zip(spent, strengths, strict=True))
    return BenchResult(
        NAME,
        "gradients to the slow time 100, as a power of 1 / weight decay",
        None,
        None,
        exponent,
        "0.5 ± 0.1",
        abs(exponent - 0.5) <= 0.1,
        f"{counts}; gradient descent with a fixed step has the power 1",
    )
