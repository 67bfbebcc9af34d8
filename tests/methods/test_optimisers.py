"""Adam, AdamW and SGD by their names, objects and schedules of optax: the steps of optax and of PyTorch."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from cases import sparse, student
from plain import iterates

import latebloom as lb
from latebloom.core.record import parse
from latebloom.errors import InputError
from latebloom.store import Store

PROBLEM, DECAY = sparse(init_scale=2.0), lb.L2(0.05)
X, Y = np.asarray(PROBLEM.design), np.asarray(PROBLEM.targets)
NAMED = {
    "adam": (lb.Adam(0.02, b1=0.8, eps=1e-6), optax.adam(0.02, b1=0.8, eps=1e-6)),
    "adamw": (lb.AdamW(0.02, weight_decay=0.5, b2=0.99), optax.adamw(0.02, weight_decay=0.5, b2=0.99)),
    "sgd": (lb.SGD(0.05), optax.sgd(0.05)),
    "momentum": (lb.SGD(0.02, momentum=0.9), optax.sgd(0.02, momentum=0.9)),
    "nesterov": (lb.SGD(0.02, momentum=0.9, nesterov=True), optax.sgd(0.02, momentum=0.9, nesterov=True)),
}


def of_optax(transformation, steps: int) -> list[np.ndarray]:
    """Its steps on `F + penalty`, by hand."""
    params = PROBLEM.init()
    state, found = transformation.init(params), []
    slope = jax.grad(lambda w: PROBLEM.loss(w) + DECAY.value(w))
    for _ in range(steps):
        updates, state = transformation.update(slope(params), state, params)
        params = optax.apply_updates(params, updates)
        found.append(np.asarray(params))
    return found


@pytest.mark.parametrize("name", NAMED)
def test_every_step_is_that_of_optax(name):
    method, transformation = NAMED[name]
    found = iterates(method, PROBLEM, DECAY, 30)
    np.testing.assert_allclose(found, of_optax(transformation, 30), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NAMED)
def test_every_step_is_that_of_pytorch(name):
    """Rung 2: PyTorch's own optimisers; the penalty is coupled there as `weight_decay` of Adam and SGD."""
    torch = pytest.importorskip("torch")
    weights = torch.tensor(np.array(PROBLEM.init()), dtype=torch.float64, requires_grad=True)
    coupled = {"weight_decay": DECAY.strength}
    optimiser = {
        "adam": lambda: torch.optim.Adam([weights], 0.02, betas=(0.8, 0.999), eps=1e-6, **coupled),
        "adamw": lambda: torch.optim.AdamW([weights], 0.02, betas=(0.9, 0.99), weight_decay=0.5),
        "sgd": lambda: torch.optim.SGD([weights], 0.05, **coupled),
        "momentum": lambda: torch.optim.SGD([weights], 0.02, momentum=0.9, **coupled),
        "nesterov": lambda: torch.optim.SGD([weights], 0.02, momentum=0.9, nesterov=True, **coupled),
    }[name]()
    penalty = None if name == "adamw" else DECAY
    design, targets, expected = torch.tensor(X), torch.tensor(Y), []
    for _ in range(30):
        optimiser.zero_grad()
        (((design @ weights - targets) ** 2).sum() / 2).backward()
        optimiser.step()
        expected.append(weights.detach().numpy().copy())
    # PyTorch divides by roots in another order: rounding, times 1/eps of Adam's first steps.
    np.testing.assert_allclose(iterates(NAMED[name][0], PROBLEM, penalty, 30), expected, rtol=0, atol=1e-9)


def test_decoupled_decay_is_not_the_penalty():
    """Adam divides the penalty's gradient by its size: the two decays differ by orders of magnitude."""
    ends = [
        iterates(lb.AdamW(0.01, weight_decay=0.5), PROBLEM, None, 50)[-1],
        iterates(lb.Adam(0.01), PROBLEM, lb.L2(0.5), 50)[-1],
    ]
    assert np.linalg.norm(ends[0] - ends[1]) > 0.1 * np.linalg.norm(ends[0])
    nothing = iterates(lb.AdamW(0.01, weight_decay=0.0), PROBLEM, None, 20)
    np.testing.assert_array_equal(nothing, iterates(lb.Adam(0.01), PROBLEM, None, 20))


def test_they_are_read_from_their_text():
    for text in ("adam[0.001]", "adamw[0.001,weight_decay=1.0]", "sgd[0.1,momentum=0.9,nesterov=true]"):
        method = parse(text, lb.methods.TABLE, "method")
        assert parse(method.text, lb.methods.TABLE, "method") == method
    assert parse("adamw[0.001,weight_decay=1.0]", lb.methods.TABLE, "method") == lb.AdamW(1e-3, weight_decay=1.0)


def test_another_rate_compiles_nothing(compiles):
    for method in (lb.Adam, lb.AdamW, lb.SGD):
        lb.train(PROBLEM, method(0.011), steps=20, progress=False)
        with compiles() as count:
            lb.train(PROBLEM, method(0.012), steps=20, progress=False)
        assert count() == 0, method


def test_an_object_of_optax_is_a_method(tmp_path):
    chain = optax.chain(optax.clip(0.5), optax.adam(0.02))
    run = lb.train(PROBLEM, chain, DECAY, steps=30, progress=False)
    np.testing.assert_allclose(run.params, of_optax(chain, 30)[-1], rtol=0, atol=1e-12)
    assert run["time"][-1] == 30, "nobody has told its learning rate: the clock counts steps"
    assert not lb.TrainJob(PROBLEM, chain, steps=1).portable
    named = lb.TrainJob(PROBLEM, lb.Optax(chain, name="clipped"), steps=10)
    assert named.portable
    assert lb.run(named, store=Store(tmp_path)).configuration["dynamics"]["method"] == "optax[name=clipped]"
    assert lb.Minibatch(optax.sgd(0.1), 4) != lb.Minibatch(optax.sgd(0.1), 4), "known by identity"
    assert lb.train(student(), lb.Minibatch(optax.sgd(0.1), 4), steps=3, progress=False).outcome.complete


SCHEDULE = optax.cosine_decay_schedule(0.1, 20)


@pytest.mark.parametrize(
    ("method", "transformation"),
    [
        (lambda: lb.SGD(SCHEDULE, momentum=0.9), lambda: optax.sgd(SCHEDULE, momentum=0.9)),
        (lambda: lb.Adam(SCHEDULE), lambda: optax.adam(SCHEDULE)),
        (lambda: lb.Optax("adamw", SCHEDULE, weight_decay=0.5), lambda: optax.adamw(SCHEDULE, weight_decay=0.5)),
        (lambda: lb.GradientDescent(learning_rate=SCHEDULE), lambda: optax.sgd(SCHEDULE)),
    ],
    ids=["sgd", "adam", "optax by name", "descent"],
)
def test_a_schedule_is_a_learning_rate(method, transformation):
    assert isinstance(method(), lb.Scheduled)
    found = iterates(method(), PROBLEM, DECAY, 25)
    np.testing.assert_allclose(found, of_optax(transformation(), 25), rtol=0, atol=1e-12)


def test_the_clock_of_a_schedule_is_the_sum_of_its_rates():
    run = lb.train(PROBLEM, lb.GradientDescent(SCHEDULE), DECAY, steps=25, progress=False)
    rates = np.array([float(SCHEDULE(step)) for step in range(25)])
    np.testing.assert_allclose(
        run["time"], np.concatenate([[0], np.cumsum(rates)])[run["step"].astype(int)], rtol=1e-12
    )
    np.testing.assert_allclose(run["slow_time"], DECAY.strength * run["time"])
    assert run.provenance["learning_rate"] is None
    with_time = lb.train(PROBLEM, lb.GradientDescent(lambda step: 0.1), steps=25, memorised_at=5.0, progress=False)
    assert with_time.milestones.to_json(None)["memorised"]["time"] is None, "no one rate turns its steps into times"


def test_a_schedule_works_in_single_precision_and_inside_minibatches():
    net = student(precision="float32")
    assert lb.train(net, lb.Adam(SCHEDULE), steps=5, progress=False).outcome.complete
    inside = lb.Minibatch(lb.SGD(SCHEDULE), 4)
    around = lb.Scheduled(lb.Minibatch(lb.SGD(1.0), 4), SCHEDULE)
    ends = [lb.train(student(), method, steps=12, progress=False).final["train_loss"] for method in (inside, around)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-12)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: lb.GradientDescent(lambda step: -0.1), r"schedule\(0\) is -0.1"),
        (lambda: lb.GradientDescent(lambda step: jnp.ones(2)), "a learning rate is one number"),
        (lambda: lb.Scheduled(lb.GradientDescent(1.0), 0.1), "must be a function of the step, not 0.1"),
        (lambda: lb.SGD(0.1, nesterov=True), "give e.g. momentum=0.9"),
        (lambda: lb.Optax("adam"), "adam needs a learning rate"),
        (lambda: lb.Optax("adam", 0.1, name="mine"), "leave name='mine' out"),
        (lambda: lb.train(PROBLEM, "adam", steps=1), "must be a method record, not str: the text .adam. is for"),
        (lambda: parse("scheduled[sgd[1],x]", lb.methods.TABLE, "method"), "no text can hold"),
    ],
)
def test_what_cannot_step_is_refused(build, words):
    with pytest.raises(InputError, match=words):
        build()
