"""Classifiers over sentence vectors of a frozen composer (section 3.2.4 of the thesis on RIMs).

The thesis proposes to test the vectors of composed sentences by sentiment analysis, and does not do
it. The last symbol of a sentence is read here by a perceptron, beside the mean of word vectors.
"""

from __future__ import annotations

from torch import Tensor, nn

from fairseq_struct.modules.classification import VectorClassifier, perceptron
from fairseq_struct.modules.masks import within
from fairseq_struct.modules.recurrent_mechanisms.free_running import compose_freely
from fairseq_struct.modules.recurrent_mechanisms.symbols import Composer
from fairseq_struct.structure.inferred_trees import CONSTITUENTS, ConstituentSpans


class RootClassifier(VectorClassifier):
    """A perceptron over the last symbol of a composer that takes its own spans.

    The composer learns nothing, and has no dropout.

    Args:
        composer: a trained composer, whose words are those of the sentences; None if it comes with
            the stored parameters (:attr:`composer`).
        size: of its symbols.
        labels: number of labels.
        sides: sentences per instance.
        hidden_size, dropout: of the perceptron.

    Raises:
        ValueError: ``sides`` is neither 1 nor 2.
    """

    tree_kind = CONSTITUENTS

    def __init__(
        self, composer: Composer | None, size: int, labels: int, sides: int = 1,
        hidden_size: int = 100, dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__(sides)
        self.composer = None if composer is None else composer.requires_grad_(False)
        self.output = perceptron(size, hidden_size, labels, sides, dropout)

    def train(self, mode: bool = True) -> RootClassifier:
        """Switch the perceptron; the composer is never in training mode."""
        super().train(mode)
        if self.composer is not None:
            self.composer.eval()
        return self

    def encode(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, ConstituentSpans]:
        """See :meth:`VectorClassifier.encode`; the trees are the composer's."""
        found = compose_freely(self.composer, tokens, lengths)
        spans = [[(s, e) for s, e in own if e - s > 1] for own in found.spans()]
        return found.symbols, ConstituentSpans(spans, lengths)


class MeanClassifier(VectorClassifier):
    """A perceptron over the mean of frozen word vectors.

    Args:
        words: the vectors.
        labels: number of labels.
        sides: sentences per instance.
        hidden_size, dropout: of the perceptron.

    Raises:
        ValueError: ``sides`` is neither 1 nor 2.
    """

    def __init__(
        self, words: nn.Embedding, labels: int, sides: int = 1, hidden_size: int = 100,
        dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__(sides)
        self.words = words.requires_grad_(False)
        self.output = perceptron(words.embedding_dim, hidden_size, labels, sides, dropout)

    def encode(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, None]:
        """See :meth:`VectorClassifier.encode`; there are no trees."""
        real = within(lengths, tokens.size(1))
        vectors = self.words(tokens).masked_fill(~real[..., None], 0.0)
        return vectors.sum(1) / lengths[:, None], None
