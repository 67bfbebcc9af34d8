"""Files of images: formats known by their contents, what is malformed refused in a sentence."""

from __future__ import annotations

import gzip
import io
import re
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from latebloom.errors import InputError
from latebloom.problems import ImageClassifier
from latebloom.problems.data.image_file import COMMAS, read_images

IMAGES = np.random.default_rng(0).integers(0, 256, size=(30, 3, 2)).astype(np.uint8)
IMAGES[0, 0, 0] = 255
LABELS = (np.arange(30) % 3).astype(np.uint8)


def idx(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def csv(images: np.ndarray, labels: np.ndarray) -> str:
    rows = np.column_stack([labels, images.reshape(len(images), -1)])
    return "\n".join(",".join(f"{value:g}" for value in row) for row in rows) + "\n"


def save_npz(path: Path, **arrays) -> Path:
    with path.open("wb") as file:  # np.savez would add .npz to a name without it
        np.savez(file, **arrays)
    return path


def written(folder: Path) -> dict[str, Path]:
    """The same images in every format, with names that say nothing."""
    files = {"npz": save_npz(folder / "pictures.dat", x=IMAGES.reshape(30, 6), y=LABELS)}
    files["csv"] = folder / "pictures.txt"
    files["csv"].write_text(csv(IMAGES, LABELS))
    files["idx"] = folder / "a-images-idx3-ubyte"
    files["idx"].write_bytes(idx(IMAGES))
    (folder / "a-labels-idx1-ubyte").write_bytes(idx(LABELS))
    files["idx.gz"] = folder / "b-images-idx3-ubyte.gz"
    files["idx.gz"].write_bytes(gzip.compress(idx(IMAGES)))
    (folder / "b-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(LABELS)))
    return files


def test_formats_are_known_by_their_contents(tmp_path):
    """Four files, one problem: the same numbers, and the same identity in the store."""
    problems = {kind: ImageClassifier(path, 5, train=20) for kind, path in written(tmp_path).items()}
    first = problems["npz"]
    both = np.concatenate([first.train_images, first.test_images])
    assert sorted(both.sum(axis=1)) == pytest.approx(sorted(IMAGES.sum(axis=(1, 2)) / 255), rel=1e-6)
    for kind, problem in problems.items():
        assert np.array_equal(problem.train_images, first.train_images), kind
        assert np.array_equal(problem.test_labels, first.test_labels), kind
        assert problem.text == first.text, kind
        assert str(tmp_path) in repr(problem)


def test_identity_is_that_of_the_contents(tmp_path):
    """A file that has changed is another problem, although its name is the same."""
    path = save_npz(tmp_path / "file.npz", images=IMAGES, labels=LABELS)
    before = ImageClassifier(path, 5, train=20)
    changed = IMAGES.copy()
    changed[7, 1, 1] ^= 1
    save_npz(path, images=changed, labels=LABELS)
    after = ImageClassifier(path, 5, train=20)
    assert before != after
    assert before.text != after.text
    assert str(tmp_path) not in before.text
    relabelled = save_npz(tmp_path / "other.npz", images=IMAGES, labels=(LABELS + 1) % 3)
    assert ImageClassifier(relabelled, 5, train=20) != before


def npz(**arrays):
    return lambda path: save_npz(path, **arrays)


def npy(shape: str = "(30, 6)", header: str | None = None) -> bytes:
    """An array as npz keeps it, with a header that need not fit."""
    text = header or f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text.encode() + bytes(8 * 180)


def zipped(images: bytes, name: str = "images.npy", method: int = zipfile.ZIP_STORED, change=lambda data: data):
    """An npz made by hand, `change`d afterwards; its labels are in order."""
    labels, file = io.BytesIO(), io.BytesIO()
    np.save(labels, LABELS)
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr(name, images)
        archive.writestr("labels.npy", labels.getvalue())
    return raw(change(file.getvalue()))


def marked(local: int, value: int):
    """A byte of every member's entry set, in the entry itself and in the directory, where it comes two bytes later."""

    def change(data: bytes) -> bytes:
        changed = bytearray(data)
        for start, place in ((b"PK\3\4", local), (b"PK\1\2", local + 2)):
            for found in re.finditer(re.escape(start), data):
                changed[found.start() + place] = value
        return bytes(changed)

    return change


def blotted(data: bytes) -> bytes:
    """Forty bytes of the first member overwritten."""
    return data[:60] + b"\xff" * 40 + data[100:]


def raw(data: bytes | str):
    return lambda path: path.write_bytes(data if isinstance(data, bytes) else data.encode())


def with_labels(images: bytes, labels: bytes | None):
    def write(path: Path) -> None:
        path.write_bytes(images)
        if labels is not None:
            path.with_name(path.name.replace("images", "labels")).write_bytes(labels)

    return write


FRACTIONAL, NEGATIVE, HUGE = LABELS + 0.5, LABELS - 1.0, LABELS * 1000.0


HOLED = np.where(np.arange(180).reshape(30, 6) == 7, np.nan, 1.0)


NO_ARRAYS = "is damaged, or holds something else than arrays of numbers"


MALFORMED = {
    "missing": (lambda path: None, "there is no file"),
    "a folder": (lambda path: path.mkdir(), "cannot read"),
    "empty": (raw(b""), "is empty"),
    "not images": (raw(b"\x89PNG\r\n\x1a\n\0\0"), "neither npz nor IDX nor CSV"),
    "damaged gzip": (raw(gzip.compress(b"1,2,3" * 99)[:-12]), "damaged gzip"),
    "npz without labels": (npz(images=IMAGES, extra=LABELS), "holds 'images', 'extra', but needs"),
    "npz without images": (npz(labels=LABELS), "holds 'labels', but needs"),
    "npz of text": (npz(images=IMAGES, labels=LABELS.astype(str)), "labels .* are of type <U3"),
    "npz of objects": (npz(images=IMAGES, labels=LABELS.astype(object)), NO_ARRAYS),
    "damaged npz": (raw(b"PK\x03\x04" + b"x" * 50), "damaged npz"),
    "encrypted npz": (zipped(npy(), change=marked(6, 1)), "damaged npz file, or an encrypted one"),
    "npz of an unknown kind": (zipped(npy(), change=marked(8, 99)), "damaged npz"),
    "npz with damaged LZMA": (zipped(npy(), method=zipfile.ZIP_LZMA, change=blotted), "damaged npz"),
    "npz with damaged bzip2": (zipped(npy(), method=zipfile.ZIP_BZIP2, change=blotted), "damaged npz"),
    "npz of no arrays": (zipped(b"hello", name="images"), NO_ARRAYS),
    "npz with a damaged header": (zipped(npy(header="{" * 16)), NO_ARRAYS),
    "npz with petabytes by its header": (zipped(npy("(1000000000000, 28, 28)")), NO_ARRAYS),
    "npz with more by its header than counts": (zipped(npy("(10000000000000000000000, 28)")), NO_ARRAYS),
    "npz with a negative size": (zipped(npy("(-30, -6)")), NO_ARRAYS),
    "npz with a hundred sizes": (zipped(npy(f"({'1, ' * 100})")), NO_ARRAYS),
    "npz of times": (npz(images=IMAGES, labels=LABELS.astype("m8[s]")), "labels .* are of type timedelta64"),
    "flat images": (npz(images=IMAGES.ravel(), labels=LABELS), r"shape \(180,\): they must be \(n, height, width\)"),
    "no images": (npz(images=IMAGES[:0], labels=LABELS[:0]), r"shape \(0, 3, 2\)"),
    "too few labels": (npz(images=IMAGES, labels=LABELS[:-1]), r"30 images and labels of shape \(29,\)"),
    "NaN": (npz(images=HOLED, labels=LABELS), "has 1 pixels and 0 labels that are NaN"),
    "black": (npz(images=0 * IMAGES, labels=LABELS), "all pixels .* are zero"),
    "fractional labels": (npz(images=IMAGES, labels=FRACTIONAL), "has the label 0.5: labels must be whole"),
    "negative labels": (npz(images=IMAGES, labels=NEGATIVE), "has the label -1: labels must be whole numbers from 0"),
    "huge labels": (npz(images=IMAGES, labels=HUGE), "has the label 2000: .* from 0 to 999"),
    "one class": (npz(images=IMAGES, labels=0 * LABELS), "needs at least two classes"),
    "cut off IDX": (
        with_labels(idx(IMAGES)[:-5], idx(LABELS)),
        "is cut off: its header says 30x3x2, 180 bytes, and 175 are",
    ),
    "cut off IDX header": (with_labels(idx(IMAGES)[:9], idx(LABELS)), "is cut off: its header says 30, "),
    "cut off IDX labels": (with_labels(idx(IMAGES), idx(LABELS)[:-1]), "labels.* is cut off"),
    "IDX without labels": (with_labels(idx(IMAGES), None), "has no labels: put my-labels"),
    "IDX with CSV labels": (with_labels(idx(IMAGES), b"1,2"), "is not an IDX file, but has to be one"),
    "CSV with a header": (
        raw("label,p1,p2\n1,2,3\n0,4,5\n"),
        "row 1 .* begins with 'label,p1,p2'.*take the header out",
    ),
    "CSV with words": (
        raw("1,2,3\n0,4,five\n"),
        f"row 2 .* begins with '0,4,five', .* cell 3 is not a number: {COMMAS}",
    ),
    "semicolons": (raw("1;2;3\n0;4;5\n"), f"row 1 .* begins with '1;2;3', .* cell 1 is not a number: {COMMAS}"),
    "tabs": (raw("1\t2\t3\n0\t4\t5\n"), rf"row 1 .* begins with '1\\t2\\t3', .*: {COMMAS}"),
    "spaces": (raw("1 2 3\n0 4 5\n"), f"row 1 .* begins with '1 2 3', .*: {COMMAS}"),
    "quotes": (raw('"1","2"\n"0","4"\n'), f'row 1 .* begins with \'"1","2"\', .*: {COMMAS}'),
    "commas at the end": (raw("1,2,3,\n0,4,5,\n"), f"row 1 .* begins with '1,2,3,', and its cell 4 is empty: {COMMAS}"),
    "comments": (raw("# label, pixels\n1,2\n0,4\n"), "row 1 .* begins with '# label, pixels', .*take the header out"),
    "underscores": (raw("1,2_0\n0,4\n"), f"row 1 .* cell 2 is not a number: {COMMAS}"),
    "first row with a hole": (raw("1,,3\n0,4,5\n"), f"row 1 .* cell 2 is empty: {COMMAS}"),
    "JSON": (raw('{"images": [[1, 2]], "labels": [1]}'), f'row 1 .* begins with \'{{"images": .*: {COMMAS}'),
    "text": (raw("hello\nworld\n"), f"row 1 .* begins with 'hello', .*: {COMMAS}"),
    "ragged CSV": (raw("1,2,3\n0,4\n"), "row 2 .* has 2 cells and the first 3"),
    "CSV of labels only": (raw("1\n0\n"), r"shape \(2, 0\)"),
    "CSV with NaN": (raw("1,2,3\n0,4,nan\n"), "has 1 pixels and 0 labels that are NaN"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_files_are_refused_in_a_sentence(case, tmp_path):
    write, message = MALFORMED[case]
    path = tmp_path / "my-images-file"
    write(path)
    with pytest.raises(InputError, match=message) as caught:
        ImageClassifier(path, 5, train=1)
    assert re.search(re.escape(tmp_path.name), str(caught.value)), "the file is not named"
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(float).max, reason="no floats longer than a double")
def test_pixels_beyond_a_double_are_refused(tmp_path):
    path = save_npz(tmp_path / "long.npz", images=IMAGES.astype(np.longdouble) * np.longdouble("1e4000"), labels=LABELS)
    with pytest.raises(InputError, match=r"long\.npz' has \d+ pixels and 0 labels that are .* above 1\.8e308"):
        read_images(path)


def test_arrays_of_an_npz_are_those_that_numpy_reads(tmp_path):
    """By columns, with the most significant byte first, and compressed."""
    turned = np.asfortranarray(IMAGES.astype(">f4"))
    np.savez_compressed(tmp_path / "turned.npz", images=turned, labels=LABELS[:, None].astype(">i8"))
    found = read_images(tmp_path / "turned.npz")
    np.testing.assert_array_equal(found.pixels, IMAGES.reshape(30, 6) / 255)
    np.testing.assert_array_equal(found.labels, LABELS)
