"""Kinds of predictions: files, or names of trivial trees. This module imports nothing heavy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fairseq_struct.errors import InputError, suggestion
from fairseq_struct.files.compressed_files import opened, without_ending

TRIVIAL_BRACKETS = ("right_branching", "left_branching", "balanced", "random")
TRIVIAL_HEADS = ("right_chain", "left_chain", "random")
DRAWS = 5  # of random trees, for records; as in the ON-LSTM paper


def draws_of(name: str) -> range:
    """The seeds of trivial trees of one kind: several if they are drawn."""
    return range(1, (DRAWS if name == "random" else 1) + 1)


def is_treebank(path: Path) -> bool:
    """Whether a path is a folder or a file of dependency trees, by its suffix or first line.

    Raises:
        InputError: the file cannot be read or decompressed.
    """
    if path.is_dir() or without_ending(path).suffix in (".conllu", ".dp"):
        return True
    if not path.is_file():
        return False
    with opened(path) as lines:
        first = next((line for line in lines if line.strip() and line[:1] != b"#"), b"")
    return first.count(b"\t") == 9


def file_of(predicted: Path | str, trivial: Sequence[str]) -> Path | None:
    """The path of predicted trees; None for the name of trivial trees.

    Raises:
        InputError: the path does not exist; the message suggests a similar name of trivial trees.
    """
    if str(predicted) in trivial:
        return None
    if not os.path.exists(predicted):
        raise InputError(f"{predicted}: no such file{suggestion(predicted, trivial)}")
    return Path(predicted)
