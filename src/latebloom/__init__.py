"""latebloom: a laboratory for delayed generalisation (grokking).

The public names are those of `__init__.pyi`, each loaded when it is first used, so that `import latebloom` and
`latebloom --help` do not wait for JAX.
"""

from __future__ import annotations

import gc
from typing import Any

import lazy_loader

__version__ = "0.1.0"

_get, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"latebloom has no {name!r}; its names: {', '.join(__all__)}")
    collects = gc.isenabled()
    gc.disable()  # loading makes many objects and few cycles: to look for them takes 0.1 s of the first second
    try:
        return _get(name)
    finally:
        if collects:
            gc.enable()
