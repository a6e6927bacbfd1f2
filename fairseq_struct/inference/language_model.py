"""Probabilities of sentences under a trained language model."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from tqdm import tqdm

from fairseq_struct.data.prepared.reserved_words import index_of
from fairseq_struct.data.readers.penn_treebank import is_number
from fairseq_struct.errors import InputError
from fairseq_struct.inference.reading import BATCH_WORDS, by_length


class Vocabulary:
    """Words of raw text in a language model's dictionary.

    A word that is not there is looked up in lower case, a number as ``N``; failing that it is the
    unknown word.

    Args:
        words: fairseq's dictionary.
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
        """(batch, longest + 1 + ends) tokens: the end of another sentence, the words, padding.

        Args:
            sentences: words of each.
            ends: 1 for a further end behind each sentence.
        """
        longest = max(map(len, sentences)) + 1 + ends
        tokens = torch.full((len(sentences), longest), self.words.pad())
        tokens[:, 0] = self.words.eos()
        for row, words in zip(tokens, sentences, strict=True):
            own = [self.index(word) for word in words] + [self.words.eos()] * ends
            row[1 : len(own) + 1] = torch.tensor(own)
        return tokens


class LanguageModelScorer:
    """log p(x_1 .. x_n, end) of sentences, each read from a state of zeros after another's end.

    Args:
        model: predicts every word from those before it, as fairseq's language models do.
        words: its dictionary.
        batch_words: most words that are read at once.
    """

    def __init__(self, model, words, batch_words: int = BATCH_WORDS):
        self.model, self.words = model.eval(), words
        self.batch_words = batch_words
        self.vocabulary = Vocabulary(words)

    def known(self, word: str) -> bool:
        """Whether the model tells the word from other unknown ones."""
        return self.vocabulary.index(word) != self.words.unk()

    def log_probabilities(
        self, sentences: Sequence[Sequence[str]], progress: bool = False
    ) -> list[float]:
        """log p of every sentence, in nats.

        Args:
            sentences: words of each, at least one.
            progress: show a bar.

        Raises:
            InputError: a sentence is a string, or empty.
        """
        if any(isinstance(sentence, str) or not sentence for sentence in sentences):
            raise InputError("every sentence is a list of words, at least one")
        found = by_length(
            sentences, self._score, lambda _, words: words, lambda words: len(words) + 1,
            self.batch_words,
        )  # fmt: skip
        hidden = None if progress else True
        return list(tqdm(found, total=len(sentences), disable=hidden, unit="sentence"))

    @torch.inference_mode()
    def _score(self, sentences: list[Sequence[str]]) -> list[float]:
        device = next(self.model.parameters()).device
        tokens = self.vocabulary.read(sentences, ends=1).to(device)
        given, wanted = tokens[:, :-1], tokens[:, 1:]
        inside = wanted != self.words.pad()
        # What is read where a sentence has ended counts nowhere; padding must be behind words.
        given = given.masked_fill(~inside, self.words.pad())
        scores = self.model.get_normalized_probs(self.model(given), log_probs=True)
        own = scores.gather(-1, wanted[..., None]).squeeze(-1)
        return own.masked_fill(~inside, 0.0).double().sum(1).tolist()
