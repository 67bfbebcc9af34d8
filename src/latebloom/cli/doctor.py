"""`latebloom doctor`: versions, devices, threads, store health."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from latebloom.cli.common import Json, StoreOption, open_store, print_json

PACKAGES = ("latebloom", "jax", "jaxlib", "equinox", "optax", "numpy", "scipy", "scikit-learn", "matplotlib", "pyarrow")
OPTIONAL = ("torch", "cvxpy")


def doctor(as_json: Json = False, store: StoreOption = None) -> int:
    """Versions, devices, threads, store health."""
    report = examine(open_store(store))
    if as_json:
        print_json(report)
    else:
        for part, values in report.items():
            print(part if isinstance(values, dict) else f"{part}: {values}")
            for name, value in values.items() if isinstance(values, dict) else ():
                print(f"  {name:<14} {value}")
    return 0 if report["healthy"] else 1


def examine(store) -> dict[str, Any]:
    """What the report says; healthy means that a small run gives the right number and that the store can be used."""
    import jax

    import latebloom as lb
    from latebloom.engine.summary import summary_of

    problem = lb.problems.LinearRegression([[1.0, 1.0]], [2.0], truth=[1.0, 1.0], init=[0.0, 0.0])
    run = lb.train(problem, lb.GradientDescent(0.25), steps=100)
    exact = bool(abs(run.params - 1.0).max() < 1e-12)
    health = store.health(summary_of)
    return {
        "packages": {name: _version(name) for name in PACKAGES},
        "optional": {name: _version(name) for name in OPTIONAL},
        "machine": {
            "python": platform.python_version(),
            "platform": platform.platform(),
            "cores": os.cpu_count(),
            "devices": ", ".join(str(device) for device in jax.devices()),
            "precision": "float64" if jax.config.jax_enable_x64 else "float32",  # type: ignore[attr-defined]
        },
        "store": health,
        "self_test": "a small run gives the right number" if exact else "a small run gives a WRONG number",
        "healthy": exact and bool(health["writable"]) and not health["damaged"],
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
