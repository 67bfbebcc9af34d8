"""A network with one hidden layer that classifies images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.record import DERIVED, fingerprint
from latebloom.core.seeds import check_seed, generator
from latebloom.errors import InputError, check_choice, check_count, check_number
from latebloom.problems.classifier import AbstractRowClassifier
from latebloom.problems.data.image_file import DIGITS, LabelledImages, read_images
from latebloom.problems.losses import LOSSES, Loss

IMAGE_LOSSES = ("cross_entropy", "squared")
PRECISIONS = ("float32", "float64")
HIDDEN, OUTPUT = "hidden", "output"


class TooFewImagesError(InputError):
    """A file has fewer images than are asked for."""


class ImageClassifier(AbstractRowClassifier):
    """`z(x) = B max(A x, 0)`, a score a class, trained on some of the images of a file and tested on others.

    Parameters are `hidden` A (width, pixels) and `output` B (classes, width), which start as N(0, 1/rows) times
    `init_scale`. `train_error` and `test_error` are shares of wrong answers, exactly 0 once there is none. The record
    is known by the contents of the file, not by its name: a file that has moved has the same runs, one that has
    changed has new ones.

    - `data`: an npz, IDX or CSV file of images (see `latebloom.problems.data.image_file`), or "digits", those of
      scikit-learn.
    - `train`, `test`: how many images to train and to test on; `test=None` for all the others.
    - `loss_kind`: "cross_entropy", or "squared", the mean over images and classes of the squared distance to 0 and 1.
    - `precision`: "float32", or "float64".
    - `seed` draws the split, `init_seed` the start (None for `seed`): runs can share the data.

    >>> problem = ImageClassifier(train=100, width=20, init_scale=8.0)
    >>> {name: part.shape for name, part in problem.init().items()}
    {'hidden': (20, 64), 'output': (10, 20)}
    >>> problem.rows, problem.scores(problem.init(), "test").shape
    (100, (1697, 10))

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Appendix H.3.4.
    """

    data: str = eqx.field(static=True)
    width: int = eqx.field(static=True)
    train: int = eqx.field(static=True)
    test: int = eqx.field(static=True)
    init_scale: float
    loss_kind: str = eqx.field(static=True)
    precision: str = eqx.field(static=True)
    seed: int
    init_seed: int
    mark: str = eqx.field(static=True, metadata=DERIVED)
    train_images: jax.Array = eqx.field(metadata=DERIVED)
    test_images: jax.Array = eqx.field(metadata=DERIVED)
    train_labels: jax.Array = eqx.field(metadata=DERIVED)
    test_labels: jax.Array = eqx.field(metadata=DERIVED)
    start: dict[str, jax.Array] = eqx.field(metadata=DERIVED)

    def __init__(
        self,
        data: str | Path = DIGITS,
        width: int = 100,
        *,
        train: int = 1000,
        test: int | None = None,
        init_scale: float = 1.0,
        loss_kind: str = "cross_entropy",
        precision: str = "float32",
        seed: int = 0,
        init_seed: int | None = None,
    ):
        if not isinstance(data, str | Path):
            raise InputError(
                f"data={type(data).__name__} is not allowed: data must be the name of a file, or {DIGITS!r}"
            )
        self.data, self.width = str(data), check_count("width", width)
        self.train = check_count("train", train)
        self.init_scale = check_number("init_scale", init_scale, least=0)
        self.loss_kind = check_choice("loss", loss_kind, IMAGE_LOSSES)
        self.precision = check_choice("precision", precision, PRECISIONS)
        self.seed = check_seed(seed)
        self.init_seed = self.seed if init_seed is None else check_seed(init_seed)
        images = read_images(self.data)
        self.test = _check_split(self.data, len(images.labels), self.train, test)
        self.mark = DIGITS if self.data == DIGITS else f"#{fingerprint(images.pixels)}-{fingerprint(images.labels)}"
        order = generator(self.seed, "split").permutation(len(images.labels))
        self.train_images, self.train_labels = self._rows(images, order[: self.train])
        self.test_images, self.test_labels = self._rows(images, order[self.train : self.train + self.test])
        self.start = self._start(images.pixels.shape[1], images.classes)

    def _rows(self, images: LabelledImages, rows: np.ndarray) -> tuple[jax.Array, jax.Array]:
        return jnp.asarray(images.pixels[rows].astype(self.precision)), jnp.asarray(images.labels[rows])

    def _start(self, pixels: int, classes: int) -> dict[str, jax.Array]:
        shapes = {HIDDEN: (self.width, pixels), OUTPUT: (classes, self.width)}
        start = {
            name: generator(self.init_seed, name).normal(size=shape) * self.init_scale / np.sqrt(shape[0])
            for name, shape in shapes.items()
        }
        return {name: jnp.asarray(values.astype(self.precision)) for name, values in start.items()}

    @property
    def text(self) -> str:
        """The record's identity, in which the file is known by its contents."""
        name = f"{self.name()}[data="
        return f"{name}{self.mark}" + super().text.removeprefix(f"{name}{self.data}")

    def init(self) -> dict[str, jax.Array]:
        return self.start

    @property
    def weights(self) -> tuple[str, ...]:
        """The names of the matrices: all parts, as there are no biases."""
        return HIDDEN, OUTPUT

    @property
    def degree(self) -> int:
        """2: twice the weights give four times the scores."""
        return 2

    def inputs(self, part: str) -> jax.Array:
        return self.train_images if part == "train" else self.test_images

    def labels(self, part: str) -> jax.Array:
        return self.train_labels if part == "train" else self.test_labels

    def forward(self, params: Any, inputs: jax.Array) -> jax.Array:
        return jax.nn.relu(inputs @ params[HIDDEN].T) @ params[OUTPUT].T

    @property
    def per_sample(self) -> Loss:
        return LOSSES[self.loss_kind]

    def targets(self, labels: jax.Array) -> jax.Array:
        """What the loss compares scores with: the class, or 1 at the class and 0 elsewhere."""
        if self.loss_kind == "cross_entropy":
            return labels
        return jax.nn.one_hot(labels, self.start[OUTPUT].shape[0], dtype=self.precision)


def _check_split(path: str, count: int, train: int, test: int | None) -> int:
    """How many images to test on; refused if there are fewer than asked for."""
    rest = count - train
    if rest < 1:
        raise TooFewImagesError(
            f"train={train} is not allowed: {path!r} has {count} images, and one at least has to be left to test on; "
            f"use at most {count - 1}"
        )
    wanted = rest if test is None else check_count("test", test)
    if wanted > rest:
        raise TooFewImagesError(
            f"test={wanted} is not allowed: {path!r} has {count} images, {rest} without the training set"
        )
    return wanted
