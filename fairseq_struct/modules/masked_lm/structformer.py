"""StructFormer: Transformer attention along soft dependencies from distances and heights.

Source: Y. Shen, Y. Tay, C. Zheng, D. Bahri, D. Metzler, A. Courville, "StructFormer: joint
unsupervised induction of dependency and constituency structure" (2020). It is the baseline of
tables 6 to 8 of Shen's thesis, chapter 4; section 4.2.2 of the thesis mentions its mask.
"""

import torch
from torch import Tensor, nn

from fairseq_struct.modules.masked_lm.language_model import Encoding
from fairseq_struct.modules.masks import check_lengths_of, within
from fairseq_struct.structure.precision import at_least_float32

# exp(600) is still finite.
LOWEST = -600.0


def dependency_distribution(distances: Tensor, heights: Tensor, lengths: Tensor) -> Tensor:
    """p(j | i), the probability that word i depends on word j.

    Word i stands for the largest span around it whose gaps are all below its height:
    alpha_ig = sigmoid(height_i - distance_g), p(l | i) = (1 - alpha_i,l-1) prod_{g=l}^{i-1}
    alpha_ig, p(r | i) likewise. The head is drawn from softmax(heights) over the span:
    p(j | i) = sum_{l <= i, j <= r} p(l | i) p(r | i) exp(height_j) / sum_{k=l}^r exp(height_k).
    No tensor of size n^3 is needed: for j < i the sum over r is a matrix product, the sum over l a
    cumulative sum. In the softmax a height more than 600 below the sentence's highest counts as 600
    below it.

    Args:
        distances: (batch, n) of the gap after each word; the last word's entry is not used.
        heights: (batch, n). What either holds beyond a sentence's end does not matter.
        lengths: (batch,) words per sentence.

    Returns:
        (batch, n, n), [i, j], at least float32: 0 on the diagonal and outside of sentences. One
        minus the sum of a row is the probability that the word is its own head.

    Raises:
        ValueError: lengths out of range; see :func:`.check_lengths_of`.
    """
    check_lengths_of(heights, lengths)
    precision = torch.promote_types(heights.dtype, torch.float32)
    # Sums over spans far below the highest word need double precision.
    n = heights.size(-1)
    places = torch.arange(n, device=heights.device)
    words = within(lengths, n)
    stops = (places == (lengths[:, None] - 1)) | ~words
    # Gradients would read NaN wherever it is.
    distances = distances.double().masked_fill(stops, 0.0)
    heights = heights.double().masked_fill(~words, 0.0)
    # alpha[i, g]: whether the gap after word g lies below word i; spans stop at sentence ends.
    alpha = torch.sigmoid(heights[:, :, None] - distances[:, None, :])
    alpha = alpha.masked_fill(stops[:, None, :], 0.0)
    row, column = places[:, None], places[None, :]
    # Products over the gaps l .. i - 1 for the left end l, and i .. r - 1 for the right end r.
    below = alpha.masked_fill(column >= row, 1.0)
    reach_left = below.flip(-1).cumprod(-1).flip(-1) * (column <= row)
    above = alpha.masked_fill(column < row, 1.0)
    passed = above.cumprod(-1)
    reach_right = torch.cat([torch.ones_like(passed[..., :1]), passed[..., :-1]], -1)
    reach_right = reach_right.masked_fill(column <= row, 1.0) * (column >= row)
    left = reach_left - torch.cat([torch.zeros_like(alpha[..., :1]), reach_left[..., :-1]], -1)
    left = left * (column <= row)
    right = reach_right * (1 - above) * (column >= row)
    # log of sum_{k=l}^r exp(height_k), for l <= r.
    inside = (row <= column) & words[:, None, :] & words[:, :, None]
    shifted = heights - heights.masked_fill(~words, -torch.inf).amax(1, keepdim=True)
    shifted = shifted.masked_fill(~words, 0.0).clamp_min(LOWEST)  # exp of padding may be infinite
    spread = shifted[:, None, :].masked_fill(~inside, -torch.inf).expand(-1, n, -1)
    totals = spread.clamp_min(2 * LOWEST).logcumsumexp(-1)
    inverse = (-totals).exp().masked_fill(~inside, 0.0)
    weights = shifted.exp()[:, None, :]
    earlier = (left * (right @ inverse.mT)).cumsum(-1)
    later = (right * (left @ inverse)).flip(-1).cumsum(-1).flip(-1)
    result = torch.where(column < row, earlier, later) * weights
    outside = (row == column) | ~words[:, :, None] | ~words[:, None, :]
    return result.masked_fill(outside, 0.0).to(precision)


class DistanceParser(nn.Module):
    """Distances between words and their heights, from convolutions.

    s_l = tanh(LN(conv(s_{l-1}))); distance_i = w_1 tanh(W_2 [s_i; s_{i+1}]),
    height_i = w_3 tanh(W_4 s_i).

    Args:
        embedding: maps word indices to vectors.
        size: size of the vectors.
        layers: number of convolutions.
        width: width of their windows, an odd number.
        dropout: dropout of the vectors.

    Raises:
        ValueError: ``width`` is even or below 1, or ``layers`` below 0.
    """

    def __init__(
        self, embedding: nn.Module, size: int, layers: int = 4, width: int = 9,
        dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__()
        if width < 1 or width % 2 == 0:
            what = "odd" if width > 0 else "odd and above 0"
            raise ValueError(f"the window of a convolution must be {what}, not {width}")
        if layers < 0:
            raise ValueError(f"there must be 0 convolutions or more, not {layers}")
        self.embedding = embedding
        self.dropout = nn.Dropout(dropout)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(size, size, width, padding=width // 2) for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(layers))
        self.distance = nn.Sequential(nn.Linear(2 * size, size), nn.Tanh(), nn.Linear(size, 1))
        self.height = nn.Sequential(nn.Linear(size, size), nn.Tanh(), nn.Linear(size, 1))

    def forward(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Distances and heights, (batch, n) each.

        Args:
            tokens: (batch, n) integers.
            lengths: (batch,) words per sentence, at least 1.

        Raises:
            ValueError: a length out of range.
        """
        check_lengths_of(tokens, lengths)
        words = within(lengths, tokens.size(1))[..., None]
        states = self.dropout(self.embedding(tokens)) * words
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            states = norm(convolution(states.mT).mT).tanh() * words  # padding counts as 0
        following = torch.cat([states[:, 1:], torch.zeros_like(states[:, :1])], 1)
        distances = self.distance(torch.cat([states, following], -1)).squeeze(-1)
        return distances, self.height(states).squeeze(-1)


class DependencyAttention(nn.Module):
    """Transformer layer in which probabilities of arcs replace the softmax of attention.

    a_ij = sigmoid(q_i . k_j / sqrt(d)) (w p(j | i) + (1 - w) p(i | j)), with a separate w for each
    attention head; o = W [sum_j a_ij v_j]. The rest is a Transformer layer with norms before its
    parts.

    Args:
        size: size of the words' vectors.
        heads: number of attention heads.
        feedforward: size of the feed-forward layer.
        dropout: dropout of the residual branches.
        attention_dropout: dropout of the attention weights.

    Raises:
        ValueError: the heads do not divide the size.
    """

    def __init__(
        self, size: int, heads: int, feedforward: int, dropout: float = 0.0,
        attention_dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__()
        if heads < 1 or size % heads:
            raise ValueError(f"the number of heads must divide the size {size}, not {heads}")
        self.heads = heads
        self.project = nn.Linear(size, 3 * size)
        self.output = nn.Linear(size, size)
        self.balance = nn.Parameter(torch.zeros(heads))
        self.first, self.second = nn.LayerNorm(size), nn.LayerNorm(size)
        self.feedforward = nn.Sequential(
            nn.Linear(size, feedforward), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(feedforward, size),
        )  # fmt: skip
        self.dropout, self.attention_dropout = nn.Dropout(dropout), nn.Dropout(attention_dropout)

    def forward(self, words: Tensor, arcs: Tensor) -> tuple[Tensor, Tensor]:
        """Words (batch, n, size), and the attention weights (batch, heads, n, n).

        Args:
            words: (batch, n, size).
            arcs: (batch, n, n) p(j | i).
        """
        parts = self.project(self.first(words)).unflatten(-1, (3, self.heads, -1))
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        scores = at_least_float32(query @ (key * key.size(-1) ** -0.5).mT).sigmoid()
        share = self.balance.sigmoid()[:, None, None]
        arcs = arcs[:, None]
        weights = scores.to(arcs.dtype) * (share * arcs + (1 - share) * arcs.mT)
        messages = self.attention_dropout(weights).to(value.dtype) @ value
        words = words + self.dropout(self.output(messages.transpose(1, 2).flatten(2)))
        return words + self.dropout(self.feedforward(self.second(words))), weights


class StructFormerEncoder(nn.Module):
    """Words in context, by attention along the dependencies from a :class:`DistanceParser`.

    Args:
        parser: the parser, with separate embeddings.
        embedding: maps word indices to vectors.
        layers: the attention layers.
        positions: length of the longest sentence.
        dropout: dropout of the embeddings.
    """

    def __init__(
        self, parser: DistanceParser, embedding: nn.Embedding, layers: list[DependencyAttention],
        positions: int, dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__()
        self.parser, self.embedding = parser, embedding
        self.layers = nn.ModuleList(layers)
        self.positions = nn.Embedding(positions, embedding.embedding_dim)
        nn.init.normal_(self.positions.weight, std=embedding.embedding_dim**-0.5)
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(embedding.embedding_dim)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Encoding:
        """Words in context; arc scores are log p(h | m), with m as its own head at [m, m].

        Args:
            tokens: (batch, n) integers.
            lengths: (batch,) words per sentence, at least 1.

        Raises:
            ValueError: a sentence is longer than there are positions.
        """
        n, known = tokens.size(1), self.positions.num_embeddings
        if n > known:
            raise ValueError(f"a sentence of {n} words, but only {known} positions")
        arcs = self._arcs(tokens, lengths)
        words = self.dropout(self.embedding(tokens) + self.positions.weight[:n])
        shares = []
        for layer in self.layers:
            words, weights = layer(words, arcs)
            shares.append(weights)
        return Encoding(self.norm(words), _scores(arcs), shares)

    def arc_scores(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Only ``arc_scores`` (batch, n, n) of :class:`.Encoding`."""
        return _scores(self._arcs(tokens, lengths))

    def _arcs(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        return dependency_distribution(*self.parser(tokens, lengths), lengths)


def _scores(arcs: Tensor) -> Tensor:
    """log p(h | m), with the probability that m is its own head at [m, m]."""
    own = (1 - arcs.sum(-1)).clamp_min(0.0)
    return (arcs + torch.diag_embed(own)).clamp_min(1e-30).log().mT
