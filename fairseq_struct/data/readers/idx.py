"""Reads and writes images and labels in idx files, the form of MNIST, gzipped or not."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import reading

# The names of MNIST; an ending .gz may follow.
FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
GZIP, UNSIGNED_BYTES = b"\x1f\x8b", 8
PIECE = 1 << 24


def image_size(folder: str | Path, split: str) -> tuple[int, int]:
    """Height and width of a split's images, from the head of their file.

    Raises:
        InputError: as for :func:`read_images`.
    """
    path = _path(folder, FILES[split][0])
    with _opened(path) as file:
        shape = _head(file, path, 3)
        if not isinstance(file, gzip.GzipFile):
            _check_length(path, path.stat().st_size - file.tell(), shape)
    return shape[1:]


def read_images(folder: str | Path, split: str) -> tuple[np.ndarray, np.ndarray]:
    """The images and labels of a split.

    Args:
        folder: has the idx files of MNIST's names, gzipped or not.
        split: ``train`` or ``test``.

    Returns:
        Images (n, height, width) and labels (n,), unsigned bytes.

    Raises:
        InputError: a file is missing, damaged, truncated or of another form; or there are no
            images, or not as many labels.
    """
    images, labels = read_idx(_path(folder, FILES[split][0]), 3), read_labels(folder, split)
    if len(images) != len(labels):
        raise InputError(f"{folder}: the split {split} has {len(images)} images, but "
                         f"{len(labels)} labels")  # fmt: skip
    if not images.size:
        raise InputError(f"{folder}: the split {split} has no images")
    return images, labels


def read_labels(folder: str | Path, split: str) -> np.ndarray:
    """The labels of a split, (n,).

    Raises:
        InputError: as for :func:`read_images`.
    """
    return read_idx(_path(folder, FILES[split][1]), 1)


def read_idx(path: Path, dimensions: int) -> np.ndarray:
    """An array of unsigned bytes.

    Args:
        path: the file.
        dimensions: number of dimensions that the array must have.

    Raises:
        InputError: the file is missing, damaged, truncated or of another form.
    """
    with _opened(path) as file:
        shape = _head(file, path, dimensions)
        wanted, content = math.prod(shape), bytearray()
        # In pieces: a damaged head may ask for more than there is memory.
        while piece := file.read(min(PIECE, wanted + 1 - len(content))):
            content += piece
    _check_length(path, len(content), shape)
    return np.frombuffer(content, np.uint8).reshape(shape)


def write_idx(path: Path, array: np.ndarray):
    """Write an array of unsigned bytes, gzipped if the name ends in .gz; always the same bytes."""
    head = struct.pack(f">4B{array.ndim}I", 0, 0, UNSIGNED_BYTES, array.ndim, *array.shape)
    content = head + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def _path(folder: str | Path, name: str) -> Path:
    plain = Path(folder) / name
    packed = plain.with_name(f"{name}.gz")
    return packed if packed.is_file() and not plain.is_file() else plain


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """A file, unpacked if it is gzipped; everything wrong with it is one error."""
    try:
        with reading(path), path.open("rb") as file:
            packed = file.read(2) == GZIP
            file.seek(0)
            yield gzip.GzipFile(fileobj=file) if packed else file
    except EOFError:
        raise InputError(f"{path}: truncated") from None
    except zlib.error as error:
        raise InputError(f"{path}: damaged ({error})") from None


def _check_length(path: Path, length: int, shape: tuple[int, ...]):
    wanted = math.prod(shape)
    if length != wanted:
        how = "truncated: it" if length < wanted else "longer than it says: it"
        raise InputError(f"{path}: {how} should have {wanted} bytes after its head")


def _head(file: BinaryIO, path: Path, dimensions: int) -> tuple[int, ...]:
    """The shape of the array."""
    magic = file.read(4)
    if len(magic) < 4 or magic[:3] != bytes([0, 0, UNSIGNED_BYTES]) or magic[3] != dimensions:
        raise InputError(f"{path}: not an idx file of unsigned bytes in {dimensions} dimension(s)")
    sizes = file.read(4 * dimensions)
    if len(sizes) < 4 * dimensions:
        raise InputError(f"{path}: truncated in its head")
    return struct.unpack(f">{dimensions}I", sizes)
