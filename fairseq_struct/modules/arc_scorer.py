"""Scores of dependency arcs from vectors of words."""

import torch
from torch import Tensor, nn


class ArcScorer(nn.Module):
    """s(h -> m) = v' tanh(W' [x_h; x_m] + b) (Mihaylova's thesis, eq. 4.16).

    W' [x_h; x_m] is the sum of a product with x_h and one with x_m, so that only the tanh is
    computed for every pair of words. The thesis does not say what x_h is for an arc from the root:
    here, a vector of its own that the caller passes.

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
        """Arc scores (batch, n, n), those of arcs from the root on the diagonal.

        Args:
            words: (batch, n, input_size).
            root: (input_size,).
        """
        heads, modifiers = self.head(words), self.modifier(words)
        pairs = (heads.unsqueeze(2) + modifiers.unsqueeze(1)).tanh_()
        scores = self.score(pairs).squeeze(-1)
        from_root = self.score(torch.tanh(self.head(root) + modifiers)).squeeze(-1)
        return torch.diagonal_scatter(scores, from_root.to(scores.dtype), dim1=1, dim2=2)
