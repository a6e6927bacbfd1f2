"""Trained dependency parsers: best trees, trees with known heads, and marginals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from fairseq_struct.data.datasets.whole_batches import padded
from fairseq_struct.data.readers.conllu import UNKNOWN_HEAD, Sentence
from fairseq_struct.errors import InputError
from fairseq_struct.files.reserved_words import without_spaces
from fairseq_struct.inference.analysis import Analysis
from fairseq_struct.inference.evaluation_mode import in_evaluation
from fairseq_struct.inference.parsers.dependency import DependencyParser
from fairseq_struct.inference.reading import BATCH_WORDS, LONGEST, RawSentence, Words, refuse_long
from fairseq_struct.inference.undirected.passes import set_test_passes
from fairseq_struct.structure.dependency import DependencyTrees, arcs_that_fit


@dataclass(frozen=True)
class ArcMarginals:
    """The marginals of a sentence's arcs, and its best tree.

    Attributes:
        words: words of the sentence.
        marginals: (n, n) probabilities; [h, m] is the arc from word h to word m, counted from 0,
            and [m, m] that from the root to m.
        heads: heads of the best tree, 1-based, 0 for the root.
        passes: of updates that the sentence took.
    """

    words: Words
    marginals: Tensor
    heads: tuple[int, ...]
    passes: int


class TreeParser(DependencyParser):
    """A trained parser, which may be told the heads of some words.

    Args:
        model: with ``read_words``, ``padding`` and a ``network``; a call returns a
            ``Parsed``, with ``trees`` and ``heads``.
        roots: ``single`` or ``multiple`` modifiers of the root of a best tree; as the model says
            if not given.
        test_passes: passes, or ``converge``; as the model says if not given.
        longest, batch_words: as for :class:`.DependencyParser`.

    Raises:
        InputError: passes that are none.
    """

    def __init__(
        self, model, roots: str | None = None, test_passes: str | int | None = None,
        longest: int = LONGEST, batch_words: int = BATCH_WORDS,
    ):  # fmt: skip
        super().__init__(model, longest, batch_words)
        self.longest = longest
        self.single_root = None if roots is None else roots == "single"
        set_test_passes(model.network, test_passes)
        self._sentences = partial(
            self._by_length, read=partial(_known_words, longest=longest),
            length=lambda sentence: len(sentence.words),
        )  # fmt: skip

    def trees_given(self, sentences: Iterable[Sentence]) -> Iterator[Analysis]:
        """Yield the best trees that have the known heads, in order.

        Further passes use the known heads for the rest of the tree.

        Args:
            sentences: words, and heads, ``UNKNOWN_HEAD`` where nothing is known.

        Raises:
            InputError: a sentence is too long, or its known heads form a cycle or have several
                roots where one is asked for; with its place.
        """
        return self._sentences(self._checked(sentences), self._given)

    def marginals(self, sentences: Iterable[RawSentence]) -> Iterator[ArcMarginals]:
        """Yield the marginals of the arcs of sentences, in order; spaces separate the words.

        Raises:
            InputError: a sentence is empty or too long.
        """
        return self._by_length(sentences, self._marginals)

    @in_evaluation
    def _marginals(self, sentences: list[Words]) -> list[ArcMarginals]:
        parsed, lengths = self._parsed(sentences)
        found = parsed.heads(self.single_root).tolist(), parsed.passes.tolist()
        rows = zip(sentences, parsed.trees.marginals.cpu(), *found, strict=True)
        return [
            ArcMarginals(words, own[: len(words), : len(words)], tuple(heads[: len(words)]), passes)
            for words, own, heads, passes in rows
        ]

    def _checked(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Refuse known heads that no tree has; readers refuse cycles."""
        single = self.single_root
        if single is None:
            single = self.model.network.decode_single_root
        for sentence in sentences:
            roots = sentence.heads.count(0)
            if roots > 1 and (single or self.model.single_root):
                why = "was trained with --roots single" if self.model.single_root else "finds one"
                raise InputError(
                    f"{sentence.place}: {roots} words are known to be modifiers of the root, but "
                    f"the parser {why} (its best trees have one with --roots single)"
                )
            yield sentence

    def refuse_given(self, sentences: Iterable[Sentence]) -> None:
        """Raise what :meth:`trees_given` would, before the first tree."""
        for number, sentence in enumerate(self._checked(sentences)):
            _known_words(number, sentence, self.longest)

    @in_evaluation
    def _given(self, sentences: list[Sentence]) -> list[Analysis]:
        known = padded([torch.tensor(one.heads) for one in sentences], UNKNOWN_HEAD)
        lengths = torch.tensor([len(one.words) for one in sentences])
        allowed = arcs_that_fit(known, lengths).to(self.device)
        return self._analyses([one.words for one in sentences], allowed)

    @in_evaluation
    def _found(
        self, sentences: list[Words], allowed: Tensor | None = None
    ) -> tuple[Tensor, DependencyTrees]:
        parsed, _ = self._parsed(sentences, allowed)
        return parsed.heads(self.single_root), parsed.trees

    def _parsed(self, sentences: list[Words], allowed: Tensor | None = None):
        rows = [self.model.read_words(list(map(without_spaces, words))) for words in sentences]
        tokens = padded(rows, self.model.padding)
        lengths = torch.tensor([len(words) for words in sentences], device=self.device)
        return self.model(tokens.to(self.device), lengths, allowed), lengths


def _known_words(number: int, sentence: Sentence, longest: int) -> Sentence:
    refuse_long(sentence.place, len(sentence.words), longest)
    return sentence
