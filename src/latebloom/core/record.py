"""The frozen, configured record that every problem, penalty, method and probe is.

A record declares its parameters once (see `fields`). It prints as you would type it, compares by its configuration,
and has a text, `name[param=value,...]`, that is its identity on the command line and in the store.

It is also a JAX pytree: numbers that only change values (a strength, a seed, a
learning rate) are leaves, so that changing them compiles nothing; what changes
shapes or code (sizes, kinds, depth) is declared `static=True`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import itertools
import math
import re
import uuid
import weakref
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Self, dataclass_transform

import equinox as eqx
import jax
import numpy as np

from latebloom.core import fields
from latebloom.core.arrays import to_jax
from latebloom.core.compile_cache import keep_programs
from latebloom.core.reading import items, read_value, split
from latebloom.errors import CapabilityError, InputError, check_arguments, unknown_name

if TYPE_CHECKING:
    from equinox._module._module import _ModuleMeta as ModuleMeta
else:
    ModuleMeta = type(eqx.Module)

# The one place where precision is chosen: the slow phase moves by 1e-6 of the weights a step,
# and plateaus sit at 1e-9 of the loss, both below float32's resolution.
jax.config.update("jax_enable_x64", True)


@dataclass_transform(field_specifiers=(dataclasses.field, eqx.field, *fields.SPECIFIERS))
class RecordMeta(ModuleMeta):
    """Shows the constructor as its parameters are declared: `inspect.signature(L1)` is `(strength)`."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        other = cls.instead(*args, **kwargs) if args or kwargs else None  # type: ignore[attr-defined]
        return super().__call__(*args, **kwargs) if other is None else other

    @property
    def __signature__(cls) -> inspect.Signature:
        return fields.signature(cls) if cls.__init__ is Record.__init__ else super().__signature__


class Record(eqx.Module, metaclass=RecordMeta):
    """Base of every configured thing.

    A class declares its fields and, if something follows from them, has a `derive`; none needs an `__init__`.
    """

    example = ""  # its text with values for what has to be given; empty: its name will do

    @classmethod
    def instead(cls, *args: Any, **kwargs: Any) -> Self | None:
        """Another record that these arguments ask for, if they do."""
        return None

    # Not dataclass's own with a __post_init__: that would take what is derived as arguments, could not be called as
    # `Sum(a, b)`, and equinox warns of every class of a user that still has an __init__.
    def __init__(self, *args: Any, **kwargs: Any):
        if type(self).derive is not Record.derive:  # computing begins here: the others are made on import, too
            keep_programs()
        declared = {fields.given_name(field): field for field in fields.parameters(type(self))}
        given = check_arguments(type(self).__name__, fields.signature(type(self)), args, kwargs)
        given.apply_defaults()
        for name, value in given.arguments.items():
            setattr(self, declared[name].name, _jax(fields.checked(declared[name], value)))
        for field in declared.values():
            if getattr(self, field.name) is None and "follows" in field.metadata:
                setattr(self, field.name, getattr(self, field.metadata["follows"]))
        for name, value in type(self).derive(self).items():  # not bound: a warning counts the frames up to its user
            setattr(self, name, _jax(value))

    def derive(self) -> Mapping[str, Any]:
        """What follows from the parameters, by field, or an InputError where they do not go together.

        Arrays of NumPy become arrays of JAX. A parameter that was left None can be filled in.
        """
        return {}

    @classmethod
    def name(cls) -> str:
        """The record's name on the command line and in the store: `SparseRecovery` is `sparse_recovery`."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    @classmethod
    def configured(cls) -> list[str]:
        """The names of the fields that are chosen, not derived: neither computed at construction nor a property."""
        return [field.name for field in fields.parameters(cls)]

    def parameters(self) -> dict[str, Any]:
        """The configuration, by the names under which it is given: `type(self).build` makes the record of it again."""
        return {fields.given_name(field): getattr(self, field.name) for field in fields.parameters(type(self))}

    def identity(self) -> dict[str, Any]:
        """What the text says: every field that was chosen."""
        return {name: getattr(self, name) for name in self.configured()}

    @property
    def text(self) -> str:
        """`name[param=value,...]`, the record's identity.

        `parse` reads it back, unless it holds an array or a function, of which the text has only a digest or a number:
        stored runs are known by it. `to_plain` keeps arrays.
        """
        kept = _TEXTS.get(id(self))
        if kept is not None and kept[0]() is self:
            return kept[1]
        body = ",".join(f"{key}={_value_text(value)}" for key, value in self.identity().items())
        text = f"{self.name()}[{body}]" if body else self.name()
        if "#" not in text:  # the number of a function holds for as long as the function is there
            _TEXTS[id(self)] = weakref.ref(self, partial(_forget, id(self))), text
        return text

    def __repr__(self) -> str:
        body = ", ".join(f"{key}={_value_repr(value)}" for key, value in self.parameters().items())
        return f"{type(self).__name__}({body})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.text == other.text  # type: ignore[union-attr]

    def __hash__(self) -> int:
        return hash((type(self), self.text))

    @classmethod
    def build(cls, values: Mapping[str, Any]) -> Self:
        """The record with these parameters, all by name: `Sum.build({"terms": (a, b)})` is `Sum(a, b)`."""
        signature = inspect.signature(cls)
        given, others = signature.bind_partial(), {}
        for key, value in values.items():
            (given.arguments if key in signature.parameters else others)[key] = value
        rest = next((p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD), None)
        if rest is not None:
            given.arguments[rest] = given.arguments.get(rest, {}) | others
        elif others:
            raise unknown_name(f"parameter of {cls.name()}", next(iter(others)), signature.parameters)
        return cls(*given.args, **given.kwargs)

    def but(self, **changes: Any) -> Self:
        """The same record with other values for some parameters.

        A seed that follows another, and is equal to it, goes on following: `net.but(seed=3)` also has another start.
        """
        kept = self.parameters()
        for field in fields.parameters(type(self)):
            leader = field.metadata.get("follows")
            if leader in changes and getattr(self, field.name) == getattr(self, leader):
                kept.pop(fields.given_name(field))
        return self.build(kept | changes)

    def to_plain(self) -> dict[str, Any]:
        """The record as JSON can carry it, with its arrays: what a worker process rebuilds it from."""
        return {"record": self.name()} | {key: _plain(self, key, value) for key, value in self.parameters().items()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """The record of this class, or of one of its subclasses, that `to_plain` wrote down."""
        table = concrete(cls)
        name = plain.get("record")
        if name not in table:
            raise unknown_name("record", str(name), table)
        kind = table[name]
        known = {fields.given_name(field): field.metadata for field in fields.parameters(kind)}
        values = {key: _from_plain(value, known.get(key, {})) for key, value in plain.items() if key != "record"}
        return kind.build(values)  # type: ignore[return-value]


# A key asks for a text several times, and the digits of its numbers take a while. Not on the record itself: whatever is
# there besides its fields makes it another pytree.
_TEXTS: dict[int, tuple[weakref.ref[Record], str]] = {}


def _forget(number: int, _: Any) -> None:
    _TEXTS.pop(number, None)


def concrete(base: type[Record]) -> dict[str, type[Record]]:
    """Every class that can be built, of those that derive from `base`, by its name; ours before those of users."""
    found, seen = [base], 0
    while seen < len(found):
        found += [sub for sub in found[seen].__subclasses__() if sub not in found]
        seen += 1
    usable = [cls for cls in found if not (cls.__name__.startswith(("_", "Abstract")) or inspect.isabstract(cls))]
    ours_last = sorted(usable, key=lambda cls: cls.__module__.startswith("latebloom."))
    return {cls.name(): cls for cls in ours_last if cls is not Record}


def _jax(value: Any) -> Any:
    """With arrays of JAX for those of NumPy; not by `jax.tree.map`, which would sort the parts of a network."""
    if type(value) is dict:
        return {key: _jax(item) for key, item in value.items()}
    if type(value) is tuple:
        return tuple(_jax(item) for item in value)
    return to_jax(value) if isinstance(value, np.ndarray) else value


def _plain(record: Record, key: str, value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_plain()
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return _plain(record, key, value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)  # JSON has no infinity
    if isinstance(value, tuple | list):
        return [_plain(record, key, item) for item in value]
    raise CapabilityError(
        f"{type(record).__name__} has no plain form: its {key} is a {type(value).__name__} of this process; build it "
        "where it is needed"
    )


def _from_plain(value: Any, told: Mapping[str, Any]) -> Any:
    kind = told.get("kind")
    if kind == "rest":
        return tuple(_from_plain(item, told["item"].metadata) for item in value)
    if kind == "record" and value is not None:
        return told["base"].from_plain(value)
    return float(value) if kind == "number" and isinstance(value, str) else value


# A function has no text that says what it computes: it is equal to itself only, and its number holds for this process
# only, so that a stored run is never served for another function of the same name.
_PROCESS = uuid.uuid4().hex[:8]
_FUNCTIONS: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_NUMBERS = itertools.count()


def _number(function: Any) -> int:
    if function not in _FUNCTIONS:
        _FUNCTIONS[function] = next(_NUMBERS)
    return _FUNCTIONS[function]


def own_function(mark: str) -> Any:
    """The function that texts of this process call by this mark, `#1f2e3d4c-5`; None if it is not from here."""
    process, _, number = mark.removeprefix("#").rpartition("-")
    return next((f for f, n in _FUNCTIONS.items() if process == _PROCESS and str(n) == number), None)


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

    Positional values are allowed for the first parameters: `l1[1e-5]`. A value may be a record: `on_parts[l1[1e-5],
    hidden]`; or a tuple, which is also how arrays are typed: `weighted_l2[0.1,(1 2 3)]`.
    """
    cls, values = parsed(text, table, kind)
    return cls.build(values)


def parsed(
    text: str, table: Mapping[str, type[Record]], kind: str, *, later: Collection[str] = ()
) -> tuple[type[Record], dict[str, Any]]:
    """The class that `text` names and the values it gives; those of parameters named `later` may be missing."""
    match = re.fullmatch(r"\s*([A-Za-z_][\w-]*)\s*(?:\[(.*)\])?\s*", text, flags=re.DOTALL)
    if match is None:
        raise InputError(f"cannot read {kind} {text!r}: write name[param=value,...]")
    name, body = match.group(1).replace("-", "_"), match.group(2) or ""
    if name not in table:
        raise unknown_name(kind, name, table)
    cls = table[name]
    _refuse_functions(cls)
    try:
        values = _arguments(cls, split(body, ","), kind, later)
    except CapabilityError:  # of a record inside
        raise
    except TypeError as error:
        example = f"{name}[{','.join(f'{key}=…' for key in list(inspect.signature(cls).parameters)[:2])}]"
        raise InputError(f"cannot build {kind} {text!r}: {error}; write e.g. {example}") from None
    return cls, values


def _refuse_functions(cls: type[Record]) -> None:
    """Refuses what is made of functions, which no text can hold."""
    told = fields.describe(cls)
    functions = [one.name for one in told if one.kind == "function" and one.default is dataclasses.MISSING]
    if functions:
        room, needed = cls.__module__.split(".")[1], [one.name for one in told if one.default is dataclasses.MISSING]
        raise InputError(
            f"{cls.name()} is made of a function of your own ({', '.join(functions)}), which no text can hold: "
            f"build it in Python, lb.{room}.{cls.__name__}({', '.join(needed)})"
        )


def _arguments(cls: type[Record], parts: list[str], kind: str, later: Collection[str]) -> dict[str, Any]:
    """The values of parameters by their names; a TypeError, as of a call, for what does not fit the signature."""
    signature = inspect.signature(cls)
    names = {field.name: fields.given_name(field) for field in fields.parameters(cls)}  # a text may say either
    told = {fields.given_name(field): field.metadata for field in fields.parameters(cls)}
    positional: list[str] = []
    named: dict[str, Any] = {}
    for part in parts:
        key, equals, value = ("", "", part) if re.match(r"[\w-]+\s*[\[(]", part) else part.partition("=")
        if not equals:
            positional.append(part)
            continue
        key = names.get(key.strip().replace("-", "_"), key.strip().replace("-", "_"))
        if key not in told and not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
            raise unknown_name(f"parameter of {cls.name()}", key, signature.parameters)
        if key in named:
            raise TypeError(f"{key} is given twice")
        named[key] = _read(value.strip(), told.get(key, {}), key, kind)
    by_place = signature.bind_partial(*positional).arguments
    first = {key: _read_given(value, told.get(key, {}), key, kind) for key, value in by_place.items()}
    if twice := first.keys() & named.keys():
        raise TypeError(f"{min(twice)} is given by place and by name")
    _check_required(signature, {*first, *named, *later})
    return first | named


def _check_required(signature: inspect.Signature, given: Collection[str]) -> None:
    for key, parameter in signature.parameters.items():
        open_ended = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if key not in given and parameter.default is parameter.empty and not open_ended:
            raise TypeError(f"missing a required argument: {key!r}")


def _read_given(value: Any, told: Mapping[str, Any], key: str, kind: str) -> Any:
    """A positional value, or all that are left for the last parameter."""
    if isinstance(value, tuple):
        return tuple(_read(item, told["item"].metadata, key, kind) for item in value)
    return _read(value, told, key, kind)


def _read(value: str, told: Mapping[str, Any], key: str, kind: str) -> Any:
    """A value, by what its field says that it is."""
    what = told.get("kind")
    if what == "record":
        return parse(value, concrete(told["base"]), kind)
    if what == "rest":
        inside = items(value)
        return tuple(_read(item, told["item"].metadata, key, kind) for item in ([value] if inside is None else inside))
    if what == "text":
        quoted = read_value(value)
        return quoted if quoted is None or (value[:1] in "'\"" and isinstance(quoted, str)) else value
    if what == "array" and re.fullmatch(r"#[0-9a-f-]+", value):
        raise InputError(
            f"{key}={value} is the digest of an array, not the array: give its numbers, e.g. {key}=(1 2 3)"
        )
    return read_value(value)
