"""How a parameter is declared, once: its default, what it may be, and what it is. Nothing here knows JAX.

Each helper returns a dataclass field with all of it in its metadata, so that problems (equinox records), jobs and
settings (frozen dataclasses) speak one language, and whoever lists, checks or sweeps parameters reads it there.

>>> @dataclass(frozen=True)
... class Settings:
...     rate: float = number(default=0.1, above=0, note="η, the size of a step")
...     __post_init__ = check_all
>>> [(p.name, p.default, p.allowed, p.note) for p in describe(Settings)]
[('rate', 0.1, 'finite and above 0', 'η, the size of a step')]
>>> Settings(rate=-1.0)
Traceback (most recent call last):
latebloom.errors.InputError: rate=-1.0 is not allowed: rate must be finite and above 0
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass
from functools import cache
from typing import Any, Literal

from latebloom.core.arrays import check_array
from latebloom.core.seeds import check_seed
from latebloom.errors import InputError, bounds, check_choice, check_count, check_number, check_switch

Check = Callable[[str, Any], Any]  # of the name and the value given: the value to keep, or an InputError
REST, OPTIONS = "rest", "options"  # the kinds of field that take what is left of the arguments

# What the helpers share, beside default (by name, which is how type checkers see that there is one) and range:
# - note: a short text of what it is, with the paper's letter.
# - static: whether it changes shapes or code, so that another value compiles another program.
# - kw_only: given by name only. `_: KW_ONLY` in a class does it for all fields below.
# - alias: the name by which it is given, where that of the field is another.
# - what: what a refusal calls it, where its name is not it.
SHARED = {"note", "static", "alias", "what"}
OF_SOME = {"limits", "choices", "follows", "base", "item", "derived", "abstract"}


def declare(kind: str, check: Check | None, default: Any = MISSING, **options: Any) -> Any:
    """A field of some kind; what is not told of it is left out of its metadata."""
    kw_only = options.pop("kw_only", MISSING)
    if unknown := options.keys() - SHARED - OF_SOME:
        raise TypeError(f"a {kind} is not declared with {', '.join(sorted(unknown))}")
    told = {"kind": kind, "check": check} | options
    metadata = {key: value for key, value in told.items() if value is not None and value is not False}
    return dataclasses.field(default=default, kw_only=kw_only, metadata=metadata)


def count(*, default: Any = MISSING, least: int = 1, most: int | None = None, **options: Any) -> Any:
    """A whole number."""
    check = lambda what, value: check_count(what, value, least=least, most=most)  # noqa: E731
    return declare("count", check, default, limits=_limits(least=least, most=most), **options)


def number(
    *,
    default: Any = MISSING,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    below: float = math.inf,
    infinite: bool = False,
    **options: Any,
) -> Any:
    """A real number; `infinite` allows infinity beside the range."""
    limits = _limits(least=least, above=above, most=most, below=below)

    def check(what: str, value: Any) -> float:
        return math.inf if infinite and value == math.inf else check_number(what, value, **limits)

    return declare("number", check, default, limits=limits, **options)


def numbers(*, default: Any = MISSING, whole: bool = False, **options: Any) -> Any:
    """A tuple of numbers, each within the range."""
    limits = _limits(**{key: options.pop(key, None) for key in ("least", "above", "most", "below")})
    each: Callable[..., Any] = check_count if whole else check_number

    def check(what: str, value: Any) -> tuple[Any, ...]:
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise InputError(f"{what}={value!r} is not allowed: {what} must be a tuple of numbers, e.g. (1, 2)")
        return tuple(each(what, item, **limits) for item in value)

    if default is not MISSING and default is not None:
        default = check("default", default)  # an array of NumPy, too
    return declare("numbers", check, default, limits=limits, **options)


def seed(*, default: Any = MISSING, follows: str | None = None, **options: Any) -> Any:
    """A seed; left None it is that of the field it `follows`."""
    return declare("seed", lambda _, value: check_seed(value), default, follows=follows, **options)


def choice(choices: Iterable[str], *, default: Any = MISSING, **options: Any) -> Any:
    """One of some names."""
    known = tuple(choices)
    return declare("choice", lambda what, value: check_choice(what, value, known), default, choices=known, **options)


def flag(*, default: Any = MISSING, **options: Any) -> Any:
    """True or false."""
    return declare("flag", check_switch, default, **options)


def text(*, default: Any = MISSING, **options: Any) -> Any:
    """A name or a label."""

    def check(what: str, value: Any) -> str:
        if not isinstance(value, str):
            raise InputError(f"{what} must be a text, not {value!r}: write {what}='…'")
        return value

    return declare("text", check, default, **options)


def array(*, default: Any = MISSING, ndim: int | None = None, **options: Any) -> Any:
    """An array of finite numbers; a record keeps it as one of JAX."""
    return declare("array", lambda what, value: check_array(what, value, ndim=ndim), default, **options)


def record_of(base: type, sentence: str, *, default: Any = MISSING, **options: Any) -> Any:
    """A record of some class; `sentence` refuses anything else, with `{value}` and `{kind}` for what it was."""

    return declare("record", lambda _, value: require_record(base, value, sentence), default, base=base, **options)


def require_record(base: type, value: Any, sentence: str) -> Any:
    """A record of some class, or the sentence and what to type instead."""
    if not isinstance(value, base):
        raise InputError(sentence.format(value=_told(value), kind=_kind(value)) + _instead(base, value))
    return value


def _kind(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _told(value: Any) -> str:
    """What was given, in few words."""
    shape = getattr(value, "shape", None)
    return repr(value) if shape is None or isinstance(value, type) else f"an array of shape {tuple(shape)}"


def _instead(base: type, value: Any) -> str:
    """What to type where a class, a text or an array was given for a record."""
    if isinstance(value, type) and issubclass(value, base):
        needed = [f"{one.name}=…" for one in describe(value) if one.default is MISSING]
        return f": make one of it, {value.__name__}({', '.join(needed)})"
    if isinstance(value, str):
        name = "".join(part.title() for part in value.partition("[")[0].strip().split("_"))
        example = f", e.g. {name}(…)" if name.isidentifier() else ""
        return f": the text {value!r} is for the command line; in Python make the record by its class{example}"
    if hasattr(value, "shape") and not isinstance(value, type):
        return ": data becomes a problem by LinearRegression(design, targets) or LeastSquares(residuals, init)"
    return ""


def own(check: Check | None = None, *, default: Any = MISSING, kind: str = "own", **options: Any) -> Any:
    """A parameter with a check of its own; without one the record's `derive` looks at it."""
    return declare(kind, check, default, **options)


def rest(item: Any, **options: Any) -> Any:
    """All positional arguments that are left, each declared like `item`: `Sum(L1(0.1), L2(0.2))`."""
    check = item.metadata["check"]
    each = lambda what, value: tuple(check(what, one) for one in value)  # noqa: E731
    return declare(REST, each, item=item, **options)


def options(**options: Any) -> Any:
    """All named arguments that are left: `Optax("adam", 0.01, b1=0.8)`."""
    return declare(OPTIONS, None, **options)


def derived(*, static: bool = False, init: Literal[False] = False) -> Any:
    """What is computed at construction from the parameters, and cannot be given."""
    return declare("derived", None, static=static, derived=True)


def abstract(*, init: Literal[False] = False) -> Any:
    """What every concrete class has, as a parameter, as something derived or as a property."""
    return declare("abstract", None, abstract=True)


SPECIFIERS = (count, number, numbers, seed, choice, flag, text, array, record_of, own, rest, options, derived, abstract)


def _limits(**given: Any) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None and abs(value) < math.inf}


def parameters(cls: Any) -> tuple[dataclasses.Field[Any], ...]:
    """The fields that are given, in order: neither derived, nor left to subclasses, nor a property in this class."""
    return _parameters(cls)


@cache
def _parameters(cls: type) -> tuple[dataclasses.Field[Any], ...]:
    def is_given(field: dataclasses.Field[Any]) -> bool:
        hidden = field.metadata.get("derived") or field.metadata.get("abstract") or not field.init
        return not hidden and not isinstance(inspect.getattr_static(cls, field.name, None), property)

    return tuple(field for field in dataclasses.fields(cls) if is_given(field))


def given_name(field: dataclasses.Field[Any]) -> str:
    """The name by which a field is given."""
    return field.metadata.get("alias", field.name)


def checked(field: dataclasses.Field[Any], value: Any) -> Any:
    """The value to keep for one that was given; None stays None where that is the default."""
    check = field.metadata.get("check")
    if check is None or (value is None and field.default is None):
        return value
    return check(field.metadata.get("what", given_name(field)), value)


def check_all(instance: Any) -> None:
    """Checks every field of a dataclass, frozen or not: its `__post_init__`."""
    for field in parameters(type(instance)):
        object.__setattr__(instance, field.name, checked(field, getattr(instance, field.name)))


def signature(cls: Any) -> inspect.Signature:
    """How the parameters of a class are given: positional ones as they are declared, a redeclared one where it is."""
    return _signature(cls)


@cache
def _signature(cls: type) -> inspect.Signature:
    declared: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        for name in inspect.get_annotations(base):
            declared.pop(name, None)
            declared[name] = None
    places = {name: place for place, name in enumerate(declared)}
    given = [(_parameter_kind(field), places.get(field.name, 0), field) for field in parameters(cls)]
    ordered = sorted(given, key=lambda item: item[:2])
    return inspect.Signature([_parameter(kind, field) for kind, _, field in ordered])


def _parameter_kind(field: dataclasses.Field[Any]) -> Any:
    kinds = {REST: inspect.Parameter.VAR_POSITIONAL, OPTIONS: inspect.Parameter.VAR_KEYWORD}
    usual = inspect.Parameter.KEYWORD_ONLY if field.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    return kinds.get(field.metadata.get("kind", ""), usual)


def _parameter(kind: Any, field: dataclasses.Field[Any]) -> inspect.Parameter:
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    empty = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(given_name(field), kind, default=empty, annotation=field.type)


@dataclass(frozen=True)
class Parameter:
    """What is to be told of a parameter; `default` is `dataclasses.MISSING` if it has to be given."""

    name: str
    kind: str
    default: Any
    limits: Mapping[str, float]
    choices: tuple[str, ...]
    note: str
    static: bool

    @property
    def allowed(self) -> str:
        """The range or the choices in words; empty where only the kind says what is allowed."""
        return ", ".join(self.choices) or (bounds(**self.limits) if self.limits else "")


def describe(cls: type) -> list[Parameter]:
    """The parameters of a class of records, jobs or settings, in the order in which they are given."""
    by_name = {given_name(field): field for field in parameters(cls)}
    return [_described(name, by_name[name]) for name in signature(cls).parameters]


def _described(name: str, field: dataclasses.Field[Any]) -> Parameter:
    told = field.metadata
    limits, choices, static = told.get("limits", {}), told.get("choices", ()), told.get("static", False)
    return Parameter(name, told.get("kind", ""), field.default, limits, choices, told.get("note", ""), static)
