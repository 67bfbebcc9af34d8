"""A progress bar with the time taken and left: on stderr, only on a terminal, only for what takes over two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 2.0  # seconds before a bar appears


class ProgressBar:
    """Shows `done` of `total` once the work has taken longer than `PATIENCE`; silent when stderr is not a terminal."""

    def __init__(self, label: str, total: float, *, enabled: bool | None = None):
        self.label, self.total = label, max(total, 1)
        self.enabled = sys.stderr.isatty() if enabled is None else enabled
        self._started = time.monotonic()
        self._bar = None
        self._task = None

    def __enter__(self) -> ProgressBar:
        return self

    def update(self, done: float, doing: str = "") -> None:
        """Moves the bar to `done`; `doing` says what is being done where that is not the work itself."""
        if not self.enabled:
            return
        if self._bar is None and time.monotonic() - self._started > PATIENCE:
            self._open()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, description=f"{self.label}: {doing}" if doing else self.label)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Left

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), Left())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(self.label, total=self.total)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def tracked(items: Sequence[T], label: str) -> Iterator[T]:
    """The items one by one, under a progress bar."""
    with ProgressBar(label, len(items)) as bar:
        for number, item in enumerate(items):
            bar.update(number)
            yield item
