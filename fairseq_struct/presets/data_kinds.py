"""Folders of data: which kind they are, by their files, and what they tell about the training."""

from __future__ import annotations

import os
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


# Tasks of these kinds train on several folders, one after the other.
OF_SEVERAL_FOLDERS = ("translation", "language model", "labelled sentences")


@dataclass(frozen=True)
class DataFolder:
    """A folder of data that fits a preset.

    Attributes:
        path: what fairseq-train takes: ``data-bin`` of a prepared folder, or the folder itself, or
            several of them, joined by colons.
        options: options of fairseq-train that its files tell.
    """

    path: Path
    options: tuple[str, ...] = ()


def data_folder(preset: Preset, named: Path) -> DataFolder:
    """Find the data of a preset in a folder.

    Args:
        preset: the preset.
        named: a prepared folder, the ``data-bin`` inside, or several of either, joined by colons,
            which are trained on one after the other.

    Raises:
        InputError: there is no such folder, it is of another kind, or there are several of a kind
            that is one folder.
    """
    make = f"; to make one: {preset.preparation}"
    places = _places(named)
    for folder in {one: None for place in places for one in place}:
        if not folder.exists():
            raise InputError(f"{folder}: no such folder{make}")
        if not folder.is_dir():
            raise InputError(f"{folder}: is a file, not a folder{make}")
    for place in places:
        first = place[0]
        if KINDS[preset.data](first):
            if len(place) > 1 and preset.data not in OF_SEVERAL_FOLDERS:
                raise InputError(f"{named}: {preset.name} trains on one folder, not on several")
            joined = Path(os.pathsep.join(map(str, place)))
            return DataFolder(joined, (*_languages(preset, first), *_from_data(preset, first)))
    kinds = [kind for kind, is_of in KINDS.items() if any(is_of(place[0]) for place in places)]
    holds = f"holds data of the kind {kinds[0]}" if kinds else "holds no prepared data"
    raise InputError(
        f"{named}: {holds}, but {preset.name} takes a folder of the kind {preset.data}{make}"
    )


def is_data_folder(preset: Preset, named: Path) -> bool:
    """Whether :func:`data_folder` finds data of the kind that a preset takes."""
    try:
        data_folder(preset, named)
    except InputError:
        return False
    return True


def _places(named: Path) -> list[list[Path]]:
    """Where the data may be: lists of folders, each of which is trained on in its turn."""
    parts = [Path(part) for part in str(named).split(os.pathsep) if part]
    if len(parts) > 1 and not named.exists():
        inside = (part / DATA_BIN for part in parts)
        return [[own if own.is_dir() else part for own, part in zip(inside, parts, strict=True)]]
    places = [[named / DATA_BIN]] if (named / DATA_BIN).is_dir() else []
    shards = []
    while (shard := named / f"{DATA_BIN}{len(shards)}").is_dir():
        shards.append(shard)
    return [*places, *([shards] if shards else []), [named]]


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
        prepared = folder.name.startswith(DATA_BIN)
        file = folder.parent / name if prepared else folder / name
        if file.is_file():
            found += [f"--{option}", str(file)]
    return found
