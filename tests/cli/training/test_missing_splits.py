"""A missing split of validation is told with the splits that exist, of any kind of files."""

from argparse import Namespace

import pytest

from fairseq_struct.cli.training.missing_splits import explained
from fairseq_struct.errors import InputError


@pytest.mark.parametrize(
    "ends",
    [[".idx", ".bin"], [".de-en.de.idx", ".de-en.en.idx"], [".label.idx", ".label.bin"], [".tsv"]],
)
def test_the_splits_are_listed(tmp_path, ends):
    for end in ends:
        for split in ("train", "valid", "test"):
            (tmp_path / f"{split}{end}").touch()
    for name in ("dict.txt", "dict.de.txt", "dict.label.txt", "options.json"):
        (tmp_path / name).touch()
    args = Namespace(data=f"{tmp_path}:elsewhere", train_subset="train", valid_subset="valid,nope")
    error = FileNotFoundError(f"Dataset not found: nope ({tmp_path})")
    message = str(explained(error, args))
    assert message == f"--valid-subset nope: {tmp_path} has no such split, but test, train, valid"
    assert isinstance(explained(InputError(f"{tmp_path}/nope.bin: no such file"), args), InputError)
    for other in (RuntimeError("nope"), FileNotFoundError("else"), InputError("else")):
        assert explained(other, args) is other
    (tmp_path / f"nope{ends[0]}").touch()  # it is there, but something is wrong with it
    assert explained(error, args) is error


def test_data_without_files_of_splits(tmp_path):
    error = InputError("no subset 'nope'")
    for data in (None, "", str(tmp_path), str(tmp_path / "none")):
        args = Namespace(data=data, train_subset="train", valid_subset="nope")
        assert explained(error, args) is error
