"""What goes wrong, in sentences: every error says what to type instead."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class LatebloomError(Exception):
    """Base of every error raised on purpose; the command line prints it as one line."""


class InputError(LatebloomError, ValueError):
    """A value that cannot be used: refused where it is given, before anything runs."""


class UnknownNameError(InputError):
    """A name that is not in the table it was looked up in."""


class ArgumentError(InputError, TypeError):
    """A call with an argument that there is none of, or without one that is needed."""


class CapabilityError(LatebloomError, TypeError):
    """A combination that cannot work, e.g. a proximal method with a penalty without a prox."""


class LatebloomWarning(UserWarning):
    """Something that will probably not do what was meant, but can go on."""


def warn(text: str) -> None:
    """Warns at the line of the user that called, however deep below it this is."""
    frame, depth = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith("latebloom."):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(text, LatebloomWarning, stacklevel=depth if frame is not None else 2)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """The error for an unknown name, with the closest known one.

    >>> print(unknown_name("penalty", "l_1", ["l1", "l2"]))
    unknown penalty 'l_1': did you mean 'l1'? Known: l1, l2
    """
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.3)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return UnknownNameError(f"unknown {kind} {name!r}: {hint}Known: {', '.join(known)}")


# Arguments that belong to a part of a run, and are often given to the run itself.
ELSEWHERE = {
    "learning_rate": "it belongs to a method, e.g. GradientDescent(learning_rate=0.1)",
    "lr": "write learning_rate, which belongs to a method, e.g. GradientDescent(learning_rate=0.1)",
    "strength": "it belongs to a penalty, e.g. L1(strength=1e-5)",
    "seed": "it belongs to a problem, e.g. SparseRecovery(seed=1)",
    "epochs": "give steps=…, the number of steps",
    "optimizer": "give a method, e.g. GradientDescent(0.1)",
}


def unknown_argument(who: str, name: str, known: Iterable[str]) -> ArgumentError:
    """The error for an argument that a function or a constructor does not have, with the closest that it has.

    >>> print(unknown_argument("train", "step", ["problem", "method", "steps"]))
    train has no argument 'step': did you mean 'steps'? It has: problem, method, steps
    >>> print(unknown_argument("train", "lr", ["problem", "method", "steps"]))
    train has no argument 'lr': write learning_rate, which belongs to a method, e.g. GradientDescent(learning_rate=0.1)
    """
    known = list(known)
    close = difflib.get_close_matches(name, [*known, *ELSEWHERE], n=1, cutoff=0.6)
    if close and close[0] not in known:
        return ArgumentError(f"{who} has no argument {name!r}: {ELSEWHERE[close[0]]}")
    hint = f"did you mean {close[0]!r}? " if close else ""
    return ArgumentError(f"{who} has no argument {name!r}: {hint}It has: {', '.join(known)}")


def check_arguments(
    who: str, signature: inspect.Signature, args: Sequence[Any], named: Mapping[str, Any]
) -> inspect.BoundArguments:
    """The arguments of a call by their names, or an error that says what to type."""
    kinds = {key: parameter.kind for key, parameter in signature.parameters.items()}
    if inspect.Parameter.VAR_KEYWORD not in kinds.values():
        for key in named:
            if key not in kinds:
                raise unknown_argument(who, key, kinds)
    try:
        return signature.bind(*args, **named)
    except TypeError as error:
        by_place = [key for key, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        if "too many positional" in str(error):
            named_only = [key for key, kind in kinds.items() if kind is inspect.Parameter.KEYWORD_ONLY]
            rest = f"; by name: {', '.join(f'{key}=…' for key in named_only)}" if named_only else ""
            values = "1 value" if len(by_place) == 1 else f"{len(by_place)} values"
            taken = f"{who} takes {values} by place, not {len(args)}"
            raise ArgumentError(f"{taken}: write {who}({', '.join(by_place)}){rest}") from None
        raise ArgumentError(f"{who}: {error}; write {who}({', '.join(_needed(signature))})") from None


def _needed(signature: inspect.Signature) -> list[str]:
    """What a call must have, as one would type it."""
    single = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    told = [one for one in signature.parameters.values() if one.kind in single]
    return [f"{one.name}=…" for one in told if one.default is one.empty]


def says_what_it_takes(function: F) -> F:
    """A function whose unknown arguments are refused with the closest that it has."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        check_arguments(function.__name__, signature, args, named)
        return function(*args, **named)

    return checked  # type: ignore[return-value]


def check_number(
    what: str,
    value: float,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    below: float = math.inf,
) -> float:
    """`value` as a float if it is finite and within the bounds, else an `InputError`."""
    try:
        if isinstance(value, bool | str):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be a number, not {value!r}: write it in digits") from None
    except OverflowError:
        raise InputError(f"{what} is a number of {len(str(value))} digits: {what} must fit a float") from None
    inside = least <= number <= most and above < number < below
    if not math.isfinite(number) or not inside:
        raise InputError(f"{what}={value!r} is not allowed: {what} must be {bounds(least, above, most, below)}")
    return number


def check_count(what: str, value: int, *, least: int = 1, most: int | None = None) -> int:
    """`value` as an int if it is a whole number within the bounds, else an `InputError`."""
    number = check_number(what, value, least=least, most=math.inf if most is None else most)
    if number != int(number):
        raise InputError(f"{what}={value!r} is not allowed: {what} must be a whole number, e.g. {round(number)}")
    whole = int(value)  # not int(number): a float has no room for more than 53 bits
    if most is not None and whole > most:
        raise InputError(f"{what}={value!r} is not allowed: {what} must be at most {most}")
    return whole


def check_switch(what: str, value: bool) -> bool:
    """`value` if it is true or false, else an error."""
    if not isinstance(value, bool):
        raise InputError(f"{what} must be true or false, got {value!r}: write {what}=True or {what}=False")
    return value


def check_choice(what: str, value: str, known: Iterable[str]) -> str:
    """`value` if it is one of `known`, else an error that suggests the closest."""
    known = tuple(known)
    if value not in known:
        raise unknown_name(what, str(value), known)
    return value


def bounds(least: float = -math.inf, above: float = -math.inf, most: float = math.inf, below: float = math.inf) -> str:
    """A range in words.

    >>> bounds(above=0, most=1)
    'finite and above 0 and at most 1'
    """
    parts = ["finite"]
    parts += [f"at least {least:g}"] if least > -math.inf else []
    parts += [f"above {above:g}"] if above > -math.inf else []
    parts += [f"at most {most:g}"] if most < math.inf else []
    parts += [f"below {below:g}"] if below < math.inf else []
    return " and ".join(parts)
