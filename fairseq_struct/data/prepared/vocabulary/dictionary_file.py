"""fairseq's dictionary files: one ``word count`` per line.

Errors name the line; fairseq's own errors do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_text

OVERWRITE = " #fairseq:overwrite"


def require_words(counts: Mapping[str, int], least_count: int) -> None:
    """Check that at least one word is frequent enough for the dictionary.

    Args:
        counts: number of occurrences of each word of the training split.
        least_count: rarer words are unknown.

    Raises:
        InputError: all words are unknown.
    """
    word, most = max(counts.items(), key=lambda item: item[1])
    if most < least_count:
        raise InputError(
            f"--least-count {least_count} leaves no word: the most frequent word of the training "
            f"split, {word!r}, occurs {most} times"
        )


def dictionary_of(counts: Mapping[str, int], least_count: int = 1):
    """Make fairseq's ``Dictionary``, the most frequent entries first.

    Args:
        counts: number of occurrences of each entry.
        least_count: rarer entries are unknown.
    """
    from fairseq.data import Dictionary

    dictionary = Dictionary()
    for entry, count in counts.items():
        dictionary.add_symbol(entry, count)
    dictionary.finalize(threshold=least_count, padding_factor=1)
    return dictionary


def load_dictionary(path: str | Path):
    """Load a file as fairseq's ``Dictionary``.

    Raises:
        InputError: as for :func:`check_dictionary`.
    """
    from fairseq.data import Dictionary

    check_dictionary(path)
    return Dictionary.load(str(path))


def check_dictionary(path: str | Path) -> set[str]:
    """Check that fairseq can load a dictionary, and return its words.

    Raises:
        InputError: the file cannot be read, a line is not a word and a count, or a word is there
            twice; with the line.
    """
    # As fairseq reads lines: Python's universal newlines, with three kinds of line ends.
    text = read_text(path).replace("\r\n", "\n").replace("\r", "\n")
    lines = text.removesuffix("\n").split("\n") if text else []
    found = dict.fromkeys(("<s>", "<pad>", "</s>", "<unk>"), 0)
    for number, line in enumerate(lines, 1):
        again = line.rstrip().endswith(OVERWRITE)
        word, _, count = line.rstrip().removesuffix(OVERWRITE).rpartition(" ")
        try:
            int(count)
        except ValueError:
            word = ""
        if not word:
            raise InputError(f"{path}:{number}: expected a word and its count")
        if word in found and not again:
            where = f"line {found[word]}" if found[word] else "every dictionary"
            raise InputError(f"{path}:{number}: the word {word!r} is already in {where}")
        found[word] = number
    return {word for word, number in found.items() if number}
