"""A record prints as typed, compares by configuration, and is read back from its text."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from cases import METHODS, OTHERS, PENALTIES, completion, sensing, sparse

import latebloom as lb
from latebloom import methods, penalties, probes, problems
from latebloom.core.record import fingerprint, parse
from latebloom.errors import InputError, UnknownNameError

RECORDS = [
    *(
        pytest.param(case.penalty, penalties.TABLE, id=case.name)
        for case in PENALTIES
        if "#" not in case.penalty.text  # the digest of an array
    ),
    *(pytest.param(case.method, methods.TABLE, id=case.name) for case in METHODS),
    *(
        pytest.param(probe, probes.TABLE, id=probe.text)
        for probe in (
            *probes.ALWAYS,
            *(record for record in OTHERS.values() if record.name() in probes.TABLE and "#" not in record.text),
        )
    ),
    pytest.param(sparse(), problems.TABLE, id="sparse"),
    pytest.param(
        sparse(init_scale=0.1 + 0.2, seed=1_000_000, coherence=1 / 3, depth=2, basis="cosine", init_kind="zeros"),
        problems.TABLE,
        id="sparse-with-long-numbers",
    ),
    pytest.param(completion(), problems.TABLE, id="completion"),
    pytest.param(
        sensing(shape=(4, 6), width=3, coherence=1 / 3, init_scale=0.1 + 0.2, signal_to_noise=1e8),
        problems.TABLE,
        id="sensing-with-long-numbers",
    ),
    pytest.param(lb.L1(1 / 3), penalties.TABLE, id="l1-of-a-third"),
    pytest.param(lb.L1(5e-324), penalties.TABLE, id="l1-of-the-smallest-number"),
]


@pytest.mark.parametrize(("record", "table"), RECORDS)
def test_text_is_read_back(record, table):
    again = parse(record.text, table, "record")
    assert again == record
    assert hash(again) == hash(record)
    assert again.text == record.text
    assert repr(again.parameters()) == repr(record.parameters())
    for mine, its in zip(jax.tree.leaves(again), jax.tree.leaves(record), strict=True):
        np.testing.assert_array_equal(mine, its)


def test_no_noise_is_read_back():
    quiet = sparse(signal_to_noise=np.inf)
    assert parse(quiet.text, problems.TABLE, "problem") == quiet


@pytest.mark.parametrize(("record", "table"), [case for case in RECORDS if "<array" not in repr(case.values[0])])
def test_repr_is_what_you_would_type(record, table):
    names = {cls.__name__: cls for cls in table.values()}
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


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("l3[0.1]", UnknownNameError, "unknown penalty 'l3': did you mean 'l."),
        ("lp[strenght=0.1]", UnknownNameError, "unknown parameter of lp 'strenght': did you mean 'strength'"),
        ("l1[", InputError, r"cannot read penalty 'l1\[': write name\[param=value,\.\.\.\]"),
        ("", InputError, "cannot read penalty ''"),
        ("l1", InputError, "cannot build penalty 'l1': .*strength"),
        (
            "l1[1,2]",
            InputError,
            r"cannot build penalty 'l1\[1,2\]': too many positional arguments; write e.g. l1\[strength",
        ),
        ("l1[-1]", InputError, "strength=-1 is not allowed"),
        ("l1[much]", InputError, "strength must be a number, not 'much'"),
        ("on_parts[l3[0.1],hidden]", UnknownNameError, "unknown penalty 'l3': did you mean 'l."),
        ("on_parts[l1[0.1]]", InputError, "OnParts needs the name of at least one part"),
    ],
)
def test_what_cannot_be_read_says_why(text, kind, message):
    with pytest.raises(kind, match=message):
        parse(text, penalties.TABLE, "penalty")
