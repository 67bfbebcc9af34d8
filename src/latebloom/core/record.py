"""The frozen, configured record that every problem, penalty, method and probe is.

A record prints as you would type it, compares by its configuration, and has a
text, `name[param=value,...]`, that is its identity on the command line and in the store.

It is also a JAX pytree: numbers that only change values (a strength, a seed, a
learning rate) are leaves, so that changing them compiles nothing; what changes
shapes or code (sizes, kinds, depth) is declared `eqx.field(static=True)`.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import inspect
import itertools
import math
import re
import uuid
import weakref
from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np

from latebloom.errors import InputError, unknown_name

# The one place where precision is chosen: the slow phase moves by 1e-6 of the weights a step,
# and plateaus sit at 1e-9 of the loss, both below float32's resolution.
jax.config.update("jax_enable_x64", True)


# The metadata of a field that is computed at construction from the others and is not part of the configuration.
DERIVED = {"derived": True}


class Record(eqx.Module):
    """Base of every configured thing."""

    takes_options: ClassVar[bool] = False  # whether the constructor takes named parameters beyond the fields

    @classmethod
    def name(cls) -> str:
        """The record's name on the command line and in the store: `SparseRecovery` is `sparse_recovery`."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    @classmethod
    def configured(cls) -> list[str]:
        """The names of the fields that are chosen, not derived: neither computed at construction nor a property."""
        chosen = [f.name for f in dataclasses.fields(cls) if not f.metadata.get("derived", False)]
        return [name for name in chosen if not isinstance(inspect.getattr_static(cls, name, None), property)]

    def parameters(self) -> dict[str, Any]:
        """The configuration: every field that was chosen, none that was derived."""
        return {name: getattr(self, name) for name in self.configured()}

    @property
    def text(self) -> str:
        """`name[param=value,...]`, the record's identity."""
        body = ",".join(f"{key}={_value_text(value)}" for key, value in self.parameters().items())
        return f"{self.name()}[{body}]" if body else self.name()

    def __repr__(self) -> str:
        body = ", ".join(f"{key}={_value_repr(value)}" for key, value in self.parameters().items())
        return f"{type(self).__name__}({body})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.text == other.text  # type: ignore[union-attr]

    def __hash__(self) -> int:
        return hash((type(self), self.text))


# A function has no text that says what it computes: it is equal to itself only, and its number holds for this process
# only, so that a stored run is never served for another function of the same name.
_PROCESS = uuid.uuid4().hex[:8]
_FUNCTIONS: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_NUMBERS = itertools.count()


def _number(function: Any) -> int:
    if function not in _FUNCTIONS:
        _FUNCTIONS[function] = next(_NUMBERS)
    return _FUNCTIONS[function]


def fingerprint(array: Any) -> str:
    """A short hash of an array's shape and bytes: the identity of data given by a user."""
    data = np.ascontiguousarray(np.asarray(array))
    digest = hashlib.sha256(repr((data.shape, str(data.dtype))).encode() + data.tobytes())
    return digest.hexdigest()[:12]


def _value_text(value: Any) -> str:
    if isinstance(value, Record):
        return value.text
    if isinstance(value, bool | str | None):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return f"{value:.17g}" if float(f"{value:g}") != float(value) else f"{value:g}"
    if isinstance(value, tuple | list):
        return "(" + " ".join(repr(item) if isinstance(item, str) else _value_text(item) for item in value) + ")"
    if isinstance(value, Mapping):
        return "{" + " ".join(f"{key}:{_value_text(item)}" for key, item in value.items()) + "}"
    if callable(value):
        return f"{getattr(value, '__qualname__', 'function')}#{_PROCESS}-{_number(value)}"
    leaves = jax.tree.leaves(value)
    return "#" + "-".join(fingerprint(leaf) for leaf in leaves)


def _value_repr(value: Any) -> str:
    if isinstance(value, np.ndarray | jax.Array) and value.ndim:
        return f"<array {value.shape}>"
    if isinstance(value, float):
        if not math.isfinite(value):
            return f"float('{value}')"
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if callable(value):
        return getattr(value, "__qualname__", repr(value))
    if isinstance(value, dict | list | tuple):
        return repr(jax.tree.map(lambda leaf: Shown(_value_repr(leaf)), value))
    return repr(value)


class Shown(str):
    """A text that prints as it is."""

    __repr__ = str.__str__


def parse(text: str, table: Mapping[str, type[Record]], kind: str) -> Record:
    """Builds the record that `text` names: `l1[strength=1e-5]` from a table of classes.

    Positional values are allowed for the first parameters: `l1[1e-5]`. A value may be a record of the same table:
    `on_parts[l1[1e-5],hidden]`.
    """
    match = re.fullmatch(r"\s*([A-Za-z_][\w-]*)\s*(?:\[(.*)\])?\s*", text, flags=re.DOTALL)
    if match is None:
        raise InputError(f"cannot read {kind} {text!r}: write name[param=value,...]")
    name, body = match.group(1).replace("-", "_"), match.group(2) or ""
    if name not in table:
        raise unknown_name(kind, name, table)
    cls = table[name]
    known = cls.configured()
    positional: list[Any] = []
    named: dict[str, Any] = {}
    rest: list[str] = []
    signature = inspect.signature(cls)
    several = next((p.name for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL), None)

    def read(value: str) -> Any:
        nested = re.match(r"([A-Za-z_][\w-]*)\s*\[", value)
        return _read_value(value) if nested is None else parse(value, table, kind)

    for part in _split(body):
        key, equals, value = ("", "", part) if re.match(r"[\w-]+\s*\[", part) else part.partition("=")
        if not equals:
            positional.append(read(part))
            continue
        key = key.strip().replace("-", "_")
        if key == several:
            rest += re.findall(r"[^\s'()]+", value)
            continue
        if key not in known and not cls.takes_options:
            raise unknown_name(f"parameter of {name}", key, known)
        if key in named:
            raise InputError(f"{key} is given twice in {text!r}: give it once")
        named[key] = read(value.strip())
    if rest:  # what comes before them has no name then
        positional += [named.pop(key) for key in known if key in named] + rest
    try:
        signature.bind(*positional, **named)
    except TypeError as error:
        example = f"{name}[{','.join(f'{key}=…' for key in known[:2])}]"
        raise InputError(f"cannot build {kind} {text!r}: {error}; write e.g. {example}") from None
    return cls(*positional, **named)


def _split(body: str) -> list[str]:
    """The values between commas, but for commas inside brackets."""
    parts, depth = [""], 0
    for sign in body:
        depth += (sign in "[(") - (sign in "])")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts if part.strip()]


def _read_value(text: str) -> Any:
    lowered = text.lower()
    if lowered in {"true", "false"}:
        return lowered == "true"
    for read in (ast.literal_eval, float):  # float reads inf and nan, which Python does not write as literals
        try:
            return read(text)
        except (ValueError, SyntaxError):
            continue
    return text
