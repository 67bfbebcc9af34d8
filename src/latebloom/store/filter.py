"""A condition in SQL on the table of runs, through DuckDB: one WHERE over this table, which reads nothing else.

Three doors are shut one behind the other: DuckDB's parser must find one SELECT with nothing but a condition in it; of
that condition every part must be of a kind listed here (no subquery, no table function, no setting); and the connection
that answers is in memory, without access to files, network or extensions, its configuration locked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from latebloom.errors import InputError, LatebloomError
from latebloom.store.frame import known_column, named, shown

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = "runs"
# What a condition may be made of, by DuckDB's names. Not: SUBQUERY, WINDOW, PARAMETER, STAR, LAMBDA, POSITIONAL_REF.
_CLASSES = {"COLUMN_REF", "CONSTANT", "COMPARISON", "CONJUNCTION", "OPERATOR", "BETWEEN", "FUNCTION", "CAST", "CASE"}
_CLASSES |= {"TYPE"}
_OPERATORS = {"+", "-", "*", "/", "//", "%", "**", "^", "~~", "!~~", "~~*", "!~~*"}
FUNCTIONS = (
    *("abs", "ceil", "coalesce", "contains", "ends_with", "exp", "floor", "greatest", "isfinite", "isinf", "least"),
    *("length", "ln", "log", "log10", "log2", "lower", "pow", "power", "regexp_matches", "round", "sqrt"),
    *("starts_with", "upper"),
)
_CLAUSES = ("group_expressions", "group_sets", "having", "sample", "qualify", "modifiers")
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "threads": "1",
}
# Words of SQL that are columns here; in a condition with a CASE they are what they are there.
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\b(?:when|end)\b", re.IGNORECASE)
EXAMPLE = "strength < 1e-4 and problem = 'sparse_recovery' and t2 is null"


def met(table: pa.Table, where: str) -> pa.Array:
    """Which rows of a table by its paths meet a condition on its columns as they are shown; null is no."""
    import pyarrow as pa

    connection = _connection()
    text = _quoted(where)
    names = _names(connection, text, where)
    known = shown(table)
    if not len(table):  # without a run nothing says which parameters there are
        return pa.array([], pa.bool_())
    used = [known_column(name, known) for name in names] or ["id"]
    import duckdb

    connection.register(TABLE, named(table, used))
    connection.execute("SET lock_configuration = true")
    try:
        rows = connection.execute(f"SELECT coalesce(CAST((\n{text}\n) AS BOOLEAN), false) FROM {TABLE}").fetchnumpy()
        return pa.array(next(iter(rows.values())), pa.bool_())
    except duckdb.Error as error:
        raise InputError(f"the condition {where!r} has no answer: {_first_line(error)}") from None
    finally:
        connection.close()


def _connection() -> Any:
    try:
        import duckdb
    except ImportError:
        raise LatebloomError(
            "a condition in SQL needs DuckDB, which is not installed: install it with pip install 'latebloom[query]'"
        ) from None
    connection = duckdb.connect(":memory:", config=_SETTINGS)
    connection.execute("SET python_enable_replacements = false")  # variables of this process are no tables
    return connection


def _quoted(where: str) -> str:
    """The condition with the columns `when` and `end` in quotes, unless it has a CASE … WHEN … END."""
    if not isinstance(where, str) or not where.strip():
        raise InputError(f"where={where!r} is no condition: write e.g. {EXAMPLE!r}")
    if re.search(r"\bcase\b", where, re.IGNORECASE):
        return where
    return _QUOTED.sub(lambda match: match[0] if match[0][0] in "'\"" else f'"{match[0].lower()}"', where)


def _names(connection: Any, text: str, where: str) -> list[str]:
    """The columns that the condition speaks of; a text that is more than a condition is refused."""
    ((answer,),) = connection.execute(
        "SELECT json_serialize_sql(?)", [f"SELECT 1 FROM {TABLE} WHERE (\n{text}\n)"]
    ).fetchall()
    parsed = json.loads(answer)
    if parsed["error"]:
        raise InputError(f"{where!r} is no condition ({_first_line(parsed['error_message'])}): write e.g. {EXAMPLE!r}")
    statements = [statement["node"] for statement in parsed["statements"]]
    if len(statements) != 1 or not _is_plain(statements[0]):
        raise _refused(where, "it is more than a condition")
    names: dict[str, None] = {}
    for node in _nodes(statements[0]["where_clause"]):
        if node["class"] not in _CLASSES or node.get("type") == "VALUE_PARAMETER":
            raise _refused(where, f"it has a {node['class'].lower().replace('_', ' ')}")
        if node["class"] == "COLUMN_REF":
            names[".".join(node["column_names"]).removeprefix(f"{TABLE}.")] = None
        if node["class"] == "FUNCTION" and node["function_name"] not in {*FUNCTIONS, *_OPERATORS}:
            known = ", ".join(FUNCTIONS)
            raise _refused(where, f"of functions it may have {known}, not {node['function_name']}")
    return list(names)


def _is_plain(node: dict[str, Any]) -> bool:
    """Whether it is SELECT 1 FROM runs WHERE …, and no more."""
    source = node.get("from_table") or {}
    return (
        node.get("type") == "SELECT_NODE"
        and (source.get("type"), source.get("table_name"), source.get("sample")) == ("BASE_TABLE", TABLE, None)
        and not any(node.get(clause) for clause in _CLAUSES)
        and not node["cte_map"]["map"]
        and len(node["select_list"]) == 1
    )


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every part of a condition that has a class."""
    if isinstance(tree, dict):
        if "class" in tree:
            yield tree
        for value in tree.values():
            yield from _nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _nodes(value)


def _refused(where: str, what: str) -> InputError:
    return InputError(
        f"{where!r} is not allowed ({what}): write a condition on the columns of the table, e.g. {EXAMPLE!r}"
    )


def _first_line(error: object) -> str:
    return str(error).strip().splitlines()[0]
