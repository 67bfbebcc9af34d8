"""A problem that a Python function of the user's makes: `problem = "mymodule:make_problem"`."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from latebloom.errors import InputError, LatebloomError, unknown_argument, unknown_name
from latebloom.problems import AbstractProblem, LeastSquares

_NAME = re.compile(r"\s*([A-Za-z_][\w.]*):([A-Za-z_]\w*)\s*")


def names_a_function(text: Any) -> bool:
    """Whether a text is `module:function`."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


@dataclass(frozen=True)
class OwnProblem:
    """A function by name, in a file beside the sweep's or in a module that Python finds, and what it is always given.

    What it makes is known in a store by the name and the arguments, not by what it computes: another function needs
    another name.
    """

    name: str
    folder: str
    arguments: Mapping[str, Any]

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself."""
        match = _NAME.fullmatch(self.name)
        assert match is not None
        module = _module(match[1], self.folder)
        known = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        if match[2] not in known:
            raise unknown_name(f"function of {match[1]}", match[2], known)
        return getattr(module, match[2])

    def check(self, name: str) -> None:
        """Refuses an argument that the function does not take."""
        known = inspect.signature(self.function).parameters
        if name not in known and not any(one.kind is one.VAR_KEYWORD for one in known.values()):
            raise unknown_argument(self.name, name, known)

    def build(self, changes: Mapping[str, Any]) -> AbstractProblem:
        """The problem for these arguments."""
        given = dict(self.arguments) | dict(changes)
        called = f"{self.name}[{','.join(f'{key}={value!r}' for key, value in sorted(given.items()))}]"
        try:
            made = self.function(**given)
        except LatebloomError:
            raise
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            raise InputError(f"{called} raises {type(error).__name__} ({reason}): try it by itself") from error
        if not isinstance(made, AbstractProblem):
            raise InputError(f"{called} gives {type(made).__name__}: it must return a problem, e.g. LeastSquares(…)")
        return made.but(name=called) if isinstance(made, LeastSquares) and made.known_as is None else made


@cache
def _module(name: str, folder: str) -> Any:
    """The module, from its file in the folder if there is one; loaded once, as functions are compared by identity."""
    path = Path(folder, *name.split(".")).with_suffix(".py")
    if not folder or not path.is_file():
        try:
            return importlib.import_module(name)
        except ImportError as error:
            where = f" in {folder}" if folder else ""
            raise InputError(f"cannot load {name}{where} ({error}): put {path.name} beside the sweep's file") from None
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)  # classes of it are looked up by this name
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{path} raises {type(error).__name__} ({reason}): run it by itself") from error
    return module
