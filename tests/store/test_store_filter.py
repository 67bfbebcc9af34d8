"""A condition in SQL reads the table of runs and nothing else."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stored_documents import summary, trained

from latebloom.errors import InputError, LatebloomError
from latebloom.store import Store, StoredRun
from latebloom.store import filter as filter_module

Put = Callable[..., StoredRun]


@pytest.fixture
def four(store: Store, put: Put) -> Store:
    """Strengths 1, 2, 3 and none; the first two generalised."""
    for number, t2 in enumerate((1950, 1960, None)):
        put(summary(t2=t2), **trained(penalty=f"l1[strength={number + 1}]"))
    put(summary(t1=None), **trained(penalty=None))
    return store


@pytest.mark.parametrize(
    ("where", "strengths"),
    [
        ("strength < 3 and problem = 'sparse_recovery' and t2 is not null", [1, 2]),
        ("t2 is null", [3, None]),
        ("t2 > 1955 OR strength IN (3)", [2, 3]),
        ("not strength = 2", [1, 3]),  # null is no
        ("strength between 2 and 3 and method like 'gradient%'", [2, 3]),
        ("abs(strength - 2) + 1 > sqrt(1) and learning_rate * strength < 0.25", [1]),
        ("end = 2000 and when > '2020-01-01' and \"when\" < '2021-01-01'", [1, 2, 3, None]),
        ("case when t2 is null then strength = 3 else false end", [3]),
        ("penalty is distinct from 'l1'", [None]),
        ("t2_high = 'inf'", [3, None]),
        ("problem = 'it''s when' or strength = 1 -- and nothing else", [1]),
        ("true", [1, 2, 3, None]),
        ("runs.strength = 1", [1]),
    ],
)
def test_a_condition_chooses_rows(four: Store, where: str, strengths: list[float | None]) -> None:
    assert four.frame(where, columns=["strength"])["strength"].replace({math.nan: None}).tolist() == strengths


NOT_A_CONDITION = [
    ("", "is no condition: write e.g."),
    ("1=1; drop table runs", "is no condition (syntax error at or near"),
    ("strength <", "is no condition (syntax error"),
    ("true /*", "is no condition"),
    ("true order by id", "is no condition"),
    ("true limit 1", "is no condition"),
    ("1=1) union (select 1", "is not allowed (it is more than a condition)"),
    ("true) group by (id", "is not allowed (it is more than a condition)"),
    ("true) having (true", "is not allowed (it is more than a condition)"),
    ("true) qualify (true", "is not allowed (it is more than a condition)"),
    ("true); select 1 where (true", "is not allowed (it is more than a condition)"),
    ("true) order by (id", "is not allowed (it is more than a condition)"),
    ("(select 1 from runs) = 1", "is not allowed (it has a subquery)"),
    ("id in (select content from '{secret}')", "is not allowed (it has a subquery)"),
    ("exists (select * from read_csv('{secret}'))", "is not allowed (it has a subquery)"),
    ("id in (from '{secret}')", "is not allowed (it has a subquery)"),
    ("read_csv('{secret}')", "not read_csv)"),
    ("read_text('{secret}') is not null", "not read_text)"),
    ("getenv('HOME') = ''", "not getenv)"),
    ("current_setting('threads') = '1'", "not current_setting)"),
    ("count(*) > 0", "not count_star)"),
    ("row_number() over () = 1", "is not allowed (it has a window)"),
    ("id = ?", "is not allowed (it has a parameter)"),
    ("#1 = 1", "is not allowed (it has a positional reference)"),
    ("[x for x in [1]] = [1]", "is not allowed (of functions it may have"),
    ("strenght < 1", "unknown column 'strenght': did you mean 'strength'?"),
    ("a.b.c = 1", "unknown column 'a.b.c'"),
    ("id = 1", "has no answer: Conversion Error"),
    ("problem", "has no answer: Conversion Error"),
    ("when > 'yesterday'", "has no answer: Conversion Error"),
]


@pytest.mark.parametrize(("where", "words"), NOT_A_CONDITION, ids=[where for where, _ in NOT_A_CONDITION])
def test_what_is_more_or_less_than_a_condition_is_one_sentence(
    four: Store, tmp_path: Path, where: str, words: str
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("content\nhidden\n")
    with pytest.raises(InputError) as refused:
        four.frame(where.format(secret=secret))
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    "attempt",
    [
        "SELECT * FROM '{secret}'",
        "SELECT * FROM read_csv('{secret}')",
        "COPY (SELECT 1) TO '{secret}.out'",
        "ATTACH '{secret}.db' AS other",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM secret",
    ],
)
def test_what_passed_the_parser_would_still_meet_a_locked_door(tmp_path: Path, attempt: str) -> None:
    """The connection itself, as the condition is answered on it."""
    import duckdb

    file = tmp_path / "secret.csv"
    file.write_text("content\nhidden\n")
    secret = duckdb.sql("SELECT 1 AS a")  # a variable of this process
    connection = filter_module._connection()
    connection.execute("SET lock_configuration = true")
    with pytest.raises(duckdb.Error):
        connection.execute(attempt.format(secret=file)).fetchall()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret.csv"]
    assert secret is not None
    assert secret.fetchall() == [(1,)]


def test_without_duckdb_a_sentence_says_what_to_install(four: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(LatebloomError, match=r"needs DuckDB.*: install it with pip install 'latebloom\[query\]'$"):
        four.frame("t2 is null")
    assert len(four.frame()) == 4  # and the table needs none


@pytest.mark.parametrize("where", [5, None])
def test_only_a_text_is_a_condition(four: Store, where: Any) -> None:
    if where is None:
        assert len(four.frame(where)) == 4
    else:
        with pytest.raises(InputError, match=r"where=5 is no condition"):
            four.frame(where)
