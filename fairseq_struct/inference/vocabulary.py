"""Words of raw text as a trained model's dictionary has them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from fairseq_struct.data.datasets.whole_batches import padded
from fairseq_struct.data.readers.penn_treebank import is_number
from fairseq_struct.files.reserved_words import index_of


class Vocabulary:
    """Looks up words of raw text in a language model's dictionary.

    If a word is missing, its lower-case form is looked up, then ``N`` if it is a number. Otherwise
    it is the unknown word.

    Args:
        words: a fairseq dictionary.
    """

    def __init__(self, words):
        self.words = words

    def index(self, word: str) -> int:
        """Index of a word."""
        for form in (word, word.lower(), *(["N"] if is_number(word) else [])):
            index = index_of(self.words, form)
            if index != self.words.unk():
                return index
        return self.words.unk()

    def read(self, sentences: Sequence[Sequence[str]], ends: int = 0) -> torch.Tensor:
        """Make tokens (batch, longest + 1 + ends): an end of sentence, the words, padding.

        Args:
            sentences: the words of each sentence.
            ends: 1 to add an end of sentence after each sentence.
        """
        end = self.words.eos()
        rows = [[end, *map(self.index, words), *[end] * ends] for words in sentences]
        return padded(list(map(torch.tensor, rows)), self.words.pad())
