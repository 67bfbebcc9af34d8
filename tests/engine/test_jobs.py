"""Jobs are values: text, key, changes, the way back from text; and the front door says what they hold."""

from __future__ import annotations

import dataclasses
import inspect
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import completion, sparse
from plain import RATE

import latebloom as lb
from latebloom.core.fields import describe
from latebloom.engine.job import AbstractJob
from latebloom.engine.training import TrainJob
from latebloom.errors import InputError
from latebloom.probes import Components
from latebloom.problems import DiagonalClassifier, SparseSigns
from latebloom.store import run_key

TRAIN = lb.TrainJob(sparse(), lb.GradientDescent(0.1), lb.L1(1e-3), steps=100, probes=[lb.probes.GradientRatio()])
FLOW = lb.FlowJob(completion(depth=2, width=3), lb.L2(1e-3), time=10.0, learning_rate=0.01)
SLOW = lb.SlowFlowJob(completion(depth=2, width=3), slow_time=10.0, metric=2.0, stop_at="generalised")
POINTS = DiagonalClassifier(SparseSigns(20, 6, test_samples=10))


@pytest.mark.parametrize(
    ("function", "job"), [(lb.train, lb.TrainJob), (lb.flow, lb.FlowJob), (lb.slow_flow, lb.SlowFlowJob)]
)
def test_the_front_door_and_the_job_have_the_same_arguments(function, job):
    """The only place where they stand twice: names, order of the positional ones, defaults."""
    door, fields = inspect.signature(function).parameters, inspect.signature(job).parameters
    extra = {"store", "progress", "weight_decay"}
    assert set(door) - extra == set(fields)
    for name, field in fields.items():
        assert door[name].default == field.default, name
        assert door[name].kind == field.kind, name
    assert not any(parameter.kind is parameter.VAR_KEYWORD for parameter in door.values())
    assert set(door) - {"problem", "method"} <= set(_words(inspect.getdoc(function)))


def _words(text: str | None) -> set[str]:
    return set((text or "").replace("`", " ").replace("=", " ").replace(",", " ").replace(":", " ").split())


@pytest.mark.parametrize("job", [TRAIN, FLOW, SLOW, lb.FlowJob(POINTS, time=10.0)], ids=lambda job: job.kind)
def test_a_job_comes_back_from_its_configuration(job):
    configuration = json.loads(json.dumps(job.configuration()))
    again = AbstractJob.read(configuration)
    assert type(again) is type(job)
    assert again == job
    assert again.key == job.key == run_key(configuration)
    assert set(configuration) == {"kind", "engine", "dynamics", "records", "budget"}


def test_jobs_are_equal_if_they_give_the_same_run():
    again = lb.TrainJob(sparse(), lb.GradientDescent(0.1), lb.L1(1e-3), steps=100, probes=[lb.probes.GradientRatio()])
    assert again == TRAIN
    assert len({again, TRAIN}) == 1
    assert again != TRAIN.but({"steps": 101})
    assert dataclasses.replace(TRAIN, steps=101) == TRAIN.but({"steps": 101})


def test_a_job_with_other_values():
    other = TRAIN.but({"method.learning_rate": 0.05, "problem.seed": 4, "steps": 7})
    assert (other.method.learning_rate, other.problem.seed, other.steps) == (0.05, 4, 7)
    assert other.penalty == TRAIN.penalty
    assert lb.FlowJob(POINTS, time=1.0).but({"problem.data.seed": 3}).problem.data.seed == 3
    assert TRAIN.steps == 100


def test_a_grid_is_every_combination_by_name():
    jobs = lb.grid(TRAIN, {"method.learning_rate": [0.1, 0.05], "problem.seed": range(3)})
    assert len(jobs) == 6
    assert next(iter(jobs)) == "learning_rate=0.1, seed=0"
    assert jobs["learning_rate=0.05, seed=2"] == TRAIN.but({"method.learning_rate": 0.05, "problem.seed": 2})
    runs = lb.run(jobs, progress=False)
    assert list(runs) == list(jobs)


@pytest.mark.parametrize(
    ("values", "words"),
    [([], "the axis 'problem.seed' has no values"), ([1, 2, 1], "two cells of the grid are called 'seed=1'")],
)
def test_an_axis_without_values_or_with_one_twice_is_refused(values, words):
    with pytest.raises(InputError, match=words):
        lb.grid(TRAIN, {"problem.seed": values})


def test_axes_that_end_alike_are_told_apart():
    job = lb.TrainJob(sparse(), lb.LabelNoise(0.005, noise=0.01), steps=3)
    assert list(lb.grid(job, {"problem.seed": [1], "method.seed": [2]})) == ["problem.seed=1, method.seed=2"]


# What "auto" means


def test_auto_takes_the_dual_form_where_it_gives_what_is_asked():
    plain = lb.FlowJob(POINTS, lb.L2(1e-3), time=10.0)
    assert (plain.solver, plain.rtol, plain.max_gradients, plain.records_per_decade) == ("dual", 1e-5, 100_000, 40)
    assert lb.FlowJob(POINTS, time=10.0).solver == "dual"
    asked = lb.FlowJob(POINTS, lb.L2(1e-3), time=10.0, probes=[lb.probes.HomogeneousMargin()])
    assert (asked.solver, asked.rtol, asked.max_gradients, asked.records_per_decade) == ("rkc", 1e-4, 10_000_000, 50)
    assert lb.FlowJob(POINTS, time=10.0, learning_rate=0.1).solver == "rkc"
    assert lb.FlowJob(sparse(), time=10.0).solver == "rkc"
    assert '"solver": "dual"' in plain.text


def test_the_dual_form_gives_the_weights_of_the_network():
    reduced = lb.flow(POINTS, weight_decay=1e-2, time=100.0, rtol=1e-8, atol=1e-10, progress=False)
    direct = lb.flow(POINTS, weight_decay=1e-2, time=100.0, rtol=1e-8, atol=1e-10, solver="rkc", progress=False)
    np.testing.assert_allclose(reduced.params, direct.params, rtol=1e-5)
    assert reduced.final["l2_norm"] == pytest.approx(direct.final["l2_norm"], rel=1e-6)


# Functions of one's own, and the store


def _called_back(w):
    return jax.pure_callback(lambda w: w - 1.0, jax.ShapeDtypeStruct((3,), float), w)


def test_a_function_that_calls_back_into_python_needs_a_name(tmp_path):
    own = lb.problems.LeastSquares(lambda w: w - 1.0, jnp.zeros(3), test=lambda w: _called_back(w)[0])
    job = lb.TrainJob(own, lb.GradientDescent(0.1), steps=5)
    assert not job.portable
    assert TRAIN.portable
    with pytest.raises(InputError, match="functions without a name"):
        lb.run(job, store=tmp_path)
    assert lb.run(job).outcome.complete


def test_a_function_is_known_by_what_it_computes(tmp_path):
    def job(shift, twice=False):
        data = np.full(3, shift)
        own = lb.problems.LeastSquares(lambda w: w - data, jnp.zeros(3), test=lambda w: (1 + twice) * w[0])
        return lb.TrainJob(own, lb.GradientDescent(0.1), steps=5)

    assert job(1.0).key != job(1.0).key  # in one process two functions are two
    assert job(1.0).identified.portable
    assert job(1.0).identified.key == job(1.0).identified.key
    assert len({job(*given).identified.key for given in ((1.0,), (2.0,), (1.0, True))}) == 3
    first, again = (lb.run(job(1.0), store=tmp_path) for _ in range(2))
    assert again.provenance == first.provenance
    assert again.configuration == first.configuration
    other = lb.run(job(2.0), store=tmp_path)
    assert not np.array_equal(other.params, first.params)


def test_a_name_stands_for_functions_in_the_store(tmp_path):
    def job(name, shift=1.0):
        own = lb.problems.LeastSquares(lambda w: w - shift, jnp.zeros(3), name=name)
        return lb.TrainJob(own, lb.GradientDescent(0.1), steps=5)

    assert job("mine").portable
    assert job("mine").key == job("mine").key != job("other").key
    first, again = lb.run(job("mine"), store=tmp_path), lb.run(job("mine"), store=tmp_path)
    assert again.provenance == first.provenance
    other = lb.run(job("other", shift=2.0), store=tmp_path)
    assert not np.array_equal(other.params, first.params)


def test_a_store_is_asked_first_and_told_afterwards(tmp_path):
    first = lb.train(sparse(), lb.GradientDescent(0.1), lb.L1(1e-3), steps=50, store=tmp_path)
    job = lb.TrainJob(sparse(), lb.GradientDescent(0.1), lb.L1(1e-3), steps=50)
    again = lb.run([job, job], store=tmp_path)
    for run in again:
        assert run.provenance == first.provenance  # not computed again
        np.testing.assert_array_equal(run.params, first.params)
    assert lb.load(job.key, tmp_path).configuration == first.configuration


@pytest.mark.parametrize("job", [lb.TrainJob, lb.FlowJob, lb.SlowFlowJob])
def test_every_field_of_a_job_says_what_it_is(job):
    described = describe(job)
    assert [field.name for field in described] == list(inspect.signature(job).parameters)
    assert all(field.note for field in described)
    by_name = {field.name: field for field in described}
    assert by_name["memorised_at"].allowed == "finite and above 0"
    assert by_name["stop_at"].choices == ("memorised", "generalised")


def test_the_configuration_is_everything_that_decides_the_numbers():
    base = {"problem": sparse(), "method": lb.GradientDescent(RATE), "penalty": lb.L1(1e-3), "steps": 10}
    changes = (
        {},
        {"problem": sparse(seed=2)},
        {"method": lb.GradientDescent(0.2)},
        {"method": lb.ProximalGradient(RATE)},
        {"penalty": lb.L2(1e-3)},
        {"penalty": None},
        {"steps": 11},
        {"probes": (Components(),)},
        {"memorised_at": 0.01},
        {"generalised_at": 0.01},
        {"stop_at": "memorised"},
        {"records_per_decade": 10},
    )
    identities = {repr(TrainJob(**(base | change)).configuration()) for change in changes}
    assert len(identities) == len(changes)
