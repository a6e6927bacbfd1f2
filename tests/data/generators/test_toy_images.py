"""Drawn images of digits, and the folder they are prepared in."""

import numpy as np
import pytest
from preparers import contents

from fairseq_struct.cli.main import main
from fairseq_struct.data.generators.toy_images import draw_digits
from fairseq_struct.data.readers.idx import read_images
from fairseq_struct.errors import InputError


def test_digits_differ_by_their_segments():
    images, labels = draw_digits(40, 16, seed=1, noise=0)
    assert sorted(labels.tolist()) == sorted(4 * list(range(10)))
    assert set(np.unique(images)) == {0, 255}
    lit = {label: int((images[labels == label][0] > 0).sum()) for label in range(10)}
    assert lit[8] == max(lit.values()) and lit[1] == min(lit.values())
    shifted = [image for image, label in zip(images, labels, strict=True) if label == 8]
    assert any(not np.array_equal(shifted[0], other) for other in shifted[1:])


@pytest.mark.parametrize("size", [72, 90, 198])
def test_no_digit_is_shifted_out_of_a_large_image(size):
    images, labels = draw_digits(600, size, seed=1, noise=0)
    lit = (images > 0).sum((1, 2))
    assert all(len(set(lit[labels == label])) == 1 for label in range(10)) and lit.min() > 0


def test_a_seed_draws_the_same_images():
    first, second, other = (draw_digits(20, 12, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first[0], second[0]) and np.array_equal(first[1], second[1])
    assert not np.array_equal(first[0], other[0])
    with pytest.raises(InputError, match="have 12 by 12 pixels or more"):
        draw_digits(10, 11, seed=1)


def test_the_folder_has_files_of_mnists_names(tmp_path, capsys):
    command = ["prepare", "image_classification", "generate"]
    for name in ("one", "two"):
        options = ["--images", "20", "10", "--size", "12"]
        assert main([*command, str(tmp_path / name), *options]) == 0
    assert "test: 10 images of 12 by 12 pixels" in capsys.readouterr().out
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    splits = {split: read_images(tmp_path / "one", split)[0] for split in ("train", "test")}
    assert [len(images) for images in splits.values()] == [20, 10]
    assert not any(np.array_equal(a, b) for a in splits["train"] for b in splits["test"])
    assert main([*command, str(tmp_path / "one"), "--images", "30", "10"]) == 2
    assert "was prepared with other inputs or options" in capsys.readouterr().err


def test_mnist_is_not_prepared(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["prepare", "image_classification", "mnist", str(tmp_path / "out")])
    assert stop.value.code == 2
    assert "MNIST needs no preparation" in capsys.readouterr().err
