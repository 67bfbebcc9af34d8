"""Named arrays of any shape in one `.npz` file, without pickles."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latebloom.errors import InputError
from latebloom.store.files import durable

if TYPE_CHECKING:
    import numpy as np


def check_arrays(arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """`arrays` as NumPy arrays of a type that `.npz` holds exactly."""
    import numpy as np

    checked = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in checked.items():
        if array.dtype.kind not in "biufcUS":
            raise InputError(
                f"array {name!r} has dtype {array.dtype}: give numbers or text, e.g. array.astype('float32')"
            )
    return checked


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write `arrays` as `numpy.savez` does, which itself cannot take an array named `file`."""
    from numpy.lib import format as npy

    with durable(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, array, allow_pickle=False)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of the file."""
    import numpy as np

    # Opened here: NumPy leaves its own file open when the archive is broken.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def check_archive(path: Path) -> None:
    """Raise if the file was cut short; its table of contents is at the end, so this is cheap."""
    with zipfile.ZipFile(path):
        pass
