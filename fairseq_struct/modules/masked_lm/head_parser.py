"""A parser that selects a head for every word, and its soft dependency graph.

Source: Y. Shen's thesis, section 4.2.1 and 4.2.2, equations 4.2.1 to 4.2.8.
"""

import torch
from torch import Tensor, nn

from fairseq_struct.modules.masks import within
from fairseq_struct.modules.sentence_encoder import ContextLSTM
from fairseq_struct.structure.precision import at_least_float32


class TagSharedEmbedding(nn.Module):
    """Word embeddings with a part that is shared between words through tags.

    x = e_w + sum_k p_wk e_k, p_w = softmax(tau_w) (eqs. 4.2.1, 4.2.2). All words choose from the
    same few tags, so rare words can rely on the tags' vectors.

    Args:
        words: embedding of word indices, e_w.
        tags: number of tags; 0 leaves them out. (Shen's thesis does not give its number.)

    Raises:
        ValueError: a negative number of tags.
    """

    def __init__(self, words: nn.Embedding, tags: int):
        super().__init__()
        if tags < 0:
            raise ValueError(f"the number of tags must be 0 or more, not {tags}")
        self.words = words
        self.choice = nn.Embedding(words.num_embeddings, tags) if tags else None
        self.tags = nn.Parameter(torch.empty(tags, words.embedding_dim)) if tags else None
        if tags:
            nn.init.zeros_(self.choice.weight)
            nn.init.normal_(self.tags)

    def forward(self, tokens: Tensor) -> Tensor:
        """Vectors (..., size) of word indices (...)."""
        vectors = self.words(tokens)
        if self.choice is None:
            return vectors
        choice = self.choice(tokens)
        precision = torch.promote_types(choice.dtype, torch.float32)
        return vectors + choice.softmax(-1, precision).to(choice.dtype) @ self.tags


class HeadParser(nn.Module):
    """Scores of all words as heads of each other (head selection, as of Zhang et al., 2016).

    h = BiLSTM(x), h^H = W_H h + b_H, h^D = W_D h + b_D, e_ij = h^D_i . h^H_j / sqrt(D)
    (eqs. 4.2.3 to 4.2.6). A word as head of itself stands for the root, as in the published code.
    Shen's thesis does not say how its parser attaches the root.

    Args:
        embedding: maps word indices to vectors of ``size``.
        size: size of the vectors.
        hidden_size: D, size of each direction of the LSTM, and of h^H and h^D.
        layers: number of LSTM layers.
        dropout: dropout of the vectors, between layers and of h; the thesis has none.
    """

    def __init__(
        self, embedding: nn.Module, size: int, hidden_size: int, layers: int = 3,
        dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__()
        self.embedding = embedding
        self.dropout = nn.Dropout(dropout)
        self.context = ContextLSTM(size, 2 * hidden_size, layers, dropout)
        self.head = nn.Linear(2 * hidden_size, hidden_size)
        self.dependent = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Arc scores (batch, n, n): word h as head of word m at [h, m], the root at [m, m].

        Args:
            tokens: (batch, n) integers.
            lengths: (batch,) words per sentence, at least 1.
        """
        words = self.context(self.dropout(self.embedding(tokens)), lengths)
        words = self.dropout(words)
        heads, dependents = self.head(words), self.dependent(words)
        # Scaled before the product, which could overflow in half precision.
        return heads * heads.size(-1) ** -0.5 @ dependents.transpose(1, 2)


def head_probabilities(scores: Tensor, lengths: Tensor) -> Tensor:
    """p[h, m]: probability that word h is the head of word m; the root at [m, m] (eq. 4.2.7).

    Args:
        scores: (batch, n, n) arc scores.
        lengths: (batch,) words per sentence.

    Returns:
        (batch, n, n), at least float32; 0 outside of each sentence.
    """
    words = within(lengths, scores.size(-1))
    both = words[:, :, None] & words[:, None, :]
    scores = at_least_float32(scores)
    lowest = torch.finfo(scores.dtype).min  # -inf would give NaN for words beyond the end
    return scores.masked_fill(~both, lowest).softmax(1) * both


def dependency_mask(probabilities: Tensor) -> Tensor:
    """m_ij = p_ij + p_ji - p_ij p_ji, the probability of an arc in either direction (eq. 4.2.8).

    Args:
        probabilities: (batch, n, n) of arcs; the diagonal, for the root, is ignored.

    Returns:
        (batch, n, n): symmetric, in [0, 1], 0 on the diagonal.
    """
    arcs = probabilities.masked_fill(
        torch.eye(probabilities.size(-1), dtype=torch.bool, device=probabilities.device), 0.0
    )
    reverse = arcs.transpose(-2, -1)
    return arcs + reverse - arcs * reverse
