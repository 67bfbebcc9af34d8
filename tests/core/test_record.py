"""A record prints as typed, compares by configuration, and is read back from its text."""

from __future__ import annotations

import inspect
import json
import math
import pickle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import RECORDS, completion, sensing, sparse, without_a_case

import latebloom as lb
from latebloom import methods, penalties, probes, problems
from latebloom.core.record import Record, concrete, fingerprint, parse
from latebloom.errors import CapabilityError

TABLES = {
    penalties.AbstractPenalty: penalties.TABLE,
    methods.AbstractMethod: methods.TABLE,
    probes.AbstractProbe: probes.TABLE,
    problems.AbstractProblem: problems.TABLE,
    problems.AbstractPoints: concrete(problems.AbstractPoints),
}


def over(records: dict[str, Record]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("record", [pytest.param(record, id=key) for key, record in records.items()])


OF_FUNCTIONS = {
    key: record for key, record in RECORDS.items() if isinstance(record, problems.LeastSquares | lb.Scheduled)
}
# A text has the digest of a long array, and a function's number in this process.
READABLE = {key: record for key, record in RECORDS.items() if "#" not in record.text and key not in OF_FUNCTIONS}


def base_of(record: Record) -> type[Record]:
    return next(base for base in TABLES if isinstance(record, base))


def assert_same(mine: Record, its: Record) -> None:
    """Equal in configuration, structure and every leaf."""
    assert mine == its
    assert hash(mine) == hash(its)
    assert mine.text == its.text
    assert repr(mine.parameters()) == repr(its.parameters())
    assert jax.tree.structure(mine) == jax.tree.structure(its)
    for one, other in zip(jax.tree.leaves(mine), jax.tree.leaves(its), strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_class_is_among_the_records():
    sentences = [without_a_case(base, RECORDS.values(), "tests/cases") for base in TABLES]
    assert not any(sentences), "\n".join(filter(None, sentences))


@over(READABLE)
def test_a_text_is_read_back(record):
    assert_same(parse(record.text, TABLES[base_of(record)], "record"), record)


@over({key: record for key, record in RECORDS.items() if key not in OF_FUNCTIONS})
def test_a_plain_form_is_read_back(record):
    plain = json.loads(json.dumps(record.to_plain(), allow_nan=False))
    assert_same(base_of(record).from_plain(plain), record)


@over(OF_FUNCTIONS)
def test_a_function_has_no_plain_form(record):
    with pytest.raises(CapabilityError, match=r"has no plain form: its (residuals|schedule) is a function of this"):
        record.to_plain()


@over(RECORDS)
def test_a_pickle_is_the_same_record(record):
    """Functions too, as long as they are found by their name: it is what a worker process is sent."""
    assert_same(pickle.loads(pickle.dumps(record)), record)


@over(RECORDS)
def test_nothing_changed_is_the_same_record(record):
    assert_same(record.but(), record)


@over({key: record for key, record in READABLE.items() if "<array" not in repr(record)})
def test_repr_is_what_you_would_type(record):
    names = {cls.__name__: cls for table in TABLES.values() for cls in table.values()}
    assert eval(repr(record), names) == record  # the point of the test


@pytest.mark.parametrize(
    "record",
    [
        lb.L1(1e-5) + lb.L2(1e-3),
        lb.OnParts(lb.L1(1e-5), "embedding"),
    ],
    ids=lambda record: record.name(),
)
def test_repr_of_a_composition_is_what_you_would_type(record):
    names = {name: getattr(penalties, name) for name in ("L1", "L2", "OnParts", "Sum")}
    assert eval(repr(record), names) == record


def test_the_text_is_short_and_exact():
    assert lb.L1(1e-5).text == "l1[strength=1e-05]"
    assert lb.L1(0.1 + 0.2).text == "l1[strength=0.30000000000000004]"
    assert probes.TrainLoss().text == "train_loss"
    assert lb.OnParts(lb.L1(0.5), "a", "b").text == "on_parts[penalty=l1[strength=0.5],parts=('a' 'b')]"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lb.L1(0.1), lb.L2(0.1)),
        (lb.L1(0.1), lb.L1(np.nextafter(0.1, 1))),
        (lb.Lp(0.1, p=0.3), lb.Lp(0.1, p=0.5)),
        (lb.L1(0.1) + lb.L2(0.1), lb.L1(0.1) + lb.L2(0.2)),
        (lb.NuclearNorm(0.1), lb.L2Norm(0.1)),
        (lb.OnParts(lb.L1(0.1), "a"), lb.OnParts(lb.L1(0.1), "b")),
        (lb.GradientDescent(0.1), lb.ProximalGradient(0.1)),
        (lb.Optax("adam", 0.1), lb.Optax("adam", 0.1, b1=0.8)),
        (sparse(), sparse(seed=2)),
        (completion(), completion(width=5)),
        (completion(), completion(observed=25)),
        (sensing(), sensing(normalise="columns")),
        (problems.LinearRegression([[1.0]], [1.0]), problems.LinearRegression([[1.0]], [2.0])),
        (probes.DistanceTo("a", [1.0]), probes.DistanceTo("a", [2.0])),
    ],
    ids=lambda record: record.name(),
)
def test_another_configuration_is_another_record(first, second):
    assert first != second
    assert len({first, second}) == 2
    assert first != first.text


def test_equal_configurations_are_one_record():
    assert lb.L1(1) == lb.L1(1.0)
    assert len({sparse(), sparse(), sparse(seed=1.0)}) == 1
    data = np.arange(6.0).reshape(2, 3)
    assert problems.LinearRegression(data, [1, 2]) == problems.LinearRegression(data.tolist(), [1.0, 2.0])


def test_records_are_frozen():
    with pytest.raises(AttributeError, match="cannot assign to field"):
        lb.L1(0.1).strength = 0.2


def test_fingerprints_tell_shapes_and_values_apart():
    data = np.arange(6.0)
    prints = {fingerprint(a) for a in (data, data.reshape(2, 3), data + 1e-15, data.astype(np.float32))}
    assert len(prints) == 4
    assert fingerprint(data.reshape(2, 3).T.copy().T) == fingerprint(data.reshape(2, 3))


def test_positional_values_spaces_and_dashes_are_read():
    assert parse(" lp[ 1e-5 , p = 0.3 ] ", penalties.TABLE, "penalty") == lb.Lp(1e-5, p=0.3)
    assert parse("gradient-descent[0.1]", methods.TABLE, "method") == lb.GradientDescent(0.1)
    assert parse("sparse_recovery[init-kind=zeros]", problems.TABLE, "problem").init_kind == "zeros"


def test_records_inside_records_are_read():
    some = lb.OnParts(lb.L1(1e-3), "embedding", "hidden")
    assert parse("on_parts[l1[1e-3],embedding,hidden]", penalties.TABLE, "penalty") == some
    assert parse(some.text, penalties.TABLE, "penalty") == some
    batches = lb.Minibatch(lb.Optax("adam", learning_rate=1e-2, b1=0.8), 32, seed=2**40)
    assert parse("minibatch[optax[adam,0.01,b1=0.8],32,seed=1099511627776]", methods.TABLE, "method") == batches
    assert parse(batches.text, methods.TABLE, "method") == batches
    net = parse("modular_classifier[5,8,ordered=false,train_share=0.9]", problems.TABLE, "problem")
    assert net == lb.problems.ModularClassifier(5, 8, ordered=False, train_share=0.9)


def test_but_changes_what_is_named():
    assert completion().but(rank=1, width=3, depth=2) == completion(rank=1, width=3)
    assert lb.Optax("adam", 0.1, b1=0.8).but(b1=0.7, b2=0.9) == lb.Optax("adam", 0.1, b1=0.7, b2=0.9)
    assert lb.OnParts(lb.L1(0.1), "a").but(parts=("b", "c")) == lb.OnParts(lb.L1(0.1), "b", "c")


def test_a_seed_that_follows_goes_on_following():
    net = lb.problems.ModularNet(7, 24)
    assert net.but(seed=3) == lb.problems.ModularNet(7, 24, seed=3)
    assert net.but(seed=3).init_seed == 3
    apart = lb.problems.ModularNet(7, 24, init_seed=5)
    assert apart.but(seed=3) == lb.problems.ModularNet(7, 24, seed=3, init_seed=5)


def test_entries_are_the_same_in_any_order():
    entries, observed = [(1, 0), (0, 0), (0, 1)], [3.0, 1.0, 2.0]
    mine = lb.problems.ObservedEntries((2, 2), entries, observed)
    assert mine.but() == mine == lb.problems.ObservedEntries((2, 2), entries[::-1], observed[::-1])


def test_infinity_has_a_plain_form():
    quiet = sparse(signal_to_noise=math.inf)
    assert quiet.to_plain()["signal_to_noise"] == "inf"
    assert Record.from_plain(quiet.to_plain()) == quiet


def test_arrays_are_typed_as_tuples():
    typed = parse("weighted_l2[0.1,weights=(1 2.5 3)]", penalties.TABLE, "penalty")
    assert typed == lb.WeightedL2(0.1, [1.0, 2.5, 3.0])
    assert parse(typed.text, penalties.TABLE, "penalty") == typed


@pytest.mark.parametrize("parts", [("a b",), ("it's", 'a "b"'), ("x,y", "u=v", "(p)", "[q]"), ("true", "1e3")], ids=str)
def test_names_of_parts_are_read_back_whatever_they_are(parts):
    record = lb.OnParts(lb.L1(0.1), *parts)
    assert_same(parse(record.text, penalties.TABLE, "penalty"), record)


def test_a_class_of_a_users_own_may_have_a_constructor():
    class Mine(penalties.AbstractPenalty):
        size: Any

        def __init__(self, size: float):
            self.size = 2 * size

        def value(self, params):
            return self.size

        def subgradient(self, params):
            return params

        @property
        def strengths(self):
            return ()

    assert Mine(1.5).text == "mine[size=3]"
    assert list(inspect.signature(Mine).parameters) == ["size"]


def test_large_seeds_are_told_apart():
    texts = {lb.problems.SparseRecovery(20, 2, 12, seed=2**60 + k).text for k in range(3)}
    assert len(texts) == 3


def test_functions_do_not_outlive_their_use():
    import gc
    import weakref

    def residuals(w):
        return w - 1.0

    problem = lb.problems.LeastSquares(residuals, jnp.ones(2))
    assert "residuals" in problem.text
    seen = weakref.ref(residuals)
    del problem, residuals
    gc.collect()
    assert seen() is None
