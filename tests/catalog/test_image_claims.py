"""The entries on images: a file of the user's own is part of every run's identity; a wrong rescaling is noticed."""

from __future__ import annotations

import numpy as np
import pytest

from latebloom.catalog import ENTRIES, Evidence
from latebloom.catalog.beyond_l2 import equal_functions
from latebloom.catalog.beyond_l2.images import FASTER, LARGE, STRONGER
from latebloom.catalog.beyond_l2.rescaling import FREE
from latebloom.engine.milestones import Milestones, Watch, find
from latebloom.engine.outcome import Ending, Outcome
from latebloom.engine.run import Run
from latebloom.errors import InputError
from latebloom.store import run_key

FIG35, RESCALING = ENTRIES["beyond-l2/fig35"], ENTRIES["beyond-l2/rescaling"]


def keys(path) -> set[str]:
    jobs = FIG35.jobs(FIG35.settings.but(data=str(path)))
    assert all(job.problem.train == 1000 for job in jobs.values())
    return {run_key(job.configuration()) for job in jobs.values()}


def test_a_file_is_part_of_every_run_of_fig35(tmp_path):
    random = np.random.default_rng(0)
    images, labels = random.random((1200, 2, 2)), np.arange(1200) % 3
    np.savez(tmp_path / "one.npz", images=images, labels=labels)
    np.savez(tmp_path / "same.npz", images=images, labels=labels)
    np.savez(tmp_path / "other.npz", images=images[::-1], labels=labels)
    one = keys(tmp_path / "one.npz")
    assert len(one) == 7
    assert keys(tmp_path / "same.npz") == one
    assert not keys(tmp_path / "other.npz") & one
    np.savez(tmp_path / "enough.npz", images=images[:1001], labels=labels[:1001])
    assert len(keys(tmp_path / "enough.npz")) == 7
    np.savez(tmp_path / "few.npz", images=images[:1000], labels=labels[:1000])
    with pytest.raises(InputError, match=r"few\.npz' has too few images: .* name a file of at least 1,001"):
        keys(tmp_path / "few.npz")


def test_sizes_of_fig35_follow_the_data_unless_they_are_set(tmp_path):
    random = np.random.default_rng(0)
    np.savez(tmp_path / "mine.npz", images=random.random((1200, 2, 2)), labels=np.arange(1200) % 3)

    def chosen(**changes):
        job = FIG35.jobs(FIG35.settings.but(**changes))[LARGE]
        return job.problem.train, float(job.penalty.strength), job.steps, 1 - job.generalised_at

    assert chosen() == (200, 1e-3, 5_000, 0.88)
    assert chosen(data=str(tmp_path / "mine.npz")) == (1000, 1e-4, 7_500, 0.85)
    mine = {"data": str(tmp_path / "mine.npz"), "train": 300, "strength": 2e-4, "steps": 70, "reached": 0.5}
    assert chosen(**mine) == (300, 2e-4, 70, 0.5)


def generalised_at(step: float) -> Run:
    """A run with t2 at this step; of infinity, one that never generalises."""
    steps = np.arange(0, 8000, 100)
    error = np.where(steps < step, 0.5, 0.0)
    watches = Watch("memorised", "train_error", 0.1), Watch("generalised", "test_error", 0.1)
    found = [find(watch, steps, error) for watch in watches]
    columns = {"step": steps, "train_error": error, "test_error": error}
    return Run({}, columns, None, Outcome(Ending.FINISHED, 8000, ""), Milestones(*found, None), {})


@pytest.mark.parametrize("data", ["digits", "file.npz"])
@pytest.mark.parametrize(
    ("slower", "faster", "holds"),
    [
        (5000, 3000, True),
        (3000, 5000, False),
        (3000, 3000, False),
        (np.inf, 3000, True),
        (3000, np.inf, False),
        (np.inf, np.inf, False),
    ],
)
@pytest.mark.parametrize("name", [STRONGER, FASTER])
def test_fig35_judges_every_file(name, slower, faster, holds, data):
    """A larger strength or rate is earlier only where its t2 is; a run without t2 is never the earlier one."""
    claim = {STRONGER: "larger-strength-is-earlier", FASTER: "larger-rate-is-earlier"}[name]
    (known,) = (known for known in FIG35.claims if known.id == claim)
    runs = {LARGE: generalised_at(slower), name: generalised_at(faster)}
    measured = known.check(Evidence(FIG35.settings.but(data=data), {}, runs))
    assert measured.value == [slower, faster]
    assert measured.holds == holds


def test_a_wrong_rescaling_is_noticed(monkeypatch):
    """The claims about drawn networks hold as they are, and none does if B is divided by λ instead of λ^L."""
    claims = RESCALING.claims[:4]
    evidence = Evidence(RESCALING.settings.but(seed=11), {}, {})
    assert all(claim.check(evidence).holds for claim in claims)
    wrong = lambda first, second, factor, degree: (factor * first, second / factor)  # noqa: E731
    monkeypatch.setattr(equal_functions, "rescaled", wrong)
    evidence = Evidence(RESCALING.settings.but(seed=12), {}, {})
    assert not any(claim.check(evidence).holds for claim in claims)


def test_descent_on_a_sphere_stays_there_and_goes_down():
    """Its gradient by hand is that of the problem, and it ends at the norm it was given with a smaller loss."""
    problem = RESCALING.jobs(RESCALING.settings.but(units=5, images=30, test_images=20))[FREE].problem
    start = [np.asarray(problem.init()[name]) for name in ("hidden", "output")]
    slopes = equal_functions.loss_slopes(start[0], start[1], problem.train_images, problem.train_labels)
    for name, slope in zip(("hidden", "output"), slopes, strict=True):
        np.testing.assert_allclose(slope, problem.gradient(problem.init())[name], atol=1e-12)
    ends = [equal_functions.on_sphere(problem, 6.0, steps) for steps in (0, 30)]
    assert [np.sqrt(equal_functions.squares(*end)) for end in ends] == pytest.approx([6.0, 6.0])
    before, after = equal_functions.slice_through(problem, ends).train
    assert after < 0.8 * before
