"""A trained model's output for one sentence or pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor

from fairseq_struct.inference.parsers.constituency import Constituents
from fairseq_struct.structure.spans import Span


@dataclass(frozen=True)
class Analysis:
    """A model's output for one instance.

    Attributes:
        sentences: the sentences, as words.
        label: the most likely label; None for a model without labels.
        probabilities: probability of each label; empty for a model without labels.
        heads: for each sentence, the heads of its best latent tree, 1-based, 0 for the root; None
            for a model without dependency trees.
        depths: for each sentence, the depth of its tree, :meth:`.InferredTrees.depths`; None for a
            model without trees.
        spans: for each sentence, its constituents (start, end), from 0, the end excluded; None for
            a model without constituents.
        marginals: for each sentence, a function that returns the probabilities (n, n) of all arcs,
            those of the root on the diagonal; None for a model without such probabilities.
    """

    sentences: tuple[tuple[str, ...], ...]
    label: str | None = None
    probabilities: dict[str, float] = field(default_factory=dict)
    heads: tuple[tuple[int, ...], ...] | None = None
    depths: tuple[float, ...] | None = None
    spans: tuple[tuple[Span, ...], ...] | None = None
    marginals: tuple[Callable[[], Tensor], ...] | None = field(
        default=None, compare=False, repr=False
    )

    def constituents(self, side: int = 0) -> Constituents:
        """The constituents of a sentence, in the form of constituency parsers."""
        return Constituents(self.sentences[side], self.spans[side])
