"""Entailment by decomposable attention, with latent trees over both sentences or without."""

import torch
from torch import Tensor, nn

from fairseq_struct.modules.arc_scorer import ArcScorer
from fairseq_struct.modules.latent_tree import LatentTree
from fairseq_struct.modules.latent_tree_classifier import Classification, classify, label_losses
from fairseq_struct.modules.sentence_encoder import within
from fairseq_struct.modules.tree_context import head_vectors


class DecomposableAttention(nn.Module):
    """Attend, compare, aggregate (Parikh et al., 2016), on words joined with their heads.

    With a_i, b_j the projected words of premise and hypothesis, each concatenated with its head,
    or average of heads, under a latent tree (Mihaylova's thesis, section 4.5.2):

        e_ij = F(a_i)' F(b_j),
        beta_i = sum_j softmax_j(e_ij) b_j,  alpha_j = sum_i softmax_i(e_ij) a_i,
        v = [sum_i G([a_i; beta_i]); sum_j G([b_j; alpha_j])],  y = H(v).

    F, G have two ReLU layers, H one and an output. Without a tree the words are read as they are,
    which is the thesis's baseline (no intra-attention).

    Args:
        embedding: words to vectors.
        hidden_size: of the projection, the scorer, F, G and H.
        labels: number of labels.
        tree: how trees are inferred and learned; None for the baseline.
        dropout: in front of every layer.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        hidden_size: int,
        labels: int,
        tree: LatentTree | None = None,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.embedding = embedding
        self.project = nn.Linear(embedding.embedding_dim, hidden_size, bias=False)
        self.tree = tree
        size = hidden_size
        if tree is not None:
            bound = hidden_size**-0.5
            self.root = nn.Parameter(torch.empty(hidden_size).uniform_(-bound, bound))
            self.scorer = ArcScorer(hidden_size, hidden_size)
            size = 2 * hidden_size
        self.attend = _layers(size, hidden_size, 2, dropout)
        self.compare = _layers(2 * size, hidden_size, 2, dropout)
        self.aggregate = nn.Sequential(
            _layers(2 * hidden_size, hidden_size, 1, dropout), nn.Linear(hidden_size, labels)
        )

    def forward(
        self,
        tokens: Tensor,
        lengths: Tensor,
        targets: Tensor | None = None,
        heads: Tensor | None = None,
    ) -> Classification:
        """Scores of labels and, with ``targets``, losses.

        Args:
            tokens: (batch, 2, n), premise and hypothesis.
            lengths: (batch, 2).
            targets: (batch,) labels.
            heads: (batch, 2, n) gold heads, 1-based, 0 the root, -1 where unknown.
        """
        words = self.project(self.embedding(tokens))
        inside = within(lengths.flatten(), tokens.size(2)).view(tokens.shape)
        if self.tree is None:
            logits = self._decode(words, inside)
            return Classification(logits.detach(), label_losses(logits, targets), None, lengths)
        flat = words.flatten(0, 1)
        scores = self.scorer(flat, self.root).float().unflatten(0, lengths.shape)

        def decode(arcs: Tensor) -> Tensor:
            read = head_vectors(arcs.flatten(0, 1), flat, self.root).view_as(words)
            return self._decode(torch.cat([words, read], -1), inside)

        return classify(self.tree, scores, lengths, decode, self.training, targets, heads, lengths)

    def _decode(self, words: Tensor, inside: Tensor) -> Tensor:
        """Logits (batch, labels) of words (batch, 2, n, size)."""
        premise, hypothesis = words.unbind(1)
        own, other = inside.unbind(1)
        first, second = self.attend(words).unbind(1)
        scores = torch.bmm(first, second.transpose(1, 2))
        of_premise = scores.masked_fill(~other[:, None], -torch.inf).softmax(2)
        of_hypothesis = scores.masked_fill(~own[:, :, None], -torch.inf).softmax(1)
        aligned = torch.stack(
            [torch.bmm(of_premise, hypothesis), torch.bmm(of_hypothesis.transpose(1, 2), premise)],
            1,
        )
        compared = self.compare(torch.cat([words, aligned], -1))
        sums = compared.masked_fill(~inside[..., None], 0.0).sum(2)
        return self.aggregate(sums.flatten(1))


def _layers(size: int, hidden_size: int, count: int, dropout: float) -> nn.Sequential:
    layers = []
    for _ in range(count):
        layers += [nn.Dropout(dropout), nn.Linear(size, hidden_size), nn.ReLU()]
        size = hidden_size
    return nn.Sequential(*layers)
