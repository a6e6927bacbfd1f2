"""Classifiers of sentences and of pairs: their inputs, results and shared parts.

A new encoder of sentences is a :class:`VectorClassifier` that defines ``encode``. A network that
relates a pair by more than two vectors, or learns through a latent tree, is a :class:`Classifier`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fairseq_struct.modules.masks import check_lengths
from fairseq_struct.structure.inferred_trees import InferredTrees
from fairseq_struct.structure.precision import at_least_float32

# Allowed numbers of sentences per instance.
SIDES = (1, 2)


@dataclass
class Classification:
    """Result of a classifier.

    Args:
        logits: (batch, labels) scores of labels, without gradient.
        losses: (batch,) losses, to be summed and differentiated; None without targets.
        trees: the trees that the model found for the sentences of the batch, instance by instance;
            None for a model without trees.
    """

    logits: Tensor
    losses: Tensor | None
    trees: InferredTrees | None = None


class Classifier(nn.Module, ABC):
    """Network from one sentence or two to scores of labels.

    Attributes:
        sides: sentences per instance, 1 or 2.
        tree_kind: kind of the trees in its results (see :class:`.InferredTrees`); None without.
        gold_kind: kind of the gold trees that it takes; None if it takes none.
    """

    sides: int = 1
    tree_kind: str | None = None
    gold_kind: str | None = None

    @abstractmethod
    def forward(
        self,
        tokens: Tensor,
        lengths: Tensor,
        targets: Tensor | None = None,
        gold_trees: Tensor | None = None,
    ) -> Classification:
        """Scores of labels and, with ``targets``, losses.

        Args:
            tokens: (batch, sides, n).
            lengths: (batch, sides) words of each sentence, at least 1.
            targets: (batch,) labels.
            gold_trees: given only to networks with a ``gold_kind``. Heads (batch, sides, n),
                1-based, 0 the root, -1 where unknown; or constituents (batch, sides, m, 3): start,
                end (excluded) and label (-1 without one), padded with rows of -1.

        Raises:
            ValueError: a length out of range.
        """

    def can_build(self, tree: Tensor) -> bool:
        """Whether the network can infer, or read, a sentence's gold tree of its ``gold_kind``.

        Args:
            tree: heads (n,) or constituents (m, 3).
        """
        return True


class VectorClassifier(Classifier):
    """A perceptron over one vector per sentence: see :func:`perceptron`.

    A subclass creates its encoder, and then ``self.output``, the perceptron.

    Args:
        sides: sentences per instance.

    Raises:
        ValueError: ``sides`` is neither 1 nor 2.
    """

    output: nn.Module

    def __init__(self, sides: int = 1):
        super().__init__()
        if sides not in SIDES:
            raise ValueError(f"a classifier reads one sentence or two, not {sides}")
        self.sides = sides

    @abstractmethod
    def encode(
        self, tokens: Tensor, lengths: Tensor, gold_trees: Tensor | None = None
    ) -> tuple[Tensor, InferredTrees | None]:
        """Vectors (sentences, size), and the trees found on the way, if any.

        Args:
            tokens: (sentences, n); the sentences of an instance follow each other.
            lengths: (sentences,).
            gold_trees: as for :meth:`Classifier.forward`, but one row per sentence; not passed to
                networks without a ``gold_kind``.
        """

    def forward(
        self,
        tokens: Tensor,
        lengths: Tensor,
        targets: Tensor | None = None,
        gold_trees: Tensor | None = None,
    ) -> Classification:
        """See :meth:`Classifier.forward`."""
        check_lengths(lengths, tokens.size(-1))
        gold = () if gold_trees is None else (gold_trees.flatten(0, 1),)
        vectors, trees = self.encode(tokens.flatten(0, 1), lengths.flatten(), *gold)
        logits = self.output(pair_features(vectors.unflatten(0, lengths.shape)))
        return Classification(logits.detach(), label_losses(logits, targets), trees)


def pair_features(vectors: Tensor) -> Tensor:
    """(u, v, u * v, |u - v|) of two vectors (batch, 2, size), or u of one (batch, 1, size).

    These are the features of pairs in the ON-LSTM paper (section 5.4).
    """
    first, *second = vectors.unbind(1)
    if not second:
        return first
    (other,) = second
    return torch.cat([first, other, first * other, (first - other).abs()], 1)


def perceptron(
    size: int, hidden_size: int, labels: int, sides: int = 1, dropout: float = 0.0
) -> nn.Sequential:
    """Perceptron with one hidden layer over :func:`pair_features`; dropout before both layers.

    Args:
        size: size of a sentence's vector.
        hidden_size: size of the hidden layer.
        labels: number of labels.
        sides: sentences per instance.
        dropout: probability.
    """
    return nn.Sequential(
        nn.Dropout(dropout),
        nn.Linear(size * (4 if sides == 2 else 1), hidden_size),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(hidden_size, labels),
    )


def label_losses(logits: Tensor, targets: Tensor | None) -> Tensor | None:
    """Cross-entropy (batch,) of logits (batch, labels), in float32 or more.

    None without targets (batch,).
    """
    if targets is None:
        return None
    return cross_entropy(at_least_float32(logits), targets, reduction="none")
