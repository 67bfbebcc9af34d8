"""A network with one hidden layer that classifies images."""

from __future__ import annotations

from dataclasses import KW_ONLY
from pathlib import Path
from typing import Any

import jax
import numpy as np

from latebloom.core import fields
from latebloom.core.record import fingerprint
from latebloom.core.seeds import generator
from latebloom.errors import InputError
from latebloom.problems.classifier import PARTS, AbstractRowClassifier
from latebloom.problems.data.image_file import DIGITS, read_images
from latebloom.problems.losses import LOSSES, Loss

IMAGE_LOSSES = ("cross_entropy", "squared")
PRECISIONS = ("float32", "float64")
HIDDEN, OUTPUT = "hidden", "output"


class TooFewImagesError(InputError):
    """A file has fewer images than are asked for."""


def check_file(what: str, value: Any) -> str:
    """The name of a file; whether there is one is seen when it is read."""
    if not isinstance(value, str | Path):
        raise InputError(
            f"{what}={type(value).__name__} is not allowed: {what} must be the name of a file, or {DIGITS!r}"
        )
    return str(value)


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

    data: str = fields.own(check_file, default=DIGITS, kind="text", static=True, note="a file of images")
    width: int = fields.count(default=100, static=True, note="hidden units")
    _: KW_ONLY
    train: int = fields.count(default=1000, static=True, note="images to train on")
    test: int | Any = fields.count(default=None, static=True, note="images to test on; None for all the others")
    init_scale: float = fields.number(default=1.0, least=0, note="what the start is multiplied by")
    loss_kind: str = fields.choice(
        IMAGE_LOSSES, default="cross_entropy", static=True, what="loss", note="of scores and classes"
    )
    precision: str = fields.choice(PRECISIONS, default="float32", static=True, note="of all arithmetic")
    seed: int = fields.seed(default=0, note="draws the split")
    init_seed: int | Any = fields.seed(default=None, follows="seed", note="draws the start; None for seed")
    mark: str = fields.derived(static=True)
    train_images: jax.Array = fields.derived()
    test_images: jax.Array = fields.derived()
    train_labels: jax.Array = fields.derived()
    test_labels: jax.Array = fields.derived()
    start: dict[str, jax.Array] = fields.derived()

    def derive(self):
        images = read_images(self.data)
        test = _check_split(self.data, len(images.labels), self.train, self.test)
        order = generator(self.seed, "split").permutation(len(images.labels))
        rows = {"train": order[: self.train], "test": order[self.train : self.train + test]}
        return {
            "test": test,
            "mark": DIGITS if self.data == DIGITS else f"#{fingerprint(images.pixels)}-{fingerprint(images.labels)}",
            **{f"{part}_images": images.pixels[rows[part]].astype(self.precision) for part in PARTS},
            **{f"{part}_labels": images.labels[rows[part]] for part in PARTS},
            "start": self._start(images.pixels.shape[1], images.classes),
        }

    def _start(self, pixels: int, classes: int) -> dict[str, np.ndarray]:
        shapes = {HIDDEN: (self.width, pixels), OUTPUT: (classes, self.width)}
        start = {
            name: generator(self.init_seed, name).normal(size=shape) * self.init_scale / np.sqrt(shape[0])
            for name, shape in shapes.items()
        }
        return {name: values.astype(self.precision) for name, values in start.items()}

    def identity(self) -> dict[str, Any]:
        """The configuration, in which the file is known by its contents."""
        return super().identity() | {"data": self.mark}

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
    wanted = rest if test is None else test
    if wanted > rest:
        raise TooFewImagesError(
            f"test={wanted} is not allowed: {path!r} has {count} images, {rest} without the training set"
        )
    return wanted
