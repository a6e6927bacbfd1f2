"""Classifiers that read latent dependency trees, and the baseline without trees."""

from abc import abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn

from fairseq_struct.modules.classification import (
    Classification,
    Classifier,
    VectorClassifier,
    label_losses,
    perceptron,
)
from fairseq_struct.modules.latent_tree.arc_scorer import ArcScorer
from fairseq_struct.modules.latent_tree.tree import LatentTree
from fairseq_struct.modules.latent_tree.tree_context import head_vectors
from fairseq_struct.modules.masks import check_lengths, within
from fairseq_struct.modules.sentence_encoder import SentenceEncoder
from fairseq_struct.structure.dependency import is_tree
from fairseq_struct.structure.inferred_trees import DEPENDENCIES, DependencyHeads
from fairseq_struct.structure.precision import at_least_float32

# Maps trees, or means of trees, to logits (batch, labels); a baseline without trees gets None.
Decode = Callable[[Tensor | None], Tensor]


class TreeClassifier(Classifier):
    """Base of classifiers whose decoder reads a latent dependency tree of each sentence.

    Args:
        tree: how trees are inferred and learned; None for a baseline without trees.
    """

    def __init__(self, tree: LatentTree | None):
        super().__init__()
        self.tree = tree
        if tree is not None:
            self.tree_kind = self.gold_kind = DEPENDENCIES

    def can_build(self, heads: Tensor) -> bool:
        """Whether ``heads`` is a tree of the latent tree's kind (``projective``, ``single_root``).

        Args:
            heads: (n,), 1-based, 0 the root.
        """
        size = torch.tensor([len(heads)])
        return bool(is_tree(heads[None], size, self.tree.projective, self.tree.single_root))

    @abstractmethod
    def encode(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor | None, Decode]:
        """Arc scores, and the function that decodes trees.

        Args:
            tokens, lengths: as for :meth:`.Classifier.forward`.

        Returns:
            Scores (batch, n, n) or (batch, sides, n, n), None for a baseline without trees; and a
            function that maps trees, shaped as the scores, to logits (batch, labels).
        """

    def forward(
        self,
        tokens: Tensor,
        lengths: Tensor,
        targets: Tensor | None = None,
        gold_trees: Tensor | None = None,
    ) -> Classification:
        """See :meth:`.Classifier.forward`; in training, it also learns through the trees."""
        check_lengths(lengths, tokens.size(-1))
        scores, decode = self.encode(tokens, lengths)
        if scores is None:
            logits = decode(None)
            return Classification(logits.detach(), label_losses(logits, targets))
        lengths = lengths.view(scores.shape[:-2])
        seen: list[Tensor] = []

        def losses_of(arcs: Tensor) -> Tensor:
            logits = decode(arcs)
            seen.append(logits.detach())
            return label_losses(logits, targets)

        flat = scores.flatten(0, -3), lengths.flatten()
        if self.training and targets is not None:
            known = None if gold_trees is None else gold_trees.view(scores.shape[:-1])
            losses = self.tree.learn(scores, lengths, losses_of, known).losses
            logits = seen[0]
        else:
            logits = decode(self.tree.read(*flat).view_as(scores))
            losses = label_losses(logits, targets)
        trees = DependencyHeads(*flat, self.tree.heads, self.tree.trees)
        return Classification(logits.detach(), losses, trees)


class LatentTreeClassifier(TreeClassifier):
    """Classifier with a BiLSTM, a latent tree, and attention over words with their heads.

    Mihaylova's thesis, section 4.5.2. x_m are the words in context; mu is the tree, or mean of
    trees, for the scores of eq. 4.16:

        c_m = ReLU(A [x_m; sum_h mu(h -> m) x_h] + a),  w = softmax(u' c),  y = B sum_m w_m c_m + b.

    The root has a learned vector x_0, which that thesis does not mention.

    Args:
        encoder: computes the words in context.
        hidden_size: size of the scorer and of c.
        labels: number of labels.
        tree: how the tree is inferred and learned.
        dropout: dropout of x and c.
    """

    def __init__(
        self,
        encoder: SentenceEncoder,
        hidden_size: int,
        labels: int,
        tree: LatentTree,
        dropout: float = 0.0,
    ):
        super().__init__(tree)
        size = encoder.size
        self.encoder = encoder
        self.root = nn.Parameter(torch.empty(size).uniform_(-(size**-0.5), size**-0.5))
        self.scorer = ArcScorer(size, hidden_size)
        self.combine = nn.Linear(2 * size, hidden_size)
        self.attention = nn.Linear(hidden_size, 1, bias=False)
        self.output = nn.Linear(hidden_size, labels)
        self.dropout = nn.Dropout(dropout)

    def encode(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Decode]:
        """See :meth:`TreeClassifier.encode`."""
        tokens, sizes = tokens.squeeze(1), lengths.squeeze(1)
        words = self.dropout(self.encoder(tokens, sizes))
        scores = at_least_float32(self.scorer(words, self.root))
        own, read = self.combine.weight.chunk(2, 1)
        own = nn.functional.linear(words, own, self.combine.bias)
        outside = ~within(sizes, tokens.size(1))

        def decode(arcs: Tensor) -> Tensor:
            context = nn.functional.linear(head_vectors(arcs, words, self.root), read)
            combined = self.dropout((own + context).relu())
            weights = self.attention(combined).squeeze(-1).masked_fill(outside, -torch.inf)
            mean = torch.bmm(weights.softmax(1).unsqueeze(1), combined).squeeze(1)
            return self.output(mean)

        return scores, decode


class SummedStatesClassifier(VectorClassifier):
    """The baseline: a sentence is the sum of a BiLSTM's states (Mihaylova's thesis, section 4.5.2).

    Args:
        encoder: computes the words in context.
        hidden_size: size of the perceptron.
        labels: number of labels.
        dropout: dropout of the sum and within the perceptron.
    """

    def __init__(
        self, encoder: SentenceEncoder, hidden_size: int, labels: int, dropout: float = 0.0
    ):
        super().__init__()
        self.encoder = encoder
        self.output = perceptron(encoder.size, hidden_size, labels, dropout=dropout)

    def encode(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, None]:
        """See :meth:`.VectorClassifier.encode`."""
        return self.encoder(tokens, lengths).sum(1), None  # 0 beyond the end
