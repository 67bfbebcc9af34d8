"""Jobs that are given to SLURM: as many workers as there is work for, by dask-jobqueue."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

from latebloom.core.fields import check_all, count, declare, parameters, text
from latebloom.core.threads import ROUNDING_CORES, rounding_cores
from latebloom.errors import InputError, unknown_name
from latebloom.sweeps.places.base import AbstractPlace
from latebloom.sweeps.places.dask_cluster import DaskCluster, imported
from latebloom.sweeps.shards import Done, Shard

LEAST = 0.75e9  # bytes a worker: JAX, pandas and some hundred compiled programs take 0.4 GB before any run does
# A worker that Dask pauses for its memory would never go on, since what fills it is no data of Dask's: it is let work
# until it is at its limit, dies, and its shard goes to another.
UNPAUSED = ("export DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE=False",)


def lines(*, note: str) -> Any:
    """Some lines of a job script."""

    def check(what: str, value: Any) -> tuple[str, ...]:
        if (
            isinstance(value, str)
            or not isinstance(value, Iterable)
            or not all(isinstance(item, str) for item in value)
        ):
            raise InputError(f"{what} must be a list of lines, not {value!r}: write {what} = ['…']")
        return tuple(value)

    return declare("lines", check, (), note=note)


@dataclass(eq=False)
class Slurm(AbstractPlace):
    """Jobs that SLURM starts while there is work, and that end with it; each has a worker per core.

    This process is the one that hands out shards: let it run on a machine that compute nodes reach, e.g. the front end
    (in tmux) or in a small job of its own. Python and the store's folder are those of this process, on a disk that
    all nodes share.

    >>> Slurm(queue="short", jobs=20).workers
    20
    """

    _: KW_ONLY
    queue: str | None = text(default=None, note="the partition; SLURM's default if it is left out")
    account: str | None = text(default=None, note="whose time it is")
    cores: int = count(default=1, note="of a job: it has as many workers")
    memory: str = text(default="2GB", note="of a job, for all its workers, at least 0.75 GB each")
    walltime: str = text(default="01:00:00", note="of a job; what it cuts off goes on in the next one")
    jobs: int = count(default=10, note="at most so many at a time")
    interface: str | None = text(default=None, note="the network by which nodes reach this machine, e.g. ib0")
    prologue: tuple[str, ...] = lines(note="before the worker is started, e.g. 'module load python'")
    directives: tuple[str, ...] = lines(note="more of #SBATCH, e.g. '--constraint=epyc'")

    def __post_init__(self) -> None:
        check_all(self)
        _check_memory(self.memory, self.cores)
        self._kept: list[Any] = []  # the cluster, its client, and the place that uses it

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> Self:
        """From names and values, e.g. a table of TOML."""
        known = [field.name for field in parameters(cls)]
        for name in table:
            if name not in known:
                raise unknown_name("option of [slurm]", name, known)
        return cls(**table)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """From the table `[slurm]` of a sweep's file; the defaults where it has none."""
        table = tomllib.loads(Path(path).read_text(encoding="utf-8")).get("slurm", {})
        if not isinstance(table, dict):
            raise InputError(f"slurm = {table!r} is no table: write [slurm] and its options below")
        return cls.read(table)

    @property
    def workers(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """When all jobs run."""
        return self.jobs * self.cores

    def run(
        self,
        work: Callable[[Shard], Done],
        shards: Sequence[Shard],
        done: Callable[[Done], None],
        cancel: threading.Event,
    ) -> None:
        if shards and not cancel.is_set():
            self._dask().run(work, shards, done, cancel)

    def close(self) -> None:
        while self._kept:
            self._kept.pop().close()

    def _dask(self) -> DaskCluster:
        """The cluster of these jobs; the first of them is queued when it is first asked for."""
        if not self._kept:
            cluster = self._cluster()
            self._kept.append(cluster)
            _try(cluster.job_script())
            cluster.adapt(minimum_jobs=1, maximum_jobs=self.jobs)
            place = DaskCluster(
                imported("distributed").Client(cluster, set_as_default=False), awaited=f"`squeue`, and {logs()}"
            )
            self._kept.extend([place._given, place])
        return self._kept[-1]

    def _cluster(self) -> Any:
        jobqueue = imported("dask_jobqueue")
        if shutil.which("sbatch") is None:
            raise InputError(
                "sbatch is not on this machine: start the sweep on a front end of the cluster, or leave --slurm out"
            )
        # Networks are rounded as on this machine, whichever cores a node has.
        prologue = [f"export {ROUNDING_CORES}={rounding_cores()}", *UNPAUSED, *self.prologue]
        return jobqueue.SLURMCluster(
            queue=self.queue,
            account=self.account,
            cores=self.cores,
            processes=self.cores,
            memory=self.memory,
            walltime=self.walltime,
            interface=self.interface,
            job_script_prologue=prologue,
            job_extra_directives=list(self.directives),
            log_directory=str(logs()),
            job_name="latebloom",
            scheduler_options={"dashboard": False},
        )


def _check_memory(memory: str, cores: int) -> None:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT])i?B?\s*", memory, re.IGNORECASE)
    if found is None:
        raise InputError(f"memory={memory!r} is not allowed: write it with its unit, e.g. '4GB'")
    if float(found[1]) * 1000 ** (1 + "KMGT".index(found[2].upper())) < LEAST * cores:
        raise InputError(
            f"memory={memory!r} is too little for {cores} workers, which take 0.75 GB each: write memory='{cores}GB'"
        )


def logs() -> Path:
    """Where jobs write what goes wrong in them."""
    import platformdirs

    return platformdirs.user_log_path("latebloom", appauthor=False) / "slurm"


def _try(script: str) -> None:
    """Refuses what SLURM would refuse, which dask-jobqueue would try again for ever."""
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(script)
        file.flush()
        tried = subprocess.run(["sbatch", "--test-only", file.name], capture_output=True, text=True, check=False)
    if tried.returncode:
        said = (tried.stderr.strip() or tried.stdout.strip()).splitlines() or ["no reason"]
        raise InputError(f"SLURM refuses the job ({said[-1].strip()}): see [slurm] in the sweep's file, and `sinfo`")
