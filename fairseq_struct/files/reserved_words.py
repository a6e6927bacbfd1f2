"""Words of a text that are written otherwise, or look like fairseq's own symbols.

``<unk>`` in a text is the unknown word, as in the language model text of the Penn Treebank. The
other symbols are not words. In text to prepare, such a symbol is an error with file and line. In
text that a trained model or a validation reads, it counts as an unknown word. All code that turns
text into indices uses this module.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairseq_struct.errors import InputError

# The symbol that replaces a hidden word.
MASK = "<mask>"
RESERVED = ("<s>", "<pad>", "</s>", MASK)


def refuse_reserved(words: Iterable[str], place: str):
    """Refuse a sentence to prepare that contains a reserved symbol.

    Args:
        words: the words of the sentence.
        place: file and line of the sentence.

    Raises:
        InputError: a word is a reserved symbol.
    """
    for word in words:
        if word in RESERVED:
            raise InputError(f"{place}: {word} is one of fairseq's own symbols, not a word")


def without_spaces(word: str) -> str:
    """Write a word without spaces: ``20_000`` for ``20 000``, ``_`` for a word of spaces alone."""
    return "_".join(word.split()) or "_"


def index_of(dictionary, word: str) -> int:
    """Index of a word of raw text; reserved and missing words have the unknown word's index.

    Args:
        dictionary: a fairseq dictionary.
        word: the word, unchanged from the text; spaces within it become ``_``, as in prepared
            treebanks.
    """
    if " " in word:
        word = without_spaces(word)
    return dictionary.unk() if word in RESERVED else dictionary.index(word)
