"""latebloom: a laboratory for delayed generalisation (grokking).

The public names, one by one. They are loaded when first used, so that `import latebloom`
and `latebloom --help` do not wait for JAX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from latebloom import figures, flows, methods, oracles, penalties, probes, problems, theory, zero_loss
    from latebloom.engine.milestones import Milestones
    from latebloom.engine.outcome import Outcome
    from latebloom.engine.run import Run
    from latebloom.engine.storage import load, save
    from latebloom.engine.training import Job, train, train_batch
    from latebloom.flows import DualFlowJob, FlowJob, SlowFlowJob, dual_flow, flow, flow_batch, slow_flow
    from latebloom.methods import (
        AcceleratedProximalGradient,
        GradientDescent,
        LabelNoise,
        LogLossDescent,
        Minibatch,
        Optax,
        ProjectedSubgradient,
        ProximalGradient,
    )
    from latebloom.penalties import L1, L2, L2Norm, Lp, NuclearNorm, OnParts, WeightedL2
    from latebloom.store import Store

_HOMES = {
    "problems": "latebloom.problems",
    "penalties": "latebloom.penalties",
    "methods": "latebloom.methods",
    "probes": "latebloom.probes",
    "theory": "latebloom.theory",
    "oracles": "latebloom.oracles",
    "figures": "latebloom.figures",
    "zero_loss": "latebloom.zero_loss",
    "AcceleratedProximalGradient": "latebloom.methods",
    "GradientDescent": "latebloom.methods",
    "LabelNoise": "latebloom.methods",
    "LogLossDescent": "latebloom.methods",
    "Minibatch": "latebloom.methods",
    "Optax": "latebloom.methods",
    "ProjectedSubgradient": "latebloom.methods",
    "ProximalGradient": "latebloom.methods",
    "L1": "latebloom.penalties",
    "L2": "latebloom.penalties",
    "L2Norm": "latebloom.penalties",
    "Lp": "latebloom.penalties",
    "NuclearNorm": "latebloom.penalties",
    "OnParts": "latebloom.penalties",
    "WeightedL2": "latebloom.penalties",
    "Job": "latebloom.engine.training",
    "Milestones": "latebloom.engine.milestones",
    "Outcome": "latebloom.engine.outcome",
    "Run": "latebloom.engine.run",
    "DualFlowJob": "latebloom.flows",
    "FlowJob": "latebloom.flows",
    "dual_flow": "latebloom.flows",
    "flow": "latebloom.flows",
    "flow_batch": "latebloom.flows",
    "flows": "latebloom.flows",
    "SlowFlowJob": "latebloom.flows",
    "slow_flow": "latebloom.flows",
    "load": "latebloom.engine.storage",
    "save": "latebloom.engine.storage",
    "Store": "latebloom.store",
    "train": "latebloom.engine.training",
    "train_batch": "latebloom.engine.training",
}
__version__ = "0.1.0"
__all__ = [
    "L1",
    "L2",
    "AcceleratedProximalGradient",
    "DualFlowJob",
    "FlowJob",
    "GradientDescent",
    "Job",
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
    "SlowFlowJob",
    "Store",
    "WeightedL2",
    "dual_flow",
    "figures",
    "flow",
    "flow_batch",
    "flows",
    "load",
    "methods",
    "oracles",
    "penalties",
    "probes",
    "problems",
    "save",
    "slow_flow",
    "theory",
    "train",
    "train_batch",
    "zero_loss",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"latebloom has no {name!r}; its names: {', '.join(__all__)}")
    module = importlib.import_module(home)
    return module if home.rpartition(".")[2] == name else getattr(module, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
