"""Masked attention of a word over the slots of a stack."""

import torch
from torch import Tensor, nn

from fairseq_struct.errors import unknown_name
from fairseq_struct.modules.dropouts import unit_dropout
from fairseq_struct.structure.checks import refuse_fractions
from fairseq_struct.structure.precision import at_least_float32

ATTENTIONS = ("paper", "published")
# The published code treats slots whose mask is below this value as not reachable.
PUBLISHED_LEAST_MASK = 1e-5


class MaskedAttention(nn.Module):
    """Where the head of the stack is, after a word (Shen's thesis, section 3.5.1).

    alpha^i = (w_2 tanh(W_1 [candidate^i; x~] + b_1) + b_2) / sqrt(D) (eq. 3.5.8), and p^i is
    exp(alpha^i) m^i, normalised over the slots (eqs. 3.5.9 to 3.5.11), with the mask
    m^i = pi->_{t-1}^{i+1}. The thesis has W_1 of N x 2 N and the scale sqrt(N) in eq. 3.5.8, with N
    slots; both must be D, the width of a slot.

    ``form="published"`` is the form of the published code: w_2 ReLU(LN(W_q x~) + LN(W_k candidate))
    with biases, and a mask below 1e-5 is 0. Then most slots need no computation.

    Args:
        size: D.
        form: ``paper`` or ``published``.
        dropout: probability, of the words and candidates; in the form ``published`` also of the
            hidden layer.
        least_mask: masks below it are 0; by default 0 in the form ``paper`` and 1e-5 in
            ``published``.

    Raises:
        ValueError: an unknown form, or a number out of range.
    """

    def __init__(
        self, size: int, form: str = "paper", dropout: float = 0.0, least_mask: float | None = None
    ):
        super().__init__()
        refuse_fractions(size=size)
        if size < 1:
            raise ValueError(f"size must be 1 or more, not {size}")
        if form not in ATTENTIONS:
            raise ValueError(unknown_name("attention", form, ATTENTIONS))
        published = form == "published"
        if least_mask is None:
            least_mask = PUBLISHED_LEAST_MASK if published else 0.0
        if not 0 <= least_mask < 1:
            raise ValueError(f"the least mask must be from 0 to below 1, not {least_mask}")
        self.form, self.least_mask, self.dropout = form, least_mask, unit_dropout(dropout)
        self.query = nn.Linear(size, size)
        self.key = nn.Linear(size, size, bias=published)
        self.query_norm = nn.LayerNorm(size) if published else nn.Identity()
        self.key_norm = nn.LayerNorm(size) if published else nn.Identity()
        self.score = nn.Linear(size, 1)
        self.scale = size**-0.5

    def queries(self, words: Tensor) -> Tensor:
        """The part of each word x~ (.., D) in the hidden layer, (.., D)."""
        return self.query_norm(self.query(self.dropout(words)))

    def forward(self, queries: Tensor, candidates: Tensor, mask: Tensor) -> Tensor:
        """p, (slots, batch), at least in float32.

        Args:
            queries: (batch, D), of :meth:`queries`.
            candidates: (slots, batch, D).
            mask: (slots, batch) m, of which at least one in each column is not 0.
        """
        hidden = queries + self.key_norm(self.key(self.dropout(candidates)))
        hidden = hidden.tanh() if self.form == "paper" else self.dropout(hidden.relu())
        scores = self.score(hidden).squeeze(-1) * self.scale
        scores = at_least_float32(scores)
        mask = mask.to(scores.dtype)
        # The smallest normal number keeps 1 / m finite in the gradient.
        reachable = mask >= max(self.least_mask, torch.finfo(mask.dtype).tiny)
        logarithm = torch.where(reachable, mask, 1.0).log().masked_fill(~reachable, -torch.inf)
        return (scores + logarithm).softmax(0)
