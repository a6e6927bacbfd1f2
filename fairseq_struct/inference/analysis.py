"""A trained model's output for one sentence or pair."""

from __future__ import annotations

from dataclasses import dataclass

from fairseq_struct.inference.parsers.constituency import Constituents
from fairseq_struct.structure.spans import Span


@dataclass(frozen=True)
class Analysis:
    """A model's output for one instance.

    Attributes:
        sentences: the sentences, as words.
        label: the most likely label; None for a model without labels.
        probabilities: probability of each label.
        heads: for each sentence, the heads of its best latent tree, 1-based, 0 for the root; None
            for a model without dependency trees.
        depths: for each sentence, the depth of its tree, :meth:`.InferredTrees.depths`; None for a
            model without trees.
        spans: for each sentence, its constituents (start, end), from 0, the end excluded; None for
            a model without constituents.
    """

    sentences: tuple[tuple[str, ...], ...]
    label: str | None
    probabilities: dict[str, float]
    heads: tuple[tuple[int, ...], ...] | None
    depths: tuple[float, ...] | None
    spans: tuple[tuple[Span, ...], ...] | None = None

    def constituents(self) -> Constituents:
        """The constituents of the first sentence, in the form of constituency parsers."""
        return Constituents(self.sentences[0], self.spans[0])
