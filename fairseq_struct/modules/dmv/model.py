"""The parameters of the Dependency Model with Valence, and what they say of sentences of tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from operator import index

import torch
from torch import Tensor

from fairseq_struct.errors import NoTree
from fairseq_struct.modules.masks import within
from fairseq_struct.structure.checks import is_integral, of_type, sentence_lengths, whole_number
from fairseq_struct.structure.dependency import ValenceTrees

# A batch's sums over spans hold this many numbers at a time: the cube of the length, per sentence.
_MOST_NUMBERS = 4_000_000


@dataclass(frozen=True)
class DMV:
    """Log probabilities over K tags (Klein, Manning, "Corpus-based induction of syntactic
    structure", 2004, section 3): a root generates its modifiers on both sides, from the nearest to
    the farthest, each of these its own, and so on.

    Attributes:
        attach: (K, 2, V, K): log P(modifier | head, direction), with V = 1 as in the paper. With
            V = 2 it also depends on whether the modifier is the head's first on that side, the
            extended valence grammar (Headden et al., 2009, section 2, without its smoothing).
        stop: (K, 2, 2, 2): log P(stop or go on | head, direction, has a modifier or none yet); in
            the order of :class:`~fairseq_struct.structure.dependency.ValenceTrees`.
        root: (K,): log P(root).
    """

    attach: Tensor
    stop: Tensor
    root: Tensor

    def __iter__(self) -> Iterator[Tensor]:
        return iter(getattr(self, field.name) for field in fields(self))

    @property
    def tags(self) -> int:
        """K, the number of tags."""
        return len(self.root)

    def trees(self, tags: Tensor, lengths: Tensor | None = None) -> ValenceTrees:
        """The distribution over trees of sentences; its log Z is the sentences' log probability.

        Args:
            tags: (batch, n) integers below K; any of them beyond a sentence's end.
            lengths: (batch,) words per sentence; n if not given.

        Raises:
            TypeError: tags that are not a tensor.
            ValueError: tags of another shape, no integers, or out of range; wrong lengths.
        """
        of_type("tags", tags, Tensor)
        if tags.dim() != 2 or not is_integral(tags):
            raise ValueError(
                f"tags must be integers of shape (batch, n), not {tags.dtype} of shape "
                f"{tuple(tags.shape)}"
            )
        tags = tags.long()  # smaller integers would be masks
        inside = within(sentence_lengths(lengths, tags), tags.size(1))
        known = tags.masked_fill(~inside, 0)
        wrong = (known < 0) | (known >= self.tags)
        if wrong.any():
            b, m = wrong.nonzero()[0].tolist()
            raise ValueError(
                f"word {m} of sentence {b} has tag {int(tags[b, m])}: tags are 0 to {self.tags - 1}"
            )
        return ValenceTrees(*scores_of(self, known), lengths)

    def parse(self, sentences: Sequence[Sequence[int]]) -> list[list[int]]:
        """Heads of the best trees, 1-based, 0 for the root.

        Args:
            sentences: tags of each sentence, at least one.

        Raises:
            TypeError: a sentence is no list of integers.
            ValueError: a tag is out of range, or a sentence has no tag or no possible tree.
        """
        found: list[list[int]] = [[] for _ in sentences]
        for places, tags in batches(sentences, self.tags):
            with told_by_place(places):
                heads = self.trees(tags).heads.tolist()
            for place, own in zip(places, heads, strict=True):
                found[place] = own
        return found

    def log_likelihood(self, sentences: Sequence[Sequence[int]]) -> float:
        """Log probability of all sentences, in nats; arguments as for :meth:`parse`."""
        total = 0.0
        for places, tags in batches(sentences, self.tags):
            with torch.no_grad(), told_by_place(places):
                total += float(self.trees(tags).log_partition.sum())
        return total


def scores_of(model: DMV, tags: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The model's entries for sentences of tags (batch, n), as :class:`.ValenceTrees` takes them.

    Returns:
        Attachments (batch, n, n, 2), stops (batch, n, 2, 2, 2) and roots (batch, n).
    """
    batch, n = tags.shape
    words = torch.arange(n, device=tags.device)
    direction = (words[:, None] < words).long()
    attach = model.attach.transpose(2, 3)  # the valence last
    attach = attach[tags[:, :, None], direction, tags[:, None, :]].expand(batch, n, n, 2)
    return attach, model.stop[tags], model.root[tags]


@contextmanager
def told_by_place(places: list[int]) -> Iterator[None]:
    """A sentence of a batch that has no tree is named by its place among all sentences."""
    try:
        yield
    except NoTree as error:
        raise NoTree(places[error.sentence]) from None


def batches(sentences: Sequence[Sequence[int]], tags: int) -> Iterator[tuple[list[int], Tensor]]:
    """Places and tags (batch, n) of sentences of the same length, short ones first.

    Args:
        sentences: tags of each sentence.
        tags: number of tags.

    Raises:
        TypeError: a sentence is no list of integers.
        ValueError: there is no sentence, a sentence has no tag, or a tag is out of range.
    """
    whole_number("the number of sentences", len(sentences), 1)
    by_length: dict[int, list[int]] = {}
    read: list[list[int]] = []
    for place, sentence in enumerate(sentences):
        try:
            numbers = list(map(index, sentence))
        except TypeError:
            raise TypeError(
                f"sentence {place} must be a list of tags, integers below {tags}, not {sentence!r}"
            ) from None
        if not numbers:
            raise ValueError(f"sentence {place} has no tag")
        if not 0 <= min(numbers) <= max(numbers) < tags:
            raise ValueError(f"sentence {place} has a tag out of range: tags are 0 to {tags - 1}")
        by_length.setdefault(len(numbers), []).append(place)
        read.append(numbers)
    for length, places in sorted(by_length.items()):
        size = max(1, _MOST_NUMBERS // length**3)
        for start in range(0, len(places), size):
            own = places[start : start + size]
            yield own, torch.tensor([read[place] for place in own])
