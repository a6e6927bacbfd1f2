"""Images and labels in idx files: what is read, and what is refused."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from fairseq_struct.data.readers.idx import FILES, image_size, read_images, write_idx
from fairseq_struct.errors import InputError

IMAGES, LABELS = FILES["train"]
MNIST = Path(os.environ.get("DATA") or "absent") / "mnist"


@pytest.fixture
def folder(tmp_path):
    write_idx(tmp_path / IMAGES, np.arange(2 * 3 * 4).reshape(2, 3, 4))
    write_idx(tmp_path / f"{LABELS}.gz", np.array([7, 255]))
    return tmp_path


def test_plain_and_gzipped_files_are_read_as_they_were_written(folder):
    images, labels = read_images(folder, "train")
    assert images.tolist() == np.arange(24).reshape(2, 3, 4).tolist()
    assert labels.tolist() == [7, 255] and images.dtype == labels.dtype == np.uint8
    assert image_size(folder, "train") == (3, 4)
    # The head, by the definition of the form.
    assert (folder / IMAGES).read_bytes()[:16] == bytes([0, 0, 8, 3, *[0, 0, 0, 2], *[0, 0, 0, 3],
                                                         *[0, 0, 0, 4]])  # fmt: skip
    (folder / IMAGES).write_bytes(gzip.compress((folder / IMAGES).read_bytes()))  # without .gz
    assert np.array_equal(read_images(folder, "train")[0], images)


def test_the_same_array_makes_the_same_file(folder):
    before = (folder / f"{LABELS}.gz").read_bytes()
    write_idx(folder / f"{LABELS}.gz", np.array([7, 255]))
    assert (folder / f"{LABELS}.gz").read_bytes() == before


def shorter(path, by):
    path.write_bytes(path.read_bytes()[:-by])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / IMAGES).unlink(), f"{IMAGES}: no such file"),
        (lambda f: shorter(f / IMAGES, 1), "truncated: it should have 24 bytes after its head"),
        (lambda f: shorter(f / IMAGES, 28), "truncated in its head"),
        (lambda f: shorter(f / IMAGES, 37), "not an idx file of unsigned bytes in 3 dimension(s)"),
        (lambda f: shorter(f / f"{LABELS}.gz", 3), f"{LABELS}.gz: truncated"),
        (lambda f: (f / IMAGES).write_bytes(bytes([0, 0, 13, 3]) + b"\0" * 12),
         "not an idx file of unsigned bytes"),
        (lambda f: (f / IMAGES).write_bytes((f / IMAGES).read_bytes() + b"!"),
         "longer than it says: it should have 24 bytes"),
        (lambda f: write_idx(f / f"{LABELS}.gz", np.array([1, 2, 3])),
         "the split train has 2 images, but 3 labels"),
        (lambda f: [write_idx(f / IMAGES, np.zeros((0, 3, 4))),
                    write_idx(f / f"{LABELS}.gz", np.zeros(0))], "the split train has no images"),
        (lambda f: write_idx(f / f"{LABELS}.gz", np.zeros((2, 1))), "in 1 dimension(s)"),
        (lambda f: (f / f"{LABELS}.gz").write_bytes(b"\x1f\x8b\x08" + b"\0" * 7 + b"\xff" * 9),
         f"{LABELS}.gz: damaged"),
    ],
)  # fmt: skip
def test_a_bad_file_is_one_error(folder, damage, message):
    damage(folder)
    with pytest.raises(InputError) as error:
        read_images(folder, "train")
    assert message in str(error.value) and str(folder) in str(error.value)


@pytest.mark.parametrize("packed", [False, True])
def test_a_head_of_more_than_there_is_memory_for(folder, packed):
    """4e18 bytes; neither is asked for."""
    damaged = (folder / IMAGES).read_bytes()[:4] + b"\xff" * 12 + b"\0" * 24
    (folder / IMAGES).write_bytes(gzip.compress(damaged) if packed else damaged)
    with pytest.raises(InputError, match=f"truncated: it should have {(2**32 - 1) ** 3} bytes"):
        read_images(folder, "train")
    if not packed:  # before a network of such images is made
        with pytest.raises(InputError, match="truncated: it should have"):
            image_size(folder, "train")


@pytest.mark.skipif(not MNIST.is_dir(), reason="DATA names no folder that holds mnist")
def test_mnist():
    for split, count in (("train", 60_000), ("test", 10_000)):
        images, labels = read_images(MNIST, split)
        assert images.shape == (count, 28, 28) and set(labels.tolist()) == set(range(10))
