"""What the prepared folder of transformation lists holds, as it is read (:mod:`.list_folder`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fairseq_struct.data.prepared.list_folder import (
    CATEGORIES,
    OPTIONS,
    UNKNOWN,
    WORDS,
    array_path,
)
from fairseq_struct.data.prepared.vocabulary.dictionary_file import (
    check_dictionary,
    load_dictionary,
)
from fairseq_struct.data.readers.transformation_lists import ListOptions, word_spans
from fairseq_struct.errors import InputError
from fairseq_struct.files.arrays import read_array
from fairseq_struct.files.text_files import json_file

FAIRSEQ_SYMBOLS = 4


@dataclass(frozen=True)
class ListedPart:
    """Sentences of a part, one after the other.

    Attributes:
        sizes: (sentences, 2) words and steps of each.
        words: (words,) numbers of the dictionary.
        steps: (steps, 3) start and end over the current sequence, and the category, -1 if it is
            not in the training part.
        spans: (steps, 2) start and end over the words of the sentence.
    """

    sizes: np.ndarray
    words: np.ndarray
    steps: np.ndarray
    spans: np.ndarray

    @cached_property
    def lengths(self) -> np.ndarray:
        """(steps,) symbols of the current sequence before each step."""
        words, counts = self.sizes.T
        shrunk = self.steps[:, 1] - self.steps[:, 0] - 1
        before = np.cumsum(shrunk) - shrunk
        firsts = np.cumsum(counts) - counts
        return np.repeat(words + before[firsts], counts) - before


class ListSettings(NamedTuple):
    """What a folder says of its lists.

    Args:
        options: of the trees.
        lower: whether words are lower-cased.
        word_categories: those of steps that tag a word, in the training part.
    """

    options: ListOptions
    lower: bool
    word_categories: frozenset[str]


def read_list_settings(data: str | Path) -> ListSettings:
    """What a folder says of its lists.

    Args:
        data: the folder ``data-bin``.

    Raises:
        InputError: the file is missing or damaged.
    """
    path = Path(data) / OPTIONS
    if not path.is_file():
        raise InputError(f"{path}: no such file; fairseq-struct prepare transformation_lists "
                         "makes such folders")  # fmt: skip
    with json_file(path) as content:
        options, lower = ListOptions(**content["options"]), content["lower"]
        if not isinstance(lower, bool) or not isinstance(options.punctuation, bool):
            raise ValueError
        of_words = frozenset(content["word_categories"])
    return ListSettings(options, lower, of_words)


def read_categories(data: str | Path) -> list[str]:
    """The categories of a folder's training part, in the order of their numbers.

    Raises:
        InputError: the file is missing or damaged.
    """
    found = load_dictionary(Path(data) / CATEGORIES)
    return found.symbols[found.nspecial :]


def read_part(data: str | Path, name: str) -> ListedPart:
    """Read a part of a folder.

    Args:
        data: the folder ``data-bin``.
        name: of the part.

    Raises:
        InputError: a file is missing or damaged, or does not fit the others.
    """
    missing = f"there is no part {name!r}"
    sizes = _read(array_path(data, name, "sentences"), (2,), missing=missing)
    words = _read(array_path(data, name, "words"), ())
    steps = _read(array_path(data, name, "steps"), (3,))
    known = len(check_dictionary(Path(data) / WORDS)) + FAIRSEQ_SYMBOLS
    categories = len(check_dictionary(Path(data) / CATEGORIES))
    try:
        _check(sizes, words, steps, known, categories)
        spans = _spans(sizes, steps)
    except ValueError as problem:
        raise InputError(
            f"{data}: the part {name} is damaged ({problem}); prepare the data again"
        ) from None
    return ListedPart(sizes, words, steps, spans)


def _read(path: Path, row: tuple[int, ...], **more: str) -> np.ndarray:
    def fits(shape: tuple[int, ...]) -> bool:
        return bool(shape) and shape[0] > 0 and shape[1:] == row

    return read_array(path, np.int32, fits, **more)


def _check(sizes: np.ndarray, words: np.ndarray, steps: np.ndarray, known: int, categories: int):
    """Check what cannot be true of these dictionaries.

    Raises:
        ValueError: what it is.
    """
    if sizes.min() < 1 or sizes[:, 0].sum(dtype=np.int64) != len(words):
        raise ValueError("the number of words")
    if sizes[:, 1].sum(dtype=np.int64) != len(steps):
        raise ValueError("the number of steps")
    if words.min() < 0 or words.max() >= known:
        raise ValueError("a word that the dictionary lacks")
    if steps[:, 2].min() < UNKNOWN or steps[:, 2].max() >= categories:
        raise ValueError("a category that the dictionary lacks")


def _spans(sizes: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The spans of all steps over words.

    Raises:
        ValueError: the steps of a sentence build no tree.
    """
    rows, found, first = steps[:, :2].tolist(), [], 0
    for length, count in sizes.tolist():
        found += word_spans(rows[first : first + count], length)
        first += count
    return np.array(found, np.int32)
