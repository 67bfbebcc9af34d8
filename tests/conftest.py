"""What every test shares: examples drawn the same way, what is kept in files, and a count of what JAX compiles."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import pytest
from hypothesis import HealthCheck, settings

from latebloom.core.compile_cache import keep_programs
from latebloom.core.programs import release_programs

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

# The quickest code generator of XLA, here and in the processes that tests start: a test run is tens of thousands of
# small programs, and each takes 10 ms to compile instead of 30. What it generates is slower, and right to the same
# tolerances; `make verify` and one test of the command line use the one that users have.
QUICK = (
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_backend_optimization_level=0",
    "--xla_cpu_parallel_codegen_split_count=1",
)
os.environ.setdefault("XLA_FLAGS", " ".join(QUICK))

# A shell in the background starts its children deaf to Ctrl-C; its tests, and the processes they start, need it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """What one worker compiles the others need not, nor the processes that tests start; the user's cache is left alone.

    Two thirds of a test run are thousands of programs of 20 ms.
    """
    kept = hasattr(config, "cache")  # not with -p no:cacheprovider
    os.environ["LATEBLOOM_CACHE"] = str(config.cache.mkdir("programs")) if kept else "off"  # type: ignore[union-attr]
    keep_programs()


@pytest.fixture(autouse=True, scope="module")
def few_programs() -> Iterator[None]:
    """A worker that has compiled 20,000 programs would crash, in whatever it does next: no memory is left to map."""
    yield
    release_programs()


# The dearest tests, half of the time of all: `make test` leaves them to `make thorough`, which CI runs after it.
THOROUGH = {
    line for line in (Path(__file__).parent / "thorough.txt").read_text().splitlines() if not line.startswith("#")
}


def is_thorough(item: pytest.Item) -> bool:
    """Whether a test, or the function it is a case of, is in `thorough.txt`."""
    return not THOROUGH.isdisjoint({item.nodeid, item.nodeid.partition("[")[0]})


def require_thorough(items: list[pytest.Item]) -> None:
    """Refuses a line of `thorough.txt` that names no test: what it named would be run every day, or never."""
    names = {name for item in items for name in (item.nodeid, item.nodeid.partition("[")[0])}
    if THOROUGH - names:
        raise pytest.UsageError(f"tests/thorough.txt names no test by {', '.join(sorted(THOROUGH - names))}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A file stays on one worker, where its fixtures and compiled programs are, unless its tests name other groups."""
    part = config.getoption("--part")
    if part != "all":
        require_thorough(items)
        out = [item for item in items if is_thorough(item) != (part == "thorough")]
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if is_thorough(item) == (part == "thorough")]
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.as_posix()))


_COMPILED: list[str] = []


def _listen(event: str, seconds: float, **_: object) -> None:
    if "backend_compile" in event:
        _COMPILED.append(event)


jax.monitoring.register_event_duration_secs_listener(_listen)


def pytest_addoption(parser: pytest.Parser) -> None:
    parts = ("all", "everyday", "thorough")
    parser.addoption("--part", choices=parts, default="all", help="without the tests of thorough.txt, or only those")
    parser.addoption(
        "--keep", action="store_true", help="write what tests keep in files anew, for a change that is meant"
    )


@pytest.fixture
def kept(request: pytest.FixtureRequest) -> Callable[[Path, Any], None]:
    """`kept(path, found)` asserts that the file holds what was found; with `--keep` it writes that into it."""

    def compare(path: Path, found: Any) -> None:
        if request.config.getoption("--keep"):
            path.write_text(json.dumps(found, indent=1) + "\n")
        assert found == json.loads(path.read_text())

    return compare


@pytest.fixture
def compiles() -> Callable:
    """`with compiles() as count:` then `count()` is how many programs JAX compiled inside."""

    @contextmanager
    def counting() -> Iterator[Callable[[], int]]:
        before = len(_COMPILED)
        yield lambda: len(_COMPILED) - before

    return counting
