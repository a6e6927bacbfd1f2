"""Folders of dependency treebanks: of Universal Dependencies, or prepared ones."""

from __future__ import annotations

from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import files_of

# The names of the splits in file names of Universal Dependencies.
NAMES = {"train": "train", "valid": "dev", "test": "test"}
DICTIONARY = "dict.txt"


def treebank_file(folder: str | Path, split: str) -> Path:
    """The CoNLL-U file of a split.

    Args:
        folder: of files ``*-train.conllu``, ``*-dev.conllu`` and ``*-test.conllu``; or the
            ``data-bin`` that ``fairseq-struct prepare dependency_treebank`` writes, whose trees
            are in ``trees/`` beside it.
        split: ``train``, ``valid`` or ``test``.

    Raises:
        InputError: there is no such file, or there are several.
    """
    folder = Path(folder)
    if (folder / DICTIONARY).is_file():
        path = folder.absolute().parent / "trees" / f"{split}.conllu"
        if not path.is_file():
            raise InputError(f"{path}: no such file; prepare the treebank again")
        return path
    pattern = f"*-{NAMES.get(split, split)}.conllu"
    found = files_of(folder, pattern)
    if len(found) != 1:
        count = f"{len(found)} files" if found else "no file"
        raise InputError(f"{folder}: {count} {pattern}; a treebank has one for each split")
    return found[0]
