"""`latebloom problems | methods | penalties | probes [NAME]`: what there is, with parameters and what to paste."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING
from typing import TYPE_CHECKING, Annotated, Any

import typer

from latebloom.cli import complete
from latebloom.cli.common import Json, StoreOption, print_json
from latebloom.core.tables import print_rows, print_text
from latebloom.errors import unknown_name

if TYPE_CHECKING:
    from latebloom.core.record import Record

ROOMS = {
    "problems": "What can be learned: problems by name, or one of them with its parameters.",
    "methods": "How a step can be made: methods by name, or one of them with its parameters.",
    "penalties": "What can be preferred: penalties by name, or one of them with its parameters.",
    "probes": "What can be measured along the way: probes by name, or one of them with its parameters.",
}
OPTIONS = {"methods": "--method", "penalties": "--penalty", "probes": "--probe"}
KINDS = {
    "numbers": "numbers",
    "rest": "one or more",
    "options": "by their own names",
    "own": "",
    "flag": "true or false",
    "record": "name[…]",
}


def command(room: str) -> Callable[..., None]:
    """The command of a room."""
    help = f"One of the {room}, in full."
    Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help=help, autocompletion=getattr(complete, room))]

    def look_up(name=None, as_json: Json = False, store: StoreOption = None) -> None:
        _look_up(room, name, as_json)

    look_up.__doc__ = ROOMS[room]
    look_up.__annotations__["name"] = Name
    return look_up


def _look_up(room: str, name: str | None, as_json: bool) -> None:
    table = table_of(room)
    if name is None:
        rows = [(one, summary(cls)) for one, cls in sorted(table.items())]
        if as_json:
            print_json([{"name": one, "summary": told} for one, told in rows])
        else:
            print_rows(rows)
            print_text(f"\nOne of them with its parameters: latebloom {room} {rows[0][0]}")
        return
    known = name.partition("[")[0].strip().lower().replace("-", "_")
    by_class = {cls.__name__.lower(): one for one, cls in table.items()}  # also as it is called in Python
    known = by_class.get(known, known)
    if known not in table:
        raise unknown_name(room.removesuffix("s") if room != "penalties" else "penalty", name, table)
    told = card(room, table[known])
    if as_json:
        print_json(told)
    else:
        _print_card(told)


def table_of(room: str) -> Mapping[str, type[Record]]:
    """What a room has, by name."""
    from importlib import import_module

    return import_module(f"latebloom.{room}").TABLE


def summary(cls: type[Record]) -> str:
    """The first paragraph of the docstring, in one line."""
    return " ".join((cls.__doc__ or "").strip().partition("\n\n")[0].split())


def card(room: str, cls: type[Record]) -> dict[str, Any]:
    """Everything there is to be told of a record's class, as JSON has it."""
    from latebloom.core.fields import describe
    from latebloom.core.json import plain

    parameters = [
        {
            "name": one.name,
            "type": one.kind,
            "required": one.default is MISSING,
            "default": None if one.default is MISSING else plain(one.default),
            "allowed": one.allowed,
            "note": one.note,
        }
        for one in describe(cls)
    ]
    told = {"name": cls.name(), "python": f"lb.{room}.{cls.__name__}", "summary": summary(cls)}
    return told | {"parameters": parameters, "examples": examples(room, cls)}


def examples(room: str, cls: type[Record]) -> list[str]:
    """Lines to paste: a command and a call in Python; of what is made of functions only the call."""
    from latebloom.core.fields import describe
    from latebloom.core.record import parse

    needed = [one for one in describe(cls) if one.default is MISSING]
    if any(one.kind == "function" for one in needed):
        return [cls.example]
    text = cls.example or cls.name()
    record = parse(text, table_of(room), room)
    if room == "problems":
        return [f"latebloom run '{text}' --steps 1000", call(record)]
    return [f"latebloom run {cls.tried_on} {OPTIONS[room]} '{text}' --steps 1000", call(record)]  # type: ignore[attr-defined]


def call(record: Record) -> str:
    """The record as one would build it in Python, without what is at its default.

    >>> import latebloom as lb
    >>> call(lb.Minibatch(lb.AdamW(1e-3, weight_decay=1.0), 32))
    'lb.methods.Minibatch(method=lb.methods.AdamW(learning_rate=0.001, weight_decay=1.0), size=32)'
    """
    from latebloom.core import fields

    cls = type(record)
    told = {fields.given_name(field): field for field in fields.parameters(cls)}
    given = []
    for name, value in record.parameters().items():
        field = told.get(name)
        listed = any(one.metadata.get("kind") == fields.REST for one in told.values())
        follows = getattr(record, field.metadata["follows"], None) if field and "follows" in field.metadata else MISSING
        if field is not None and field.metadata.get("kind") == fields.REST:
            given += [_argument(one) for one in value]
        elif field is None or not (_same(value, field.default) or _same(value, follows)):
            given.append(_argument(value) if listed else f"{name}={_argument(value)}")
    return f"lb.{cls.__module__.split('.')[1]}.{cls.__name__}({', '.join(given)})"


def _same(value: Any, default: Any) -> bool:
    if default is MISSING or value is None or default is None:
        return value is default
    import numpy as np

    return np.shape(value) == np.shape(default) and bool(np.all(np.asarray(value) == np.asarray(default)))


def _argument(value: Any) -> str:
    from latebloom.core.record import Record

    if isinstance(value, Record):
        return call(value)
    return repr(value.tolist() if hasattr(value, "tolist") else value)


def _print_card(told: Mapping[str, Any]) -> None:
    print_text(f"{told['name']}, in Python {told['python']}\n{told['summary']}")
    if told["parameters"]:
        print_text("\nParameters:")
        print_rows([(one["name"], _default(one), _allowed(one), one["note"]) for one in told["parameters"]], indent=2)
    print_text("\nTo paste:")
    for line in told["examples"]:
        print(f"  {line}")  # never wrapped: it is to be copied


def _default(one: Mapping[str, Any]) -> str:
    from latebloom.catalog.base import as_text

    if one["required"]:
        return "has to be given" if one["type"] not in ("rest", "options") else ""
    value = one["default"]
    return "none" if value is None else as_text(tuple(value) if isinstance(value, list) else value)


def _allowed(one: Mapping[str, Any]) -> str:
    """The range, without "finite", which goes without saying; else the kind of value."""
    allowed = one["allowed"].removeprefix("finite and ").removeprefix("finite")
    return str(allowed or KINDS.get(one["type"], one["type"]))
