"""Arithmetic written as text, `0.25 / (method.learning_rate * penalty.strength)`: parsed, never evaluated as code."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from latebloom.errors import InputError, unknown_name

LONGEST = 500  # letters: a formula is typed by a person
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_UNARY: dict[type, Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    name: getattr(np, name) for name in ("sqrt", "log", "log2", "log10", "exp", "abs", "round", "floor", "ceil")
}
TAKES = f"numbers, names, + - * / **, parentheses, and {', '.join(FUNCTIONS)}"


class Formula:
    """A formula in names, each a word or a path of words; `names` has them in the order of their appearance.

    >>> formula = Formula("0.25 / (method.learning_rate * strength)")
    >>> formula.names, formula({"method.learning_rate": 0.5, "strength": 0.25})
    (['method.learning_rate', 'strength'], 2.0)
    >>> Formula("1e3 * 2 ** -k")({"k": np.array([0, 1])})
    array([1000.,  500.])
    >>> Formula("2 * sine(x)")
    Traceback (most recent call last):
    latebloom.errors.UnknownNameError: unknown function 'sine': Known: abs, ceil, exp, floor, log, log10, ...
    """

    def __init__(self, text: str):
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"a formula must be a text such as '0.25 / rate', not {text!r}")
        if len(text) > LONGEST:
            raise InputError(f"a formula of {len(text)} letters: at most {LONGEST} are read")
        self.text = text.strip()
        self.names: list[str] = []
        try:
            tree = ast.parse(self.text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise InputError(f"{text!r} is no formula: write {TAKES}") from None
        self._value = self._read(tree)

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"

    def __call__(self, values: Mapping[str, Any]) -> Any:
        """Its value, a float, where its names have these; arrays give an array."""
        for name in self.names:
            if name not in values:
                raise unknown_name(f"name in {self.text!r}", name, values)
        try:
            with np.errstate(all="ignore"):
                value = self._value(values)
        except ZeroDivisionError:
            raise InputError(f"{self.text!r} divides by zero{self._at(values)}") from None
        except (OverflowError, TypeError, ValueError) as error:
            raise InputError(f"{self.text!r} has no value{self._at(values)}: {error}") from None
        if isinstance(value, np.ndarray) or hasattr(value, "to_numpy"):
            return value
        if isinstance(value, complex) or not math.isfinite(value):
            raise InputError(f"{self.text!r} is no finite number{self._at(values)}")
        return float(value)

    def _at(self, values: Mapping[str, Any]) -> str:
        told = ", ".join(f"{name}={values[name]}" for name in self.names if np.ndim(values[name]) == 0)
        return f" at {told}" if told else ""

    def _read(self, node: ast.AST) -> Callable[[Mapping[str, Any]], Any]:
        """A function of the values of the names that gives what a part of the text says."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            number = float(node.value) if abs(node.value) < 1e308 else math.inf  # an int would grow without end
            return lambda _: number
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            apply, left, right = _BINARY[type(node.op)], self._read(node.left), self._read(node.right)
            return lambda values: apply(left(values), right(values))
        if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            change, inner = _UNARY[type(node.op)], self._read(node.operand)
            return lambda values: change(inner(values))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
            if node.func.id not in FUNCTIONS:
                raise unknown_name("function", node.func.id, FUNCTIONS)
            function, argument = FUNCTIONS[node.func.id], self._read(node.args[0])
            return lambda values: function(argument(values))
        if (name := _path(node)) is not None:
            if name not in self.names:
                self.names.append(name)
            return lambda values: values[name] * 1.0
        raise InputError(f"{ast.unparse(node)!r} in {self.text!r} is not allowed: write {TAKES}")


def _path(node: ast.AST) -> str | None:
    """The name that a node is, `strength` or `penalty.strength`; None for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := _path(node.value)) is not None:
        return f"{before}.{node.attr}"
    return None
