"""A matrix under l1 and under the nuclear norm: where sparsity prevails over rank (Section 3.2)."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings
from latebloom.catalog.bounds import at_least, at_most, holds
from latebloom.catalog.controls import Instead
from latebloom.core.fields import count, number
from latebloom.core.seeds import generator
from latebloom.figures import Figure, panels

SPARSE, DENSE, SPARSE_NUCLEAR = "sparse, l1", "dense, l1", "sparse, nuclear norm"


class SparseMatrixSettings(Settings):
    """Two matrices of the same rank and size, by the same Gaussian measurements without noise."""

    side: int = count(default=10, note="n1 = n2")
    rank: int = count(default=2, note="r; the sparse matrix has as many entries that are not zero, on its diagonal")
    measurements: int = count(default=25, note="N, fewer than the 36 degrees of freedom of a matrix of rank 2")
    learning_rate: float = number(default=0.1, above=0, note="α")
    strength: float = number(default=3e-4, above=0, note="β, of either norm")
    steps: int = count(default=60_000)
    recovered_at: float = number(default=1e-2, above=0, note="relative error of t1 and t2")

    def truth(self, *, sparse):
        """`Σ e_k e_kᵀ`, or the same between random orthonormal vectors."""
        if sparse:
            return np.diag([1.0] * self.rank + [0.0] * (self.side - self.rank)) / np.sqrt(self.rank)
        random = generator(self.seed, "truth")
        u, v = (np.linalg.qr(random.normal(size=(self.side, self.rank)))[0] for _ in range(2))
        return u @ v.T / np.sqrt(self.rank)

    def job(self, penalty, *, sparse):
        """Descent with a penalty on one of the two."""
        truth = self.truth(sparse=sparse)
        random = generator(self.seed, "measurements")
        design = random.normal(size=(self.measurements, self.side, self.side)) / np.sqrt(self.measurements)
        problem = lb.problems.MatrixRegression(
            design, np.einsum("kij,ij->k", design, truth), truth=truth, init_scale=1e-6, seed=self.seed
        )
        return lb.TrainJob(
            problem,
            lb.GradientDescent(self.learning_rate),
            penalty(self.strength),
            steps=self.steps,
            memorised_at=self.recovered_at,
            generalised_at=self.recovered_at,
        )


sparse_matrix = Entry(
    "beyond-l2/sparse-matrix",
    "A matrix under l1: grokking only where it is extremely sparse",
    "With l1 a matrix of two entries is found from 25 measurements, too few for its rank; a dense one is not.",
    source="Section 3.2",
    seconds=5,
    settings=SparseMatrixSettings(),
    notes=(
        "A matrix with two entries on its diagonal has rank 2 as well: counted by rank it has 36 degrees of freedom, "
        "counted by entries a handful. With 25 Gaussian measurements l1 finds it, and the nuclear norm cannot.",
    ),
)


@sparse_matrix.runs
def sparse_matrix_runs(s):
    return {
        SPARSE: s.job(lb.L1, sparse=True),
        DENSE: s.job(lb.L1, sparse=False),
        SPARSE_NUCLEAR: s.job(lb.NuclearNorm, sparse=True),
    }


@sparse_matrix.claim(
    holds("t2/t1 at least {ratio:g}, both at relative error 1e-2", ratio=10),
    rate=0.9,
    control=Instead({SPARSE: DENSE}),
)
def extremely_sparse_groks(e, ratio):
    """With l1 alone there is grokking if the matrix is extremely sparse."""
    found = e[SPARSE].milestones.ratio
    return found, bool(found and found >= ratio)


@sparse_matrix.claim(at_least(0.3), "recovery error at the end", rate=0.9, control=Instead({DENSE: SPARSE}))
def dense_does_not(e):
    """Otherwise there is none, although the rank is the same."""
    return e[DENSE].final["test_error"]


@sparse_matrix.claim(
    at_least(0.3),
    "recovery error of the sparse matrix at the end, with the nuclear norm,",
    rate=0.9,
    control=Instead({SPARSE_NUCLEAR: SPARSE}),
)
def sparsity_prevails(e):
    """There the notion of sparsity prevails over that of rank: the nuclear norm does not find the matrix."""
    return e[SPARSE_NUCLEAR].final["test_error"]


@sparse_matrix.claim(at_most(1e-2), "relative training error at the end, the largest of the three,")
def all_memorise(e):
    """All three memorise."""
    return max(float(run.final["train_error"]) for run in e.runs.values())


@sparse_matrix.figure
def sparse_matrix_figure(e):
    return Figure([[panels.errors(run, title=name) for name, run in e.runs.items()]])
