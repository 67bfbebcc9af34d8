"""Arrays that users give, checked; what parameters are; the way of arrays into JAX."""

from __future__ import annotations

from typing import Any

import numpy as np

from latebloom.errors import InputError

Params = Any  # a pytree of arrays


def to_jax(value: Any) -> Any:
    """A number or an array as an array of JAX.

    An array of NumPy is copied there as it is: `jnp.asarray` compiles a program for every new shape, 10 ms each.
    """
    import jax
    import jax.numpy as jnp

    return jax.device_put(np.array(value)) if isinstance(value, np.ndarray) else jnp.asarray(value)


def check_array(what: str, value: Any, *, ndim: int | None = None) -> np.ndarray:
    """`value` as a float64 array, refused if empty, of the wrong rank or not finite."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be an array of numbers, not {type(value).__name__}") from None
    if ndim is not None and array.ndim != ndim:
        raise InputError(f"{what} has shape {array.shape}: {what} must have {ndim} dimension{'s' * (ndim > 1)}")
    if array.size == 0:
        raise InputError(f"{what} is empty (shape {array.shape}): give at least one entry")
    bad = int(np.size(array) - np.isfinite(array).sum())
    if bad:
        raise InputError(f"{what} has {bad} entries that are NaN or infinite: clean the data first")
    return array
