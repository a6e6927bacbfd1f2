"""Folders of data: which kind they are, by their files, and what they tell about the training."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.presets.preset import Preset

DATA_BIN = "data-bin"


def _has(*patterns: str) -> Callable[[Path], bool]:
    return lambda folder: all(any(folder.glob(pattern)) for pattern in patterns)


def _is_treebank(folder: Path) -> bool:
    """A folder of CoNLL-U files, or text that was prepared with its trees."""
    prepared = (folder / "dict.txt").is_file() and any(folder.glob("../trees/train.conllu"))
    return prepared or any(folder.glob("*-train.conllu"))


# Kind -> whether a folder is of this kind. A folder may be of several.
KINDS: dict[str, Callable[[Path], bool]] = {
    "translation": _has("dict.*.txt", "train.*-*.*"),
    "language model": _has("dict.txt", "train.idx"),
    "treebank": _is_treebank,
    "labelled sentences": _has("train.label*", "train.sentence1*"),
    "semantic similarity": _has("dict.txt", "train.tsv"),
    "images": _has("train-images*idx3*", "train-labels*idx1*"),
    "sequence completion": _has("sequences.npy"),
    "demonstrations of Craft": _has("craft.json"),
    "transformation lists": _has("lists.json"),
}


@dataclass(frozen=True)
class DataFolder:
    """A folder of data that fits a preset.

    Attributes:
        path: what fairseq-train takes: ``data-bin`` of a prepared folder, or the folder itself.
        options: options of fairseq-train that its files tell.
    """

    path: Path
    options: tuple[str, ...] = ()


def data_folder(preset: Preset, named: Path) -> DataFolder:
    """Find the data of a preset in a folder.

    Args:
        preset: the preset.
        named: a prepared folder, or the ``data-bin`` inside.

    Raises:
        InputError: there is no such folder, or it is of another kind.
    """
    make = f"; to make one: {preset.preparation}"
    if not named.exists():
        raise InputError(f"{named}: no such folder{make}")
    if not named.is_dir():
        raise InputError(f"{named}: is a file, not a folder{make}")
    places = [folder for folder in (named / DATA_BIN, named) if folder.is_dir()]
    for folder in places:
        if KINDS[preset.data](folder):
            return DataFolder(folder, (*_languages(preset, folder), *_from_data(preset, folder)))
    kinds = [kind for kind, is_of in KINDS.items() if any(map(is_of, places))]
    holds = f"holds data of the kind {kinds[0]}" if kinds else "holds no prepared data"
    raise InputError(
        f"{named}: {holds}, but {preset.name} takes a folder of the kind {preset.data}{make}"
    )


def is_data_folder(preset: Preset, named: Path) -> bool:
    """Whether a folder, or the ``data-bin`` inside, holds data of the kind that a preset takes."""
    return any(KINDS[preset.data](one) for one in (named / DATA_BIN, named) if one.is_dir())


def _languages(preset: Preset, folder: Path) -> list[str]:
    """The languages of parallel text, from the names of its files."""
    if preset.data != "translation":
        return []
    pairs = {
        match.groups()
        for path in folder.glob("train.*")
        if (match := re.match(r"train\.([^.-]+)-([^.-]+)\.", path.name))
    }
    if len(pairs) != 1:  # the user names the pair
        return []
    ((source, target),) = pairs
    return ["--source-lang", source, "--target-lang", target]


def _from_data(preset: Preset, folder: Path) -> list[str]:
    """Options whose files were prepared with the data."""
    found = []
    for option, name in (preset.from_data or {}).items():
        file = folder.parent / name if folder.name == DATA_BIN else folder / name
        if file.is_file():
            found += [f"--{option}", str(file)]
    return found
