"""Dependency graph network: words exchange messages along a soft dependency graph.

Source: Y. Shen's thesis, sections 4.2.3 and 4.2.4, equations 4.2.9 to 4.2.17.
"""

import torch
from torch import Tensor, nn

from fairseq_struct.errors import unknown_name
from fairseq_struct.structure.precision import at_least_float32

NONLINEARITIES = {
    "tanh": torch.tanh, "relu": torch.relu, "elu": nn.functional.elu, "identity": lambda x: x,
}  # fmt: skip
COMPETITIONS = ("softmax", "sigmoid")


class DependencyGraphLayer(nn.Module):
    """Gated channels that compete for the arcs of a graph.

    Every channel c has q, k, v, g from h (eq. 4.2.9). e_ijc = q_ic . k_jc / sqrt(D) + b_c, with one
    bias for words before i and one for words after i (eqs. 4.2.10, 4.2.16, 4.2.17).
    a_ijc = softmax_c(e_ijc) m_ij (eqs. 4.2.11, 4.2.12). o_ic = sum_j a_ijc tanh(v_jc) sigmoid(g_ic)
    (eqs. 4.2.13, 4.2.14). h' = h + W_o [o_i1 .. o_iN] + b_o (eq. 4.2.15). The gate belongs to the
    receiving word and does not depend on j, so the sum is a matrix product.

    Args:
        size: size of h.
        channels: N.
        channel_size: D, size of q, k, v and g.
        dropout: dropout of the result before it is added to h.
        attention_dropout: dropout of a_ijc.
        nonlinearity: nonlinearity of v, one of ``NONLINEARITIES``; Shen's thesis prefers tanh.
        gates: whether to use the gates g.
        competition: ``softmax`` over channels, or ``sigmoid`` of each channel.
        position_bias: whether to use the biases b.

    Raises:
        ValueError: a size below 1, or an unknown name.
    """

    def __init__(
        self, size: int, channels: int = 8, channel_size: int = 128, dropout: float = 0.0,
        attention_dropout: float = 0.0, nonlinearity: str = "tanh", gates: bool = True,
        competition: str = "softmax", position_bias: bool = True,
    ):  # fmt: skip
        super().__init__()
        if min(size, channels, channel_size) < 1:
            raise ValueError("sizes and the number of channels must be 1 or more")
        if nonlinearity not in NONLINEARITIES:
            raise ValueError(unknown_name("nonlinearity", nonlinearity, NONLINEARITIES))
        if competition not in COMPETITIONS:
            raise ValueError(unknown_name("competition", competition, COMPETITIONS))
        self.channels, self.channel_size = channels, channel_size
        self.nonlinearity, self.competition = nonlinearity, competition
        self.gates = gates
        self.channel = nn.Linear(size, (3 + gates) * channels * channel_size)
        self.output = nn.Linear(channels * channel_size, size)
        self.bias = nn.Parameter(torch.zeros(2, channels)) if position_bias else None
        self.dropout, self.attention_dropout = nn.Dropout(dropout), nn.Dropout(attention_dropout)

    def extra_repr(self) -> str:
        """The number and size of the channels."""
        return f"channels={self.channels}, channel_size={self.channel_size}"

    def shares(self, queries: Tensor, keys: Tensor) -> Tensor:
        """The probability of each channel for each pair of words, without the graph's mask.

        Args:
            queries, keys: (batch, N, n, D).

        Returns:
            (batch, N, n, n): receiving words are rows, sending words columns; at least float32.
        """
        scores = queries @ (keys * self.channel_size**-0.5).transpose(2, 3)
        scores = at_least_float32(scores)
        if self.bias is not None:
            n = scores.size(-1)
            sides = torch.ones(2, n, n, dtype=scores.dtype, device=scores.device)
            sides = torch.stack([sides[0].tril(-1), sides[1].triu(1)])  # i > j, i < j
            scores = scores + torch.einsum("sc,sij->cij", self.bias.to(scores.dtype), sides)
        return scores.softmax(1) if self.competition == "softmax" else scores.sigmoid()

    def forward(self, words: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """h' (batch, n, size), and the channels' :meth:`shares`.

        Args:
            words: (batch, n, size) h.
            mask: (batch, n, n) m, 0 outside of sentences.
        """
        parts = self.channel(words).unflatten(-1, (-1, self.channels, self.channel_size))
        queries, keys, values, *gates = parts.permute(2, 0, 3, 1, 4)
        shares = self.shares(queries, keys)
        weights = self.attention_dropout(shares * mask[:, None]).to(values.dtype)
        messages = weights @ NONLINEARITIES[self.nonlinearity](values)
        if gates:
            messages = messages * gates[0].sigmoid()
        together = messages.transpose(1, 2).flatten(2)
        return words + self.dropout(self.output(together)), shares


class DependencyGraphNetwork(nn.Module):
    """Layers of :class:`DependencyGraphLayer` over embeddings.

    Args:
        layers: the layers, all of the same size.
        positions: number of positions with vectors that are added to the embeddings, in place of
            the layers' relative biases (an ablation in table 9 of Shen's thesis, chapter 4, which
            does not say how they start: here as small as the words'); 0 for none.
        size: size of the vectors.
        dropout: dropout of the embeddings.

    A layer norm follows the last layer, as in the published code; the equations have none.

    Raises:
        ValueError: there is no layer.
    """

    def __init__(
        self, layers: list[DependencyGraphLayer], size: int, positions: int = 0,
        dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__()
        if not layers:
            raise ValueError("there must be at least one layer")
        self.layers = nn.ModuleList(layers)
        self.positions = nn.Embedding(positions, size) if positions else None
        if self.positions is not None:
            nn.init.normal_(self.positions.weight, std=size**-0.5)
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(size)

    def forward(self, words: Tensor, mask: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Words in context (batch, n, size), and every layer's shares (batch, N, n, n).

        Args:
            words: (batch, n, size) embeddings.
            mask: (batch, n, n), from :func:`.head_parser.dependency_mask`.

        Raises:
            ValueError: a sentence is longer than there are positions.
        """
        if self.positions is not None:
            known, n = self.positions.num_embeddings, words.size(1)
            if n > known:
                raise ValueError(f"a sentence of {n} words, but only {known} positions")
            words = words + self.positions.weight[:n]
        words = self.dropout(words)
        shares = []
        for layer in self.layers:
            words, own = layer(words, mask)
            shares.append(own)
        return self.norm(words), shares
