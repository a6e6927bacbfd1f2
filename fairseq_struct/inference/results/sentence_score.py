"""The probability of a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any


class SentenceScore(float):
    """log p of a sentence with its end, in nats, as a number.

    Args:
        value: the sum of ``word_scores``.
        words: the words.
        word_scores: log p of each word given the words before it, and of the end of the sentence.
        unknown: those of the words that the model does not know, in order.
    """

    words: tuple[str, ...]
    word_scores: tuple[float, ...]
    unknown: tuple[str, ...]

    def __new__(
        cls, value: float, words: Sequence[str] = (), word_scores: Sequence[float] = (),
        unknown: Sequence[str] = (),
    ):  # fmt: skip
        self = super().__new__(cls, value)
        self.words, self.word_scores = tuple(words), tuple(word_scores)
        self.unknown = tuple(unknown)
        return self

    def __repr__(self) -> str:
        return f"SentenceScore({float(self):.4f}: {' '.join(self.words)})"

    @property
    def perplexity(self) -> float:
        """exp(-log p / (words + 1)); the end of the sentence counts as a word."""
        return perplexity([self])

    def to_dict(self) -> dict[str, Any]:
        """Words, log p, log p of each word, and the unknown words, as JSON has them."""
        return {"words": list(self.words), "log_probability": round(float(self), 6),
                "word_scores": [round(one, 6) for one in self.word_scores],
                "unknown": list(self.unknown)}  # fmt: skip


def perplexity(scores: Iterable[SentenceScore]) -> float:
    """Perplexity per word of sentences together; ends of sentences count as words.

    Raises:
        ValueError: there is no sentence.
    """
    scores = list(scores)
    count = sum(len(one.word_scores) for one in scores)
    if not count:
        raise ValueError("the perplexity of no sentence is not defined")
    return perplexity_of(math.fsum(scores), count)


def perplexity_of(log_probability: float, words: int) -> float:
    """exp(-log p / words), infinite where that is above all numbers of float64.

    Args:
        log_probability: in nats.
        words: their number, 1 or more.
    """
    try:
        return math.exp(-log_probability / words)
    except OverflowError:
        return math.inf
