"""Words of a text that look like fairseq's own symbols, for which nobody may take them.

``<unk>`` in a text is the unknown word, as in the Penn Treebank's. The others are no words: text
that data is prepared from is refused where it has one, with file and line; text that a trained
model or a validation reads has a word there that the model does not know. Whoever turns text into
numbers asks here.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairseq_struct.errors import InputError

# The symbol in the place of a hidden word.
MASK = "<mask>"
RESERVED = ("<s>", "<pad>", "</s>", MASK)


def refuse_reserved(words: Iterable[str], place: str):
    """Complain about a symbol among the words of text to prepare.

    Args:
        words: of a sentence.
        place: where it stands, file and line.

    Raises:
        InputError: there is one.
    """
    for word in words:
        if word in RESERVED:
            raise InputError(f"{place}: {word} is one of fairseq's own symbols, and no word")


def index_of(dictionary, word: str) -> int:
    """Index of a word of raw text, the unknown word's for what is not there or reserved.

    Args:
        dictionary: fairseq's.
        word: as it stands in the text.
    """
    return dictionary.unk() if word in RESERVED else dictionary.index(word)
