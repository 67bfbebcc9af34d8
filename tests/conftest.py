"""What every test shares: examples drawn the same way each time, and a count of what JAX compiles."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import jax
import pytest
from hypothesis import HealthCheck, settings

# Compiling is most of the time: a program is compiled once for all processes of a test run, and for the next run.
_PROGRAMS = {
    "jax_compilation_cache_dir": str(Path(__file__).parent.parent / ".pytest_cache" / "programs"),
    "jax_persistent_cache_min_compile_time_secs": 0.3,
}
for _name, _value in _PROGRAMS.items():
    jax.config.update(_name, _value)
    os.environ.setdefault(_name.upper(), str(_value))  # of the processes that tests start

# No coin flips: the same examples on every machine, and no files left behind.
settings.register_profile(
    "repeatable",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("repeatable")

# A shell in the background starts its children deaf to Ctrl-C; its tests, and the processes they start, need it.
signal.signal(signal.SIGINT, signal.default_int_handler)

_COMPILED: list[str] = []


def _listen(event: str, seconds: float, **_: object) -> None:
    if "backend_compile" in event:
        _COMPILED.append(event)


jax.monitoring.register_event_duration_secs_listener(_listen)


@pytest.fixture
def compiles() -> Callable:
    """`with compiles() as count:` then `count()` is how many programs JAX compiled inside."""

    @contextmanager
    def counting() -> Iterator[Callable[[], int]]:
        before = len(_COMPILED)
        yield lambda: len(_COMPILED) - before

    return counting
