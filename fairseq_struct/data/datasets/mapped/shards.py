"""Training data in several folders, one after another: ``fairseq-train data-bin0:data-bin1``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairseq import utils
from fairseq.data.indexed_dataset import infer_dataset_impl

from fairseq_struct.data.datasets.mapped.split_files import SplitFiles
from fairseq_struct.errors import InputError

_ENDINGS = (".bin", ".idx")


def shard(data: str, epoch: int = 1) -> Path:
    """The folder that an epoch reads, as in fairseq: epoch e trains on folder (e - 1) % n.

    fairseq loads splits for validation, and tasks their dictionaries, for epoch 1.

    Args:
        data: the folders, separated as in PATH.
        epoch: from 1 on.
    """
    folders = utils.split_paths(str(data))
    return Path(folders[(epoch - 1) % len(folders)])


def check_shards(data: str, dictionaries: Sequence[str]) -> None:
    """Refuse folders that cannot be trained on one after another, before the first one is.

    Args:
        data: the folders, separated as in PATH; one alone is not looked at.
        dictionaries: names of files that must be the same in all folders that have them.

    Raises:
        InputError: a folder is missing, lacks a file of the training split that the first one has,
            has a damaged one, or has another dictionary than the first.
    """
    first, *others = map(Path, utils.split_paths(data))
    training = sorted(path.name for path in first.glob("train.*") if path.suffix in _ENDINGS)
    for folder in others:
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder, but it is one of {data}")
        for name in training:
            if not (folder / name).is_file():
                raise InputError(f"{folder / name}: no such file, but {first} has one")
        for name in training:
            if name.endswith(".idx"):
                _check_index(folder / name)
        for name in dictionaries:
            own, of_first = folder / name, first / name
            if own.is_file() and own.read_bytes() != of_first.read_bytes():
                raise InputError(f"{own}: differs from {of_first}; shards have one dictionary")


def _check_index(index: Path):
    path = index.with_suffix("")
    if infer_dataset_impl(str(path)) == "mmap":
        try:
            SplitFiles(path)
        except (ValueError, OSError) as error:
            raise InputError(
                f"{path}.idx, .bin: damaged; prepare the data again ({error})"
            ) from None
