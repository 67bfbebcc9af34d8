"""What grids of learning rates and strengths vary, and the constants of their law in other draws."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Study, any_draw
from latebloom.catalog.beyond_l2.draws import CompletionSettings, SparseSettings
from latebloom.catalog.measures import distance
from latebloom.core.fields import number, numbers
from latebloom.core.spacing import geometric

DRAWS, RECOVERED = "constants of other draws", "draws that can be recovered"
OTHERS, MOST = 48, 6  # draws that are tried, and of which the slow flow is followed


def _finds(oracle, problem, threshold):
    return oracle.solved and distance(oracle.solution, problem.truth) <= threshold / 2


class SparseGrid(SparseSettings):
    learning_rates: tuple[float, ...] = numbers(default=geometric(0.015, 0.15, 6), above=0, note="α")
    strengths: tuple[float, ...] = numbers(default=geometric(2e-6, 2e-5, 6), above=0, note="β, l1")
    slow_time: float = number(default=0.25, above=0, note="αβ·steps: twice that at which the default draw generalises")
    generalised_at: float = number(default=1e-3, above=0, note="relative error of t2")

    def penalty(self, strength):
        return lb.L1(strength)

    def path(self, e):
        """The slow flow of the penalty."""
        return e.cached(self.flow, e.problem())

    @staticmethod
    def flow(problem):
        """The slow flow of the penalty, exactly."""
        return lb.flows.l1_path(problem)

    def recovered(self, problem):
        """Whether the minimum-norm interpolator is the truth, up to half the threshold of t2."""
        return _finds(lb.oracles.basis_pursuit(problem), problem, self.generalised_at)


class CompletionGrid(CompletionSettings):
    learning_rates: tuple[float, ...] = numbers(default=geometric(0.05, 0.5, 5), above=0, note="α")
    strengths: tuple[float, ...] = numbers(default=geometric(3e-5, 3e-4, 5), above=0, note="β, nuclear")
    slow_time: float = number(default=1.0, above=0, note="αβ·steps")
    generalised_at: float = number(default=3e-3, above=0, note="relative error of t2")

    def penalty(self, strength):
        return lb.NuclearNorm(strength)

    def path(self, e):
        """The slow flow of the penalty."""
        return e.cached(self.flow, e.problem())

    @staticmethod
    def flow(problem):
        """The slow flow of the penalty, exactly."""
        return lb.flows.nuclear_path(problem)

    def recovered(self, problem):
        """Whether the minimum-norm interpolator is the truth, up to half the threshold of t2."""
        return _finds(lb.oracles.min_nuclear_norm(problem), problem, self.generalised_at)


def draw_studies(s):
    """Of other draws: which can be recovered; and of the first that can, the slow time of t2 and |â - a*|."""

    def drawn(seed):
        with any_draw():
            return s.but(seed=1000 + OTHERS * s.seed + seed).problem()

    def recovered():
        return {"recovered": np.array([float(s.recovered(drawn(seed))) for seed in range(OTHERS)])}

    def constants():
        rows = []
        for seed in range(OTHERS):
            problem = drawn(seed)
            if len(rows) < MOST and s.recovered(problem):
                slow = s.flow(problem).crossing(np.asarray(problem.truth), s.generalised_at)
                caption = lb.theory.delay_estimate(problem, 1.0, s.penalty(1.0)).step
                rows.append((np.nan if slow is None else slow, caption))
        slow_times, captions = np.array(rows, dtype=float).reshape(-1, 2).T
        return {"slow_time": slow_times, "caption": captions}

    sizes = {name: value for name, value in s.values.items() if not isinstance(value, tuple) and name != "slow_time"}
    identity = {"experiment": "beyond-l2/fig4" if "sparsity" in sizes else "beyond-l2/fig6", "version": 1, **sizes}
    return [
        Study(RECOVERED, identity | {"others": OTHERS}, recovered),
        Study(DRAWS, identity | {"most": MOST, "others": OTHERS}, constants),
    ]
