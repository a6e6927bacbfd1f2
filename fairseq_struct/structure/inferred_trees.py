"""Dependency or constituency trees inferred by a network, for display and for statistics."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property

import torch
from torch import Tensor

from fairseq_struct.errors import NotFiniteScores
from fairseq_struct.structure.dependency import DependencyTrees, depths
from fairseq_struct.structure.spans import Span, mean_depth, pointer_entropy, tree_of_stack

DEPENDENCIES, CONSTITUENTS = "dependencies", "constituents"


class InferredTrees(ABC):
    """One tree per sentence, computed on request.

    Attributes:
        kind: ``dependencies`` (has ``heads()``) or ``constituents`` (has ``spans()``).
    """

    kind: str

    @abstractmethod
    def depths(self) -> Tensor:
        """How deep each sentence's tree is, (sentences,)."""

    def pointer_entropy(self) -> Tensor | None:
        """Mean entropy of the pointers that made each tree, (sentences,); None without pointers."""
        return None


class DependencyHeads(InferredTrees):
    """Dependency trees, from the scores of their arcs.

    Args:
        scores: (sentences, n, n) arc scores, those of the root on the diagonal.
        lengths: (sentences,) words of each.
        best: maps scores and lengths to the heads (sentences, n) of the best trees, 1-based,
            0 for the root.
        trees: maps scores and lengths to the distribution over trees, if there is one.
    """

    kind = DEPENDENCIES

    def __init__(
        self, scores: Tensor, lengths: Tensor, best: Callable[[Tensor, Tensor], Tensor],
        trees: Callable[[Tensor, Tensor], DependencyTrees] | None = None,
    ):  # fmt: skip
        self.scores, self.lengths = scores.detach(), lengths
        self._best, self._trees = best, trees

    @cached_property
    def _heads(self) -> Tensor:
        return self._best(self.scores, self.lengths)

    def distribution(self) -> DependencyTrees | None:
        """The distribution whose best trees these are; None if it is not known."""
        return None if self._trees is None else self._trees(self.scores, self.lengths)

    def heads(self) -> list[tuple[int, ...]]:
        """Heads of each sentence's words, 1-based, 0 the root."""
        rows = zip(self._heads.tolist(), self.lengths.tolist(), strict=True)
        return [tuple(heads[:size]) for heads, size in rows]

    def depths(self) -> Tensor:
        """Largest number of arcs between the root and a word, (sentences,)."""
        return depths(self._heads, self.lengths)


class ConstituentSpans(InferredTrees):
    """Constituency trees as spans.

    Args:
        spans: per sentence, the constituents of two words or more, with the whole sentence.
        lengths: (sentences,) words of each.
    """

    kind = CONSTITUENTS

    def __init__(self, spans: Sequence[Sequence[Span]], lengths: Tensor):
        self._spans, self.lengths = spans, lengths

    def spans(self) -> list[tuple[Span, ...]]:
        """Spans (start, end) of each sentence's constituents, the end excluded."""
        return [tuple(one) for one in self._spans]

    def depths(self) -> Tensor:
        """Mean, over words, of the number of constituents around a word, (sentences,)."""
        rows = zip(self._spans, self.lengths.tolist(), strict=True)
        found = [mean_depth(spans, size) for spans, size in rows]
        return torch.tensor(found, device=self.lengths.device)


class MergedTrees(ConstituentSpans):
    """Binary constituency trees, made by merging neighbours.

    Args:
        merges: (sentences, m, 2) start and end of each merged pair; rows of -1 are none.
        lengths: (sentences,) words of each.
        scores: by which the pairs were chosen. Spans of NaN are refused (:class:`NotFiniteScores`).
    """

    def __init__(self, merges: Tensor, lengths: Tensor, scores: Tensor | None = None):
        self.merges, self.lengths, self.scores = merges, lengths, scores

    @cached_property
    def _spans(self) -> list[list[Span]]:
        if self.scores is not None and self.scores.isnan().any():
            raise NotFiniteScores("scores of trees are NaN: the training of the model has diverged")
        rows = ([(start, end) for start, end in row if end > 0] for row in self.merges.tolist())
        return [sorted(row, key=lambda span: (span[0], -span[1])) for row in rows]


class StackTrees(ConstituentSpans):
    """Constituency trees of a soft stack, read off its pointers by :func:`.tree_of_stack`.

    Args:
        pointers: (T, sentences, slots) p_t, with its gradient, so that it can be learned.
        lengths: (sentences,) words of each.
    """

    def __init__(self, pointers: Tensor, lengths: Tensor):
        self.pointers, self.lengths = pointers, lengths

    @cached_property
    def _spans(self) -> list[list[Span]]:
        if self.pointers.isnan().any():
            raise NotFiniteScores("the pointers are NaN: the training of the model has diverged")
        heads = self.pointers.argmax(2)
        heads[0] = self.pointers.size(2) - 1
        rows = zip(heads.t().tolist(), self.lengths.tolist(), strict=True)
        return [tree_of_stack(row[:size]) for row, size in rows]

    def pointer_entropy(self) -> Tensor:
        """See :func:`.spans.pointer_entropy`; NaN for sentences of one word."""
        return pointer_entropy(self.pointers, self.lengths)
