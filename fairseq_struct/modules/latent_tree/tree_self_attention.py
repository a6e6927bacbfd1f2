"""Self-attention with one head that follows a tree."""

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from fairseq_struct.modules.masks import within


class TreeSelfAttention(nn.Module):
    """Multi-head self-attention whose first attention head reads the words' heads in a tree.

    Attention heads 2 to k are as in Vaswani et al. (2017), softmax(Q K' / sqrt(d)) V. The first has
    no queries and keys: each word attends to its head in the tree, or to all possible heads by
    their probability. This is the project's own; section 6.2 of Mihaylova's thesis suggests a
    parser inside a translation model.

    Args:
        size: size of the words' vectors.
        heads: k, 2 or more.
        dropout: dropout of the attention weights of heads 2 to k.

    Raises:
        ValueError: fewer than 2 heads, or ``size`` is not a multiple of ``heads``.
    """

    def __init__(self, size: int, heads: int, dropout: float = 0.0):
        super().__init__()
        if heads < 2 or size % heads:
            raise ValueError(
                f"the number of heads must be 2 or more and divide the size {size}, not {heads}"
            )
        self.heads = heads
        self.dropout = dropout
        free = size - size // heads
        self.query = nn.Linear(size, free)
        self.key = nn.Linear(size, free)
        self.value = nn.Linear(size, size)
        self.output = nn.Linear(size, size)
        for layer in (self.query, self.key, self.value):
            nn.init.xavier_uniform_(layer.weight, gain=2**-0.5)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def extra_repr(self) -> str:
        """The heads, of which one follows the tree."""
        return f"heads={self.heads}, dropout={self.dropout:g}"

    def forward(self, words: Tensor, arcs: Tensor, padding: Tensor | None = None) -> Tensor:
        """(n, batch, size), as ``words``.

        Args:
            words: (n, batch, size).
            arcs: (batch, n, n), how much each word (row) attends to each other word (column).
            padding: (batch, n), true where there is no word.
        """
        first = words.transpose(0, 1)
        query, key = (
            layer(first).unflatten(-1, (self.heads - 1, -1)).transpose(1, 2)
            for layer in (self.query, self.key)
        )
        value = self.value(first).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        mask = None if padding is None else ~padding[:, None, None, :]
        free = scaled_dot_product_attention(
            query, key, value[:, 1:], mask, self.dropout if self.training else 0.0
        )
        along = torch.matmul(arcs.to(value.dtype), value[:, 0]).unsqueeze(1)
        both = torch.cat([along, free], 1).transpose(1, 2).flatten(2)
        return self.output(both).transpose(0, 1)


def attention_of_arcs(arcs: Tensor, lengths: Tensor, start: Tensor, size: int) -> Tensor:
    """Attention (batch, size, size) of trees over words followed by an end symbol.

    A word attends to its head. A modifier of the root attends to the end symbol. The end symbol
    attends to itself. Rows of padding are 0.

    Args:
        arcs: (batch, n, n), arcs from the root on the diagonal.
        lengths: (batch,) words per sentence, without the end symbol; may be 0.
        start: (batch,) position of the first word, 0 unless padding is in front.
        size: number of positions, with padding and end symbol.
    """
    batch, n, _ = arcs.shape
    own = torch.eye(n, dtype=torch.bool, device=arcs.device)
    compact = arcs.new_zeros(batch, n + 1, n + 1)
    arcs = arcs * within(lengths, n).unsqueeze(1)
    compact[:, :n, :n] = arcs.transpose(1, 2).masked_fill(own, 0.0)
    ends = lengths.view(-1, 1, 1)
    to_root = torch.cat([arcs.diagonal(dim1=1, dim2=2), arcs.new_zeros(batch, 1)], 1)
    is_end = torch.arange(n + 1, device=arcs.device) == lengths[:, None]
    compact = compact.scatter_add(
        2, ends.expand(-1, n + 1, -1), (to_root + is_end.to(arcs.dtype)).unsqueeze(2)
    )
    place = torch.arange(size, device=arcs.device) - start[:, None]
    inside = (place >= 0) & (place <= lengths[:, None])
    place = place.clamp(0, n)
    rows = compact.gather(1, place[:, :, None].expand(-1, -1, n + 1))
    spread = rows.gather(2, place[:, None, :].expand(-1, size, -1))
    return spread * (inside[:, :, None] & inside[:, None, :])
