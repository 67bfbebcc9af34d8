"""A SLURM cluster of one machine, for as long as a block lasts: Debian's daemons in a network of their own.

`unshare --net python tests/slurm.py FOLDER` starts them (as root, with the packages slurm-wlm and munge), gives a sweep
to SLURM as a user would, kills a worker in the middle, and prints what became of it as JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "squeue", "scancel", "unshare", "ip")
PATIENCE = 180.0  # seconds after which something that ought to happen has not
CONFIGURATION = """
ClusterName=latebloom
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2
ReturnToService=2
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory=4000 State=UNKNOWN
PartitionName=short Nodes={host} Default=YES MaxTime=60 State=UP
"""


def missing() -> str:
    """Why there can be no SLURM here; empty if there can."""
    if os.geteuid():
        return "SLURM's daemons need root"
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking:
        return f"{', '.join(lacking)} not installed: `make slurm` installs Debian's packages slurm-wlm and munge"
    if subprocess.run(["unshare", "--net", "true"], check=False, capture_output=True).returncode:
        return "a private network (unshare --net) is not allowed here"
    return ""


def until(what: Callable[[], object], why: str) -> None:
    """Waits for something that other processes do."""
    end = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > end:
            raise TimeoutError(why)
        time.sleep(0.2)


@contextmanager
def cluster(folder: Path) -> Iterator[None]:
    """munged, slurmctld and slurmd, with everything that they write in a folder; ended in the reverse order."""
    folder.mkdir(mode=0o755, parents=True)
    host = os.uname().nodename.partition(".")[0]
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    cores = len(os.sched_getaffinity(0))
    configuration = folder / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(host=host, folder=folder, cores=cores))
    os.environ["SLURM_CONF"] = str(configuration)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    # The daemons ask for names of the kinds of address that there are, and loopback's own does not count.
    subprocess.run(["ip", "address", "add", "10.77.77.77/32", "dev", "lo"], check=True)
    files = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    munge = [f"--{name}={folder}/munge.{end}" for name, end in files.items()]
    commands = [
        ["munged", "--foreground", "--force", *munge],
        ["slurmctld", "-D", "-f", str(configuration)],
        ["slurmd", "-D", "-f", str(configuration), "-N", host],
    ]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            with (folder / f"{command[0]}.out").open("wb") as out:
                started.append(subprocess.Popen(command, stdout=out, stderr=out))
            if command[0] == "munged":
                until((folder / "munge.socket").exists, "munged does not answer")
        until(lambda: "idle" in said("sinfo", "--noheader", "--format=%T"), "the node does not come up")
        yield
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def said(*command: str) -> str:
    """What a command prints; nothing while the controller is not there."""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def workers() -> list[int]:
    """The processes that compute: of each Dask worker the one below its nanny."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            line, environment = path.read_text(), (path.parent / "environ").read_bytes()
            command = (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        is_job = b"\0SLURM_JOB_ID=" in environment and f"SLURM_CONF={os.environ['SLURM_CONF']}".encode() in environment
        if is_job and b"multiprocessing" in command and b"spawn_main" in command and line:
            found.append(int(path.parent.name))
    return found


SWEEP = """
name = "slurm"
kind = "train"
problem = "sparse_recovery[dimension=20,sparsity=2,measurements=12]"
method = "gradient_descent[learning_rate=0.1]"
penalty = "l1"
steps = 300_000
[axes]
"penalty.strength" = [1e-3, 2e-3]
"problem.seed" = { from = 0, to = 5 }
[slurm]
queue = "short"
cores = 1
memory = "1GB"
walltime = "00:10:00"
jobs = 2
interface = "lo"
"""


def given_to_slurm(folder: Path) -> dict[str, object]:
    """The sweep on SLURM with a worker killed when the first runs are there, beside the same in one process."""
    file, store = folder / "slurm.toml", folder / "store"
    file.write_text(SWEEP)
    wrong = folder / "wrong.toml"
    wrong.write_text(SWEEP.replace('"short"', '"no-such-queue"'))
    sweep = [sys.executable, "-m", "latebloom", "sweep"]
    command = [*sweep, str(wrong), "--slurm", "--store", str(store)]
    refused = subprocess.run(command, check=False, capture_output=True, text=True)
    killed: list[int] = []

    def kill() -> None:
        until(lambda: any((store / "runs").glob("*")) and workers(), "no run comes")
        for worker in workers()[:1]:
            os.kill(worker, signal.SIGKILL)
            killed.append(worker)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    queued: list[str] = []
    command = [*sweep, str(file), "--slurm", "--json", "--store", str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            queued.append(said("squeue", "--noheader", "--format=%j %T"))
            time.sleep(0.5)
        assert process.stdout is not None
        assert process.stderr is not None
        out, err = process.stdout.read(), process.stderr.read()
    killer.join(1)
    until(lambda: not said("squeue", "--noheader").strip(), "jobs are left in the queue")
    alone = [*sweep, str(file), "--json", "--store", str(folder / "alone")]
    subprocess.run(alone, check=True, capture_output=True)
    return {
        "exit": process.returncode,
        "out": out,
        "err": err,
        "refused": [refused.returncode, refused.stderr],
        "killed": len(killed),
        "jobs": max(text.count("latebloom RUNNING") for text in queued),
    }


if __name__ == "__main__":
    where = Path(sys.argv[1])
    with cluster(where / "slurm"):
        print(json.dumps(given_to_slurm(where)))
