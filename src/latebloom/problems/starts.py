"""Starts at which a network's output is zero, whatever its input.

A large start would otherwise make a large first loss. Assumption 3.2 of "Dichotomy of Early and Late Phase Implicit
Biases Can Provably Induce Grokking" asks for one, and names the three ways that are here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from latebloom.core.arrays import Params
from latebloom.errors import InputError, unknown_name


def zero_layer(params: Mapping[str, Any], layer: str) -> dict[str, Any]:
    """The same parameters with one layer, the last, set to zero.

    >>> zero_layer({"hidden": jnp.ones(2), "out": jnp.ones(2)}, "out")["out"].tolist()
    [0.0, 0.0]
    """
    _check_layer(params, layer)
    return {name: jnp.zeros_like(value) if name == layer else value for name, value in params.items()}


def symmetrised(params: Mapping[str, Any], layer: str, axes: Mapping[str, int]) -> dict[str, Any]:
    """Every hidden unit twice, the second time with the opposite output weight: the two cancel.

    `layer` is the output layer; `axes` says for every layer along which axis the hidden units lie (layers that are not
    named are shared).

    >>> twice = symmetrised({"hidden": jnp.array([1.0, 2.0]), "out": jnp.array([3.0, 4.0])}, "out",
    ...                     {"hidden": 0, "out": 0})
    >>> twice["hidden"].tolist(), twice["out"].tolist()
    ([1.0, 2.0, 1.0, 2.0], [3.0, 4.0, -3.0, -4.0])

    Source: Chizat, Oyallon and Bach, "On lazy training in differentiable programming", 2019.
    """
    for name in (layer, *axes):
        _check_layer(params, name)
    if layer not in axes:
        raise InputError(f"axes names no axis for the output layer {layer!r}: give {{{layer!r}: 0, …}}")
    doubled = dict(params)
    for name, axis in axes.items():
        value = jnp.asarray(params[name])
        doubled[name] = jnp.concatenate([value, -value if name == layer else value], axis=axis)
    return doubled


def difference_trick(
    function: Callable[..., jax.Array], params: Params
) -> tuple[Callable[..., jax.Array], dict[str, Params]]:
    """`(f(θ1) - f(θ2)) / √2` with two copies of the parameters that start equal: the same tangent kernel, and output 0.

    Returns the new function, of the same arguments, and its parameters `{"plus": …, "minus": …}`.

    >>> model, start = difference_trick(lambda w, x: w * x, jnp.array(3.0))
    >>> float(model(start, 5.0)), sorted(start)
    (0.0, ['minus', 'plus'])

    Source: Hu, Li and Yu, "Simple and effective regularization methods for training on noisily labeled data", 2020.
    """

    def difference(pair: Mapping[str, Params], *args: Any) -> jax.Array:
        return (function(pair["plus"], *args) - function(pair["minus"], *args)) / jnp.sqrt(2.0)

    return difference, {"plus": params, "minus": params}


def _check_layer(params: Mapping[str, Any], name: str) -> None:
    known: Sequence[str] = list(params) if isinstance(params, Mapping) else ()
    if not known:
        raise InputError(f"params must be a dictionary of layers, not {type(params).__name__}: name them first")
    if name not in known:
        raise unknown_name("layer", name, known)
