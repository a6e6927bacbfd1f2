"""Scores of dependency arcs from vectors of words."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from fairseq_struct.structure.precision import at_least_float32

# The vectors of pairs are computed and used in blocks of sentences: on a CPU, blocks that fit its
# cache; elsewhere, blocks that are large enough to keep the device busy.
BLOCK_BYTES, DEVICE_BLOCK_BYTES = 2**20, 2**27


class ArcScorer(nn.Module):
    """s(h -> m) = v' tanh(W' [x_h; x_m] + b) (Mihaylova's thesis, eq. 4.16).

    W' [x_h; x_m] is the sum of a product with x_h and a product with x_m, so only the tanh is
    computed for every pair of words. The thesis does not define x_h for an arc from the root; here
    the caller passes a separate vector. The scores can be differentiated once.

    Args:
        input_size: size of the vectors x.
        hidden_size: size of v.
    """

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.head = nn.Linear(input_size, hidden_size)
        self.modifier = nn.Linear(input_size, hidden_size, bias=False)
        self.score = nn.Linear(hidden_size, 1, bias=False)

    def forward(self, words: Tensor, root: Tensor) -> Tensor:
        """Arc scores (batch, n, n) in float32 or float64, arcs from the root on the diagonal.

        Args:
            words: (batch, n, input_size).
            root: (input_size,).

        Raises:
            RuntimeError: in the backward pass, if gradients are to be differentiated
                (``create_graph``).
        """
        # Half precision would lose digits in the sums over the hidden size.
        heads, modifiers, root = map(
            at_least_float32, (self.head(words), self.modifier(words), self.head(root))
        )
        vector = self.score.weight.squeeze(0).to(heads.dtype)
        with torch.autocast(words.device.type, enabled=False):
            scores = _PairScores.apply(heads, modifiers, vector)
            from_root = torch.tanh(root + modifiers) @ vector
        return torch.diagonal_scatter(scores, from_root, dim1=1, dim2=2)


class _PairScores(torch.autograd.Function):
    """v' tanh(a_h + b_m) for all h and m, without a tensor of all sentences' pairs of vectors.

    tanh(a_h + b_m) = 2 t - 1 with t = sigmoid(2 (a_h + b_m)), which takes a third of the time of a
    tanh. Let g be the gradient with respect to the score. The gradient with respect to a_h is
    4 v * sum_m g (t - t^2); with respect to b_m it is the same sum over h; with respect to v it is
    sum g (2 t - 1). To compute t again in the backward pass is cheaper than to store and load it.
    """

    @staticmethod
    def forward(context, heads: Tensor, modifiers: Tensor, vector: Tensor) -> Tensor:
        heads, modifiers = 2 * heads, 2 * modifiers
        scores = heads.new_empty(*heads.shape[:2], heads.size(1))
        for part, pairs in _blocks(heads, modifiers):
            scores[part] = pairs @ (2 * vector)
        context.save_for_backward(heads, modifiers, vector)
        return scores - vector.sum()

    @staticmethod
    def backward(context, gradient: Tensor):
        if torch.is_grad_enabled():
            raise RuntimeError("ArcScorer has no second-order gradients")
        heads, modifiers, vector = context.saved_tensors
        by_head, by_modifier = torch.empty_like(heads), torch.empty_like(heads)
        by_vector = -gradient.sum().expand_as(vector)
        for part, pairs in _blocks(heads, modifiers):
            own = gradient[part].unsqueeze(-1)
            by_vector = by_vector + 2 * own.flatten() @ pairs.flatten(0, 2)
            weighted = pairs * own
            slopes = torch.addcmul(weighted, weighted, pairs, value=-1)
            torch.sum(slopes, 2, out=by_head[part])
            torch.sum(slopes, 1, out=by_modifier[part])
        vector = 4 * vector
        return by_head * vector, by_modifier * vector, by_vector


def _blocks(heads: Tensor, modifiers: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Blocks of sentences, and sigmoid(a_h + b_m) of each block, (block, n, n, size)."""
    batch, n, size = heads.shape
    most = BLOCK_BYTES if heads.device.type == "cpu" else DEVICE_BLOCK_BYTES
    count = max(1, most // max(1, n * n * size * heads.element_size()))
    for start in range(0, batch, count):
        part = slice(start, start + count)
        yield part, (heads[part].unsqueeze(2) + modifiers[part].unsqueeze(1)).sigmoid_()
