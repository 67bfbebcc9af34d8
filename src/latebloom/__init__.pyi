"""The public names."""

from . import (
    bench,
    catalog,
    figures,
    flows,
    laws,
    methods,
    oracles,
    penalties,
    probes,
    problems,
    store,
    sweeps,
    theory,
    zero_loss,
)
from .catalog.reproduction import reproduce
from .engine.grid import Grid, grid
from .engine.milestones import Milestones
from .engine.outcome import Ending, Outcome
from .engine.run import Run
from .engine.storage import load, run
from .engine.training import TrainJob, train
from .flows.gradient.job import FlowJob, flow
from .flows.slow.job import SlowFlowJob, slow_flow
from .methods import (
    SGD,
    AcceleratedProximalGradient,
    Adam,
    AdamW,
    GradientDescent,
    LabelNoise,
    LogLossDescent,
    Minibatch,
    Optax,
    ProjectedSubgradient,
    ProximalGradient,
    Scheduled,
)
from .penalties import L1, L2, L2Norm, Lp, NuclearNorm, OnParts, WeightedL2
from .store import Store
from .sweeps.definition import Sweep
from .sweeps.running import sweep

__version__: str
__all__ = [
    "L1",
    "L2",
    "SGD",
    "AcceleratedProximalGradient",
    "Adam",
    "AdamW",
    "Ending",
    "FlowJob",
    "GradientDescent",
    "Grid",
    "L2Norm",
    "LabelNoise",
    "LogLossDescent",
    "Lp",
    "Milestones",
    "Minibatch",
    "NuclearNorm",
    "OnParts",
    "Optax",
    "Outcome",
    "ProjectedSubgradient",
    "ProximalGradient",
    "Run",
    "Scheduled",
    "SlowFlowJob",
    "Store",
    "Sweep",
    "TrainJob",
    "WeightedL2",
    "bench",
    "catalog",
    "figures",
    "flow",
    "flows",
    "grid",
    "laws",
    "load",
    "methods",
    "oracles",
    "penalties",
    "probes",
    "problems",
    "reproduce",
    "run",
    "slow_flow",
    "store",
    "sweep",
    "sweeps",
    "theory",
    "train",
    "zero_loss",
]
