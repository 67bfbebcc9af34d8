"""Labelled images from a file: npz, IDX (the format MNIST comes in) or CSV, told apart by their contents."""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError

import numpy as np

from latebloom.errors import InputError

DIGITS = "digits"  # the name of the images that come with scikit-learn
IMAGE_NAMES = ("images", "x", "data", "x_train", "train_images")
LABEL_NAMES = ("labels", "y", "target", "y_train", "train_labels")
IDX_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
# The header of an array is Python source that may not be valid, or it promises more than the file or the memory holds.
NO_ARRAY = (ValueError, TypeError, SyntaxError, TokenError, OverflowError, MemoryError)
COMMAS = "write numbers separated by commas, a label and its pixels in every row"
MOST_CLASSES = 1000  # a larger label is more likely a mistake than a class


@dataclass(frozen=True)
class LabelledImages:
    """n images as rows of pixels between 0 and 1, the class of each, and how many classes there are."""

    pixels: np.ndarray
    labels: np.ndarray
    classes: int


def read_images(path: str | Path = DIGITS) -> LabelledImages:
    """The images of a file, or scikit-learn's 1,797 digits of 8x8 pixels; pixels are divided by the largest one.

    - npz: an array of images (n, height, width) or (n, pixels), and one of n labels; see `IMAGE_NAMES`, `LABEL_NAMES`.
    - IDX: the file of the images; its labels are in the file named alike with "labels" for "images".
    - CSV: a line an image, its label first, then its pixels; no header.

    Each may be compressed by gzip.

    >>> digits = read_images()
    >>> digits.pixels.shape, digits.classes, float(digits.pixels.max())
    ((1797, 64), 10, 1.0)
    """
    if str(path) == DIGITS:
        from sklearn.datasets import load_digits

        return checked(DIGITS, *(np.asarray(part) for part in load_digits(return_X_y=True)))
    images, labels = _arrays(str(path), contents(path))
    return checked(str(path), images, labels)


def contents(path: str | Path) -> bytes:
    """The bytes of a file, without its compression."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {str(path)!r}: name an npz, IDX or CSV file of images") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {str(path)!r} ({reason}): name an npz, IDX or CSV file of images") from None
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            raise InputError(f"{str(path)!r} is a damaged gzip file: fetch or compress it again") from None
    if not data:
        raise InputError(f"{str(path)!r} is empty: name an npz, IDX or CSV file of images")
    return data


def _arrays(path: str, data: bytes) -> tuple[np.ndarray, np.ndarray]:
    if data[:2] == b"PK":
        return from_npz(path, data)
    if is_idx(data):
        return from_idx(path, data), from_idx(*labels_beside(path))
    return from_csv(path, data)


def from_npz(path: str, data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels of an npz, by the names of its arrays."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            names = {name.lower(): name for name in archive.files}
            found = [next((names[n] for n in known if n in names), None) for known in (IMAGE_NAMES, LABEL_NAMES)]
            arrays = [archive[name] for name in found if name is not None]
        if not all(isinstance(array, np.ndarray) for array in arrays):  # the bytes of what is not in NumPy's format
            raise TypeError
    except NO_ARRAY:
        raise InputError(
            f"{path!r} is damaged, or holds something else than arrays of numbers: save it again by np.savez"
        ) from None
    except Exception:  # zipfile has a dozen kinds of errors for archives that are damaged, encrypted or too new
        raise InputError(f"{path!r} is a damaged npz file, or an encrypted one: save it again by np.savez") from None
    if None in found:
        raise InputError(
            f"{path!r} holds {', '.join(map(repr, names.values())) or 'nothing'}, but needs an array of images and one "
            "of labels: save it by np.savez(file, images=…, labels=…)"
        )
    return arrays[0], arrays[1]


def is_idx(data: bytes) -> bool:
    """Whether the first four bytes are those of IDX: two zeros, a type, a number of dimensions."""
    return len(data) >= 4 and data[:2] == b"\0\0" and data[2] in IDX_TYPES and 1 <= data[3] <= 4


def from_idx(path: str, data: bytes) -> np.ndarray:
    """The array of an IDX file: type, sizes as 32-bit numbers, most significant byte first, then the values."""
    if not is_idx(data):
        raise InputError(f"{path!r} is not an IDX file, but has to be one, as the file of the images is")
    dimensions, dtype = data[3], np.dtype(IDX_TYPES[data[2]])
    start = 4 + 4 * dimensions
    shape = tuple(int(size) for size in np.frombuffer(data[4 : min(start, len(data) // 4 * 4)], ">u4"))
    wanted = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if len(shape) < dimensions or len(data) - start < wanted:
        raise InputError(
            f"{path!r} is cut off: its header says {'x'.join(map(str, shape)) or 'nothing'}, {wanted:,} bytes, and "
            f"{max(len(data) - start, 0):,} are there; fetch it again"
        )
    return np.frombuffer(data, dtype, count=wanted // dtype.itemsize, offset=start).reshape(shape)


def labels_beside(path: str) -> tuple[str, bytes]:
    """The labels that belong to an IDX file of images: train-images-idx3-ubyte has train-labels-idx1-ubyte."""
    name = Path(path).name
    if "images" not in name:
        raise InputError(
            f"{path!r} is an IDX file without 'images' in its name: name the file of the images as MNIST does, "
            "…-images-idx3-ubyte, with its labels beside it in …-labels-idx1-ubyte"
        )
    other = Path(path).with_name(name.replace("images", "labels").replace("idx3", "idx1"))
    # One of the two may have been unpacked and the other not.
    turned = other.with_suffix("") if other.suffix == ".gz" else other.with_name(other.name + ".gz")
    found = next((file for file in (other, turned) if file.exists()), None)
    if found is None:
        raise InputError(f"{path!r} has no labels: put {other.name} beside it")
    return str(found), contents(found)


def from_csv(path: str, data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels of a CSV file: a line an image, its label first."""
    try:
        lines = [line for line in data.decode("utf-8-sig").splitlines() if line.strip()]
    except UnicodeDecodeError:
        lines = []
    if not lines or "\0" in lines[0]:
        raise InputError(f"{path!r} is neither npz nor IDX nor CSV: convert it by np.savez(file, images=…, labels=…)")
    try:
        table = _numbers(lines)
    except ValueError:
        raise _not_a_table(path, lines) from None
    return table[:, 1:], table[:, 0]


def _numbers(lines: list[str]) -> np.ndarray:
    # Neither comments nor quotes: what has them is not only numbers.
    return np.loadtxt(lines, delimiter=",", comments=None, quotechar=None, ndmin=2)


def _is_numeric(text: str) -> bool:
    try:
        return bool(text.strip()) and _numbers([text]) is not None
    except ValueError:
        return False


def _not_a_table(path: str, lines: list[str]) -> InputError:
    """What is wrong with the first row that has something else than numbers, or not as many."""
    width = lines[0].count(",") + 1
    row = next(i for i, line in enumerate(lines) if line.count(",") + 1 != width or not _is_numeric(line))
    cells = lines[row].split(",")
    place = next((i for i, cell in enumerate(cells) if not _is_numeric(cell)), None)
    if place is None:
        return InputError(
            f"row {row + 1} of {path!r} has {len(cells)} cells and the first {width}: give a label and all pixels"
        )
    wrong = "not a number" if cells[place].strip() else "empty"
    is_header = row == place == 0 and len(lines) > 1 and _is_numeric(lines[1])  # it stands above a row of numbers
    return InputError(
        f"row {row + 1} of {path!r} begins with {lines[row][:30]!r}, and its cell {place + 1} is {wrong}: "
        f"{'take the header out' if is_header else COMMAS}"
    )


def checked(path: str, images: np.ndarray, labels: np.ndarray) -> LabelledImages:
    """Images and labels that fit together, pixels divided by the largest; or a sentence."""
    for what, array in (("images", images), ("labels", labels)):
        if array.dtype.kind not in "biuf":
            raise InputError(f"the {what} of {path!r} are of type {array.dtype}: they must be real numbers")
    if images.ndim not in (2, 3, 4) or 0 in images.shape:
        raise InputError(
            f"the images of {path!r} have shape {images.shape}: they must be (n, height, width) or (n, pixels)"
        )
    if labels.shape not in ((len(images),), (len(images), 1)):
        raise InputError(
            f"{path!r} has {len(images)} images and labels of shape {labels.shape}: give a whole number for every image"
        )
    with np.errstate(over="ignore"):  # a longer float may be infinite as a double
        pixels, classed = images.reshape(len(images), -1).astype(np.float64), labels.ravel().astype(np.float64)
    bad = [int(np.sum(~np.isfinite(array))) for array in (pixels, classed)]
    if any(bad):
        raise InputError(
            f"{path!r} has {bad[0]} pixels and {bad[1]} labels that are NaN, infinite or above 1.8e308: clean it first"
        )
    largest = float(np.max(np.abs(pixels)))
    if largest == 0:
        raise InputError(f"all pixels of {path!r} are zero: name a file with images")
    classes = _classes(path, classed)
    return LabelledImages(pixels / largest, classed.astype(np.int32), classes)


def _classes(path: str, labels: np.ndarray) -> int:
    fractional = labels[labels != np.floor(labels)]
    if len(fractional):
        raise InputError(f"{path!r} has the label {fractional[0]:g}: labels must be whole numbers from 0 on")
    least, most = labels.min(), labels.max()
    if least < 0 or most >= MOST_CLASSES:
        raise InputError(
            f"{path!r} has the label {least if least < 0 else most:g}: labels must be whole numbers from 0 to "
            f"{MOST_CLASSES - 1}"
        )
    if most == least:
        raise InputError(f"all labels of {path!r} are {least:g}: a classifier needs at least two classes")
    return int(most) + 1
