"""How a matrix is parametrised: itself, a product of layers, or a difference of squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from latebloom.core.seeds import generator
from latebloom.errors import InputError, check_choice, check_count

FORMS = ("product", "symmetric", "difference")
INITS = ("gaussian", "identity", "zeros")


@dataclass(frozen=True)
class Factorisation:
    """`A` as a function of the parameters.

    - "product" of `depth` L: `A` itself (L = 1, an array), or `A1 A2 ... AL` with inner `width` (a dictionary;
      L = 2 is `U Vᵀ` with `A1 = U`, `A2 = Vᵀ`).
    - "symmetric": `W Wᵀ`, positive semi-definite. "difference": `U Uᵀ - V Vᵀ`, any symmetric matrix.

    >>> import jax.numpy as jnp
    >>> deep = Factorisation.of((2, 3), "product", depth=3, width=4)
    >>> {name: layer.shape for name, layer in deep.start("identity", 0.5, seed=0).items()}
    {'A1': (2, 4), 'A2': (4, 4), 'A3': (4, 3)}
    >>> Factorisation.of((2, 2), "symmetric", width=1).matrix({"W": jnp.array([[1.0], [2.0]])}).tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """

    shape: tuple[int, int]
    form: str
    depth: int
    width: int

    @classmethod
    def of(
        cls, shape: tuple[int, int], form: str = "product", *, depth: int | None = None, width: int | None = None
    ) -> Factorisation:
        """Checked, with what is left out filled in: depth 1, or 2 if a width is given; the smaller side as width."""
        form = check_choice("form", form, FORMS)
        if form != "product":
            if shape[0] != shape[1]:
                raise InputError(
                    f"form={form!r} is a symmetric matrix and shape={shape} is not square: "
                    f"use form='product' or shape={(shape[0], shape[0])}"
                )
            if depth not in (None, 2):
                raise InputError(f"depth={depth} does not go with form={form!r}, which has depth 2: leave it out")
            depth = 2
        depth = check_count("depth", (1 if width is None else 2) if depth is None else depth)
        if depth == 1 and width is not None:
            raise InputError(f"width={width} does not go with depth=1, the matrix itself: use depth=2 or more")
        return cls(shape, form, depth, min(shape) if width is None else check_count("width", width))

    @property
    def linear(self) -> bool:
        """Whether the parameters are the matrix itself."""
        return self.depth == 1

    def layers(self) -> dict[str, tuple[int, int]]:
        """The name and the shape of every layer; empty if the parameters are the matrix itself."""
        rows, columns = self.shape
        if self.form == "symmetric":
            return {"W": (rows, self.width)}
        if self.form == "difference":
            return {"U": (rows, self.width), "V": (rows, self.width)}
        if self.linear:
            return {}
        sides = [rows, *[self.width] * (self.depth - 1), columns]
        return {f"A{k + 1}": (sides[k], sides[k + 1]) for k in range(self.depth)}

    def matrix(self, params: Any) -> jax.Array:
        """The matrix that these parameters stand for."""
        if self.form == "symmetric":
            return params["W"] @ params["W"].T
        if self.form == "difference":
            return params["U"] @ params["U"].T - params["V"] @ params["V"].T
        if self.linear:
            return params
        product = params["A1"]
        for k in range(2, self.depth + 1):
            product = product @ params[f"A{k}"]
        return product

    def pull_back(self, params: Any, gradient: jax.Array) -> Any:
        """The gradient in the parameters of a function of the matrix with this gradient there."""
        if self.linear:
            return gradient
        if self.form == "product":
            return jax.vjp(self.matrix, params)[1](gradient)[0]
        both = gradient + gradient.T  # one product a layer, where autodiff makes two
        return {name: -both @ layer if name == "V" else both @ layer for name, layer in params.items()}

    def start(self, kind: str, scale: float, *, seed: int) -> Any:
        """The initial parameters: entries N(0, scale²) ("gaussian"), `scale` times the identity, or zeros."""
        kind, random = check_choice("init_kind", kind, INITS), generator(seed, "init")
        if self.linear:
            return _layer(kind, scale, self.shape, random)
        return {name: _layer(kind, scale, shape, random) for name, shape in self.layers().items()}


def _layer(kind: str, scale: float, shape: tuple[int, int], random: np.random.Generator) -> np.ndarray:
    if kind == "zeros":
        return np.zeros(shape)
    return scale * (np.eye(*shape) if kind == "identity" else random.normal(size=shape))
