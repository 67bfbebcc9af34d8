"""A run as a row: every parameter of its text, its milestones with their brackets, and nothing that is not there."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from cases import RECORDS
from stored_documents import summary, trained

from latebloom.core.record import Record
from latebloom.errors import LatebloomWarning, UnknownNameError
from latebloom.store import Store, StoredRun
from latebloom.store.facts import facts_of

Put = Callable[..., StoredRun]


def test_a_run_is_a_row(store: Store, put: Put) -> None:
    run = put(summary(test_error=math.nan), **trained())
    frame = store.frame()
    row = frame.iloc[0]
    assert list(frame.columns)[:6] == ["id", "kind", "problem", "method", "penalty", "solver"]
    told = ["id", "kind", "problem", "method", "penalty", "outcome"]
    assert row[told].tolist() == [run.id, "train", "sparse_recovery", "gradient_descent", "l1", "finished"]
    numbers = {"dimension": 20, "seed": 1, "learning_rate": 0.1, "strength": 1e-3, "steps": 2000, "memorised_at": 1e-3}
    numbers |= {"t1": 59, "t1_low": 57, "t1_high": 59, "t2_low": 2000, "t2_high": math.inf, "end": 2000}
    numbers |= {"seconds": 0.5, "gradients": 2000, "final_step": 2000}
    assert row[list(numbers)].to_dict() == numbers
    assert frame[["t2", "solver"]].isna().to_numpy().all()
    assert row["when"].to_pydatetime() == datetime.fromtimestamp(1_600_000_000)
    assert frame["t2"].dtype == np.float64
    assert not {"stop_at", "final_test_error"} & set(frame.columns)  # nobody has one


def test_rows_are_oldest_first_and_columns_as_asked(store: Store, put: Put) -> None:
    runs = [put(summary(t2=t2), **trained(penalty=f"l1[strength={t2}]")) for t2 in (1950, 1960)]
    frame = store.frame(columns=["strength", "id"])
    assert frame.to_dict("list") == {"strength": [1950, 1960], "id": [run.id for run in runs]}
    with pytest.raises(UnknownNameError, match=r"unknown column 'strenght': did you mean 'strength'\? See all"):
        store.frame(columns=["strenght"])


def test_an_empty_store_has_a_table_without_rows(store: Store) -> None:
    assert list(store.frame().columns)[:2] == ["id", "kind"]
    assert len(store.frame("strength < 1")) == 0
    assert not store.path.exists()


def test_two_parts_of_one_name_have_a_column_each(store: Store, put: Put) -> None:
    put(summary(), **trained(method="label_noise[learning_rate=0.1,noise=0.2,batch=one,seed=7]"))
    put(summary(), **trained("sparse_recovery[dimension=20,seed=2]"))
    frame = store.frame(columns=["seed", "problem_seed", "method_seed"])
    assert frame["seed"].tolist() == frame["problem_seed"].tolist() == [1, 2]
    assert frame["method_seed"].tolist()[0] == 7
    assert frame["method_seed"].isna().tolist() == [False, True]


def test_wrapped_records_and_sums(store: Store, put: Put) -> None:
    wrapped = "minibatch[method=optax[optimiser=adam,learning_rate=0.01,b1=0.8],size=4,seed=2]"
    put(summary(), **trained("diagonal_classifier[data=sparse_signs[dimension=8,seed=0],depth=1]", method=wrapped))
    put(summary(), **trained(penalty="sum[terms=(l1[strength=0.3] l2[strength=0.7] l1[strength=0.1])]"))
    put(summary(), **trained(penalty="on_parts[penalty=sum[terms=(l1[strength=0.3])],parts=('a' 'b c')]"))
    frame = store.frame()
    first = {
        "problem": "diagonal_classifier",
        "data": "sparse_signs",
        "dimension": 8,
        "depth": 1,
        "method": "minibatch",
    }
    first |= {"method": "minibatch", "method_method": "optax", "optimiser": "adam", "b1": 0.8, "size": 4, "seed": 0}
    assert frame.iloc[0][[*first, "method_seed"]].to_dict() == first | {"method_seed": 2}
    second = {"penalty": "sum", "terms": "l1 l2 l1_2", "l1_strength": 0.3, "l2_strength": 0.7, "l1_2_strength": 0.1}
    assert frame.iloc[1][list(second)].to_dict() == second
    assert frame["strength"].isna().tolist() == [False, True, True]
    third = {"penalty": "on_parts", "penalty_penalty": "sum", "l1_strength": 0.3, "parts": "('a' 'b c')"}
    assert frame.iloc[2][list(third)].to_dict() == third


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS.keys())
def test_every_record_is_read_off_its_text(record: Record) -> None:
    """The numbers and switches that the record itself has, at every depth."""

    def leaves(path: str, one: Record) -> dict[str, Any]:
        found: dict[str, Any] = {path: one.name()}
        for name, value in one.identity().items():
            if isinstance(value, Record):
                found |= leaves(f"{path}.{name}", value)
            elif isinstance(value, bool | int | float):
                found[f"{path}.{name}"] = value
        return found

    run = StoredRun("0" * 16, "live", trained(record.text), {}, folder=None, modified=0.0)  # pyright: ignore[reportArgumentType]
    facts = facts_of(run)
    wanted = leaves("problem", record)
    assert {path: facts[path] for path in wanted} == wanted


def test_a_column_holds_what_its_rows_have(store: Store, put: Put) -> None:
    """Whole numbers stay whole, also where a float would round them; numbers beside texts become texts."""
    put(summary(), **trained("p[seed=1152921504606846977,width=3,mixed=1,flag=true]"))
    put(summary(), **trained("p[seed=1,width=2.5,mixed=a,flag=false]"))
    frame = store.frame()
    assert frame["seed"].tolist() == [1152921504606846977, 1]
    assert frame["width"].tolist() == [3.0, 2.5]
    assert frame["mixed"].tolist() == ["1", "a"]
    assert frame["flag"].tolist() == [True, False]


def test_what_did_not_end_has_no_result_and_a_table_is_no_run(store: Store, put: Put) -> None:
    put({"complete": True}, study="numbers")
    put({"complete": False, "recovered": True}, **trained())
    with store.begin(trained("q")) as live:
        live.append({"step": np.arange(3)})
        frame = store.frame()
        assert frame["outcome"].tolist() == ["recovered", "live"]
        assert frame[["t1", "t2_low", "t2_high", "end", "seconds"]].isna().to_numpy().all()
    assert store.frame()["outcome"].tolist() == ["recovered", "abandoned"]


@pytest.mark.parametrize(
    "change",
    [
        lambda told: told.pop("outcome"),
        lambda told: told["outcome"].update(ending=3),
        lambda told: told["milestones"].update(memorised=7),
        lambda told: told["milestones"]["memorised"].update(last_step="soon"),
        lambda told: told["provenance"].update(seconds=None),
        lambda told: told.update(final=[1.0]),
    ],
)
def test_a_summary_of_another_shape_is_no_row(store: Store, put: Put, change: Callable[[dict[str, Any]], Any]) -> None:
    good, told = put(summary(), **trained()), summary()
    change(told)
    other = put(told, **trained("q"))
    with pytest.warns(LatebloomWarning, match=f"run {other.id} was made by a newer version of latebloom"):
        assert store.frame()["id"].tolist() == [good.id]
    (other.folder / "checksums.json").unlink()
    with pytest.warns(LatebloomWarning, match=rf"run {other.id} is damaged \(.+\): moved to"):
        assert store.frame()["id"].tolist() == [good.id]
    assert store.frame()["id"].tolist() == [good.id]
