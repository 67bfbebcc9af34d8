"""How one discrete step is made."""

from latebloom.core.record import concrete
from latebloom.methods.accelerated_proximal_gradient import AcceleratedProximalGradient
from latebloom.methods.adam import Adam, AdamW
from latebloom.methods.base import AbstractMethod, State
from latebloom.methods.gradient_descent import GradientDescent
from latebloom.methods.label_noise import LabelNoise
from latebloom.methods.log_loss_descent import LogLossDescent
from latebloom.methods.minibatch import Minibatch
from latebloom.methods.optax import Optax
from latebloom.methods.projected_subgradient import ProjectedSubgradient
from latebloom.methods.proximal_gradient import ProximalGradient
from latebloom.methods.scheduled import Scheduled
from latebloom.methods.sgd import SGD

TABLE = concrete(AbstractMethod)  # what the command line can build by name

__all__ = [
    "SGD",
    "TABLE",
    "AbstractMethod",
    "AcceleratedProximalGradient",
    "Adam",
    "AdamW",
    "GradientDescent",
    "LabelNoise",
    "LogLossDescent",
    "Minibatch",
    "Optax",
    "ProjectedSubgradient",
    "ProximalGradient",
    "Scheduled",
    "State",
]
