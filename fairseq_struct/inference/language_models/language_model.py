"""Sentence probabilities of a trained language model."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import compress

from tqdm import tqdm

from fairseq_struct.errors import InputError
from fairseq_struct.inference.evaluation_mode import in_evaluation
from fairseq_struct.inference.reading import BATCH_WORDS, RawSentence, by_length, words_of
from fairseq_struct.inference.results.sentence_score import SentenceScore, perplexity
from fairseq_struct.inference.results.sequence_of_results import Results
from fairseq_struct.inference.vocabulary import Vocabulary


class LanguageModelScorer:
    """Computes log p(x_1 .. x_n, end) of sentences.

    The model reads each sentence from a zero state, after an end-of-sentence symbol.

    Args:
        model: a fairseq language model; it predicts every word from the words before it.
        words: dictionary of the model.
        batch_words: maximum number of words of a batch, padding included.
    """

    def __init__(self, model, words, batch_words: int = BATCH_WORDS):
        self.model, self.words = model.eval(), words
        self.batch_words = batch_words
        self.vocabulary = Vocabulary(words)

    def log_probabilities(
        self, sentences: Sequence[Sequence[str]], progress: bool = False
    ) -> list[float]:
        """Compute log p of every sentence, in nats.

        Args:
            sentences: the words of each sentence, at least one.
            progress: show a progress bar.

        Raises:
            InputError: a sentence is a string, or empty.
        """
        if any(isinstance(sentence, str) or not sentence for sentence in sentences):
            raise InputError("every sentence is a list of words, at least one")
        found = self._by_length(sentences, lambda _, words: words)
        hidden = None if progress else True
        scores = tqdm(found, total=len(sentences), disable=hidden, unit="sentence")
        return [float(score) for score in scores]

    def score(self, sentences: Iterable[RawSentence]) -> Results:
        """Compute log p of sentences, in nats, as a list of :class:`.SentenceScore`.

        Args:
            sentences: spaces separate the words.

        Raises:
            InputError: a sentence is empty.
        """
        return Results(self.scores(sentences))

    def scores(self, sentences: Iterable[RawSentence]) -> Iterator[SentenceScore]:
        """As :meth:`score`, as an iterator, which waits for as few sentences as possible."""
        return self._by_length(sentences, partial(words_of, longest=sys.maxsize))

    def perplexity(self, sentences: Iterable[RawSentence]) -> float:
        """The perplexity per word of sentences, each read from a zero state; ends count as words.

        The perplexity of ``fairseq-validate`` may be lower: it may read a text on from sentence to
        sentence.

        Args:
            sentences: spaces separate the words; at least one sentence.

        Raises:
            InputError: there is no sentence, or one is empty.
        """
        scores = self.score(sentences)
        if not scores:
            raise InputError("the perplexity of no sentence is not defined")
        return perplexity(scores)

    def _by_length(self, sentences: Iterable, read: Callable) -> Iterator[SentenceScore]:
        return by_length(
            sentences, self._score, read, lambda words: len(words) + 1, self.batch_words
        )

    @in_evaluation
    def _score(self, sentences: list[Sequence[str]]) -> list[SentenceScore]:
        device = next(self.model.parameters()).device
        tokens = self.vocabulary.read(sentences, ends=1).to(device)
        given, wanted = tokens[:, :-1], tokens[:, 1:]
        inside = wanted != self.words.pad()
        # Input after the end of a sentence has no effect; padding must follow the words.
        given = given.masked_fill(~inside, self.words.pad())
        if getattr(self.model, "scores_targets", False):
            own = self.model(given, targets=wanted)[1]["target_scores"]
        else:
            scores = self.model.get_normalized_probs(self.model(given), log_probs=True)
            own = scores.gather(-1, wanted[..., None]).squeeze(-1)
        rows, missing = own.double().tolist(), (wanted == self.words.unk()).tolist()
        return [
            SentenceScore(
                math.fsum(row[: len(words) + 1]), words, row[: len(words) + 1],
                list(compress(words, unknown)),
            )
            for words, row, unknown in zip(sentences, rows, missing, strict=True)
        ]  # fmt: skip
