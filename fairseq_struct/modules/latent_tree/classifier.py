"""Classifier of sentences that reads a latent dependency tree, and its baseline without trees."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fairseq_struct.modules.latent_tree.arc_scorer import ArcScorer
from fairseq_struct.modules.latent_tree.tree import LatentTree
from fairseq_struct.modules.latent_tree.tree_context import head_vectors
from fairseq_struct.modules.sentence_encoder import SentenceEncoder, within


@dataclass
class Classification:
    """What classifiers return.

    Args:
        logits: (batch, labels) scores of labels.
        losses: (batch,) losses, to be summed and differentiated; None without targets.
        arc_scores: (batch, sentences, n, n), what trees are inferred from; None without trees.
        lengths: (batch, sentences) words per sentence.
    """

    logits: Tensor
    losses: Tensor | None
    arc_scores: Tensor | None
    lengths: Tensor


class LatentTreeClassifier(nn.Module):
    """BiLSTM, latent tree, attention over words with their heads (thesis, section 4.5.2).

    With x_m the words in context and mu the tree, or mean of trees, of the scores of eq. 4.16,

        c_m = ReLU(A [x_m; sum_h mu(h -> m) x_h] + a),  w = softmax(u' c),  y = B sum_m w_m c_m + b.

    The root has a learned vector x_0, which the thesis does not mention.

    Args:
        encoder: words in context.
        hidden_size: of the scorer and of c.
        labels: number of labels.
        tree: how the tree is inferred and learned.
        dropout: of x and c.
    """

    def __init__(
        self,
        encoder: SentenceEncoder,
        hidden_size: int,
        labels: int,
        tree: LatentTree,
        dropout: float = 0.0,
    ):
        super().__init__()
        size = encoder.size
        self.encoder = encoder
        self.tree = tree
        self.root = nn.Parameter(torch.empty(size).uniform_(-(size**-0.5), size**-0.5))
        self.scorer = ArcScorer(size, hidden_size)
        self.combine = nn.Linear(2 * size, hidden_size)
        self.attention = nn.Linear(hidden_size, 1, bias=False)
        self.output = nn.Linear(hidden_size, labels)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        tokens: Tensor,
        lengths: Tensor,
        targets: Tensor | None = None,
        heads: Tensor | None = None,
    ) -> Classification:
        """Scores of labels and, with ``targets``, losses.

        Args:
            tokens: (batch, 1, n), one sentence per instance.
            lengths: (batch, 1).
            targets: (batch,) labels.
            heads: (batch, 1, n) gold heads, 1-based, 0 the root, -1 where unknown.
        """
        tokens, sizes = tokens.squeeze(1), lengths.squeeze(1)
        words = self.dropout(self.encoder(tokens, sizes))
        scores = self.scorer(words, self.root).float()
        own, read = self.combine.weight.chunk(2, 1)
        own = nn.functional.linear(words, own, self.combine.bias)
        outside = ~within(sizes, tokens.size(1))

        def decode(arcs: Tensor) -> Tensor:
            context = nn.functional.linear(head_vectors(arcs, words, self.root), read)
            combined = self.dropout((own + context).relu())
            weights = self.attention(combined).squeeze(-1).masked_fill(outside, -torch.inf)
            mean = torch.bmm(weights.softmax(1).unsqueeze(1), combined).squeeze(1)
            return self.output(mean)

        return classify(self.tree, scores, sizes, decode, self.training, targets, heads, lengths)


def label_losses(logits: Tensor, targets: Tensor | None) -> Tensor | None:
    """Cross-entropy (batch,) of logits (batch, labels), float32; None without targets (batch,)."""
    if targets is None:
        return None
    return cross_entropy(logits.float(), targets, reduction="none")


def classify(
    tree: LatentTree, scores: Tensor, sizes: Tensor, decode, training: bool,
    targets: Tensor | None, heads: Tensor | None, lengths: Tensor,
) -> Classification:  # fmt: skip
    """Read a tree or learn through one, and decode it.

    Args:
        tree: how.
        scores: (batch, n, n) or (batch, k, n, n) arc scores.
        sizes: (batch,) or (batch, k).
        decode: logits (batch, labels) of what is read, shaped as ``scores``.
        training: whether gradients are to reach the scores.
        targets, heads: as for :class:`LatentTreeClassifier`.
        lengths: (batch, k), for the result.
    """
    seen: list[Tensor] = []

    def losses_of(arcs: Tensor) -> Tensor:
        logits = decode(arcs)
        seen.append(logits.detach())
        return label_losses(logits, targets)

    if training and targets is not None:
        known = None if heads is None else heads.view(scores.shape[:-1])
        losses = tree.learn(scores, sizes, losses_of, known).losses
        logits = seen[0]
    else:
        flat = tree.read(scores.flatten(0, -3), sizes.flatten())
        logits = decode(flat.view_as(scores))
        losses = label_losses(logits, targets)
    arc_scores = scores.detach().view(*lengths.shape, *scores.shape[-2:])
    return Classification(logits.detach(), losses, arc_scores, lengths)


class SentenceClassifier(nn.Module):
    """The baseline: the sum of a BiLSTM's states, and a two-layer MLP (thesis, section 4.5.2).

    Args:
        encoder: words in context.
        hidden_size: of the MLP.
        labels: number of labels.
        dropout: of their sum and within the MLP.
    """

    def __init__(
        self, encoder: SentenceEncoder, hidden_size: int, labels: int, dropout: float = 0.0
    ):
        super().__init__()
        self.encoder = encoder
        self.output = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(encoder.size, hidden_size),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden_size, labels),
        )

    def forward(
        self,
        tokens: Tensor,
        lengths: Tensor,
        targets: Tensor | None = None,
        heads: Tensor | None = None,
    ) -> Classification:
        """As :meth:`LatentTreeClassifier.forward`; ``heads`` are of no use here."""
        words = self.encoder(tokens.squeeze(1), lengths.squeeze(1))  # 0 beyond the end
        logits = self.output(words.sum(1))
        return Classification(logits.detach(), label_losses(logits, targets), None, lengths)
