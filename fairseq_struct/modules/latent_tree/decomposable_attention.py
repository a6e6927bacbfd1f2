"""Entailment by decomposable attention, with or without latent trees over both sentences."""

import torch
from torch import Tensor, nn

from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.modules.latent_tree.arc_scorer import ArcScorer
from fairseq_struct.modules.latent_tree.classifier import Decode, TreeClassifier
from fairseq_struct.modules.latent_tree.tree import LatentTree
from fairseq_struct.modules.latent_tree.tree_context import head_vectors
from fairseq_struct.modules.masks import within
from fairseq_struct.structure.precision import at_least_float32

# How trees enter the network.
FORMS = ("thesis", "projected")


class DecomposableAttention(TreeClassifier):
    """Attend, compare, aggregate (Parikh et al., 2016), on words joined with their heads.

    a_i, b_j are the words of premise and hypothesis; f_i, g_j are their vectors for attention:

        e_ij = f_i' g_j,
        beta_i = sum_j softmax_j(e_ij) b_j,  alpha_j = sum_i softmax_i(e_ij) a_i,
        v = [sum_i G([a_i; beta_i]); sum_j G([b_j; alpha_j])],  y = H(v).

    F and G have two ReLU layers; H has one, and an output layer. With latent trees (Mihaylova's
    thesis, section 4.5.2) a word is joined with its head, or average of heads. The thesis does not
    say at which place. Its numbers of parameters tell (table A.1: 420K, and 340K without trees):

    - ``thesis``: a_i, b_j are the embeddings. Arcs are scored on F(a), F(b), and
      f_i = [F(a_i); sum_h mu(h -> i) F(a_h)]: trees affect the alignment, as in the published code.
      At the thesis's sizes it has 422,203 parameters, and 341,603 without trees.
    - ``projected``: a_i, b_j are first projected, as in Parikh et al. (2016), then joined with
      their heads; F and G read the result: 542,203 parameters, and 341,603 without trees.

    Without a tree, both forms are the thesis's baseline, which has no intra-attention.

    Args:
        embedding: words to vectors.
        hidden_size: size of the projection, the scorer, F, G and H.
        labels: number of labels.
        tree: how trees are inferred and learned; None for the baseline.
        dropout: dropout before every layer with a ReLU.
        form: one of ``FORMS``.

    Raises:
        InputError: an unknown form.
    """

    sides = 2

    def __init__(
        self,
        embedding: nn.Embedding,
        hidden_size: int,
        labels: int,
        tree: LatentTree | None = None,
        dropout: float = 0.0,
        form: str = "thesis",
    ):
        super().__init__(tree)
        if form not in FORMS:
            raise InputError(unknown_name("form", form, FORMS))
        self.form = form
        self.embedding = embedding
        size = embedding.embedding_dim
        if form == "projected":
            self.project = nn.Linear(size, hidden_size, bias=False)
            size = hidden_size
        if tree is not None:
            bound = hidden_size**-0.5
            self.root = nn.Parameter(torch.empty(hidden_size).uniform_(-bound, bound))
            self.scorer = ArcScorer(hidden_size, hidden_size)
            if form == "projected":
                size = 2 * hidden_size
        self.attend = _layers(size, hidden_size, 2, dropout)
        self.compare = _layers(2 * size, hidden_size, 2, dropout)
        self.aggregate = nn.Sequential(
            _layers(2 * hidden_size, hidden_size, 1, dropout), nn.Linear(hidden_size, labels)
        )

    def encode(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor | None, Decode]:
        """See :meth:`.TreeClassifier.encode`; the first sentence is the premise."""
        words = self.embedding(tokens)
        if self.form == "projected":
            words = self.project(words)
        inside = within(lengths.flatten(), tokens.size(2)).view(tokens.shape)
        if self.tree is None:
            return None, lambda _: self._decode(self.attend(words), words, inside)
        # Vectors for the arc scores; they are also joined with their heads.
        own = words if self.form == "projected" else self.attend(words)
        flat = own.flatten(0, 1)
        scores = at_least_float32(self.scorer(flat, self.root)).unflatten(0, lengths.shape)

        def decode(arcs: Tensor) -> Tensor:
            read = head_vectors(arcs.flatten(0, 1), flat, self.root).view_as(own)
            joined = torch.cat([own, read], -1)
            if self.form == "projected":
                return self._decode(self.attend(joined), joined, inside)
            return self._decode(joined, words, inside)

        return scores, decode

    def _decode(self, attended: Tensor, words: Tensor, inside: Tensor) -> Tensor:
        """Logits (batch, labels) from f, g (batch, 2, n, ...) and a, b (batch, 2, n, size)."""
        premise, hypothesis = words.unbind(1)
        own, other = inside.unbind(1)
        first, second = attended.unbind(1)
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
