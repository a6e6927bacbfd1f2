"""Makes results of what tools find."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from fairseq_struct.inference.reading import RawSentence
from fairseq_struct.inference.results.classification import Classification
from fairseq_struct.inference.results.constituency_parse import ConstituencyParse
from fairseq_struct.inference.results.dependency_parse import DependencyParse
from fairseq_struct.inference.results.sequence_of_results import Results


class ParsesSentences(ABC):
    """A tool that finds trees."""

    @abstractmethod
    def trees(self, sentences: Iterable[RawSentence]) -> Iterator:
        """Yield what :func:`parse_of` takes, for each sentence."""

    def parse(self, sentences: Iterable[RawSentence]) -> Results:
        """Parse sentences into a list of :class:`.DependencyParse` or :class:`.ConstituencyParse`.

        Raises:
            InputError: as for :meth:`trees`.
        """
        return Results(map(parse_of, self.trees(sentences)))


def parse_of(found) -> DependencyParse | ConstituencyParse:
    """The tree that a parser found.

    Args:
        found: a :class:`.Constituents`, or an :class:`.Analysis` with heads or spans.
    """
    if hasattr(found, "sentences"):
        return trees_of(found)[0]
    return ConstituencyParse.of(found)


def trees_of(analysis) -> tuple[DependencyParse | ConstituencyParse, ...]:
    """The trees of all sentences of an :class:`.Analysis`."""
    if analysis.heads is not None:
        marginals = analysis.marginals or [None] * len(analysis.heads)
        rows = zip(analysis.heads, analysis.sentences, marginals, strict=True)
        return tuple(DependencyParse(*row) for row in rows)
    count = 0 if analysis.spans is None else len(analysis.spans)
    return tuple(ConstituencyParse.of(analysis.constituents(side)) for side in range(count))


def classification_of(analysis) -> Classification:
    """The label that a classifier found, with the trees."""
    return Classification(
        analysis.label, analysis.probabilities, analysis.sentences, trees_of(analysis)
    )
