"""Factors between the inputs of undirected attention and its queries, keys and values.

Source: T. Mihaylova's thesis, eq. 5.13. See :mod:`.attention`.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from fairseq_struct.modules.transformer_parts import sinusoids
from fairseq_struct.modules.undirected.factors import Factor, Values
from fairseq_struct.modules.undirected.regularisers import Regulariser, total

PROJECTED = ("Q", "K", "V")
# The hidden rows of X, and where they are.
HIDDEN, PLACES = "hidden", "places"


class Given(Regulariser):
    """Of a variable that is always observed, and has no energy."""

    def value(self, h: Tensor, support: Tensor | None = None) -> Tensor:
        """0, (batch,)."""
        return h.new_zeros(len(h))

    def gradient(self, t: Tensor, support: Tensor | None = None) -> Tensor:
        """There is none."""
        raise ValueError("a given variable cannot be inferred")


class Projections(Factor):
    """-<Q, (X + P) W_Q^T> - <K, (X + P) W_K^T> - <V, (X + P) W_V^T>, by a single product.

    Args:
        size: d, even.
    """

    def __init__(self, size: int):
        super().__init__(("X", *PROJECTED))
        layers = [nn.Linear(size, size, bias=False).weight.detach() for _ in PROJECTED]
        self.weight = nn.Parameter(torch.cat(layers))

    def needs(self, name: str) -> tuple[str, ...]:
        """X; X needs the others."""
        return PROJECTED if name == "X" else ("X",)

    def message(self, name: str, values: Values) -> Tensor:
        """(X + P) W^T; to X, Q W_Q + K W_K + V W_V."""
        if name == "X":
            return torch.cat([values[name] for name in PROJECTED], -1) @ self.weight
        return self.messages(name, values)[name]

    def messages(self, name: str, values: Values, kept: dict | None = None) -> dict[str, Tensor]:
        """Those to Q, K and V together."""
        if name == "X":
            return {name: self.message(name, values)}
        rows = values["X"]
        places = torch.arange(rows.size(1), device=rows.device)
        return self.of(rows + sinusoids(places, rows))

    def of(self, rows: Tensor) -> dict[str, Tensor]:
        """Products of rows (batch, rows, d) with the three weights."""
        made = functional.linear(rows, self.weight).chunk(len(PROJECTED), -1)
        return dict(zip(PROJECTED, made, strict=True))

    def energy(self, values: Values) -> Tensor:
        """E_f, (batch,)."""
        made = self.messages("Q", values)
        return -sum(total(values[name] * made[name]) for name in PROJECTED)


class HiddenRows(Factor):
    """What :class:`Projections` is for the hidden rows of X: -<Q, R hidden W_Q^T> and so on.

    R (batch, n, m), the variable ``places``, is 1 where row i of X is hidden row j.

    Args:
        projections: the factor with the weights, which stay its own.
    """

    def __init__(self, projections: Projections):
        super().__init__((PLACES, HIDDEN, *PROJECTED))
        self._projections = (projections,)  # in a tuple, it is not registered twice

    def needs(self, name: str) -> tuple[str, ...]:
        """The places, and the hidden rows; these need Q, K and V."""
        return (PLACES, *PROJECTED) if name == HIDDEN else (PLACES, HIDDEN)

    def message(self, name: str, values: Values) -> Tensor:
        """R hidden W^T; to the hidden rows, R^T (Q W_Q + K W_K + V W_V)."""
        if name != HIDDEN:
            return self.messages(name, values)[name]
        rows = values[PLACES].transpose(1, 2) @ torch.cat([values[x] for x in PROJECTED], -1)
        return rows @ self._projections[0].weight

    def messages(self, name: str, values: Values, kept: dict | None = None) -> dict[str, Tensor]:
        """Those to Q, K and V together."""
        if name == HIDDEN:
            return {name: self.message(name, values)}
        made = self._projections[0].of(values[HIDDEN])
        return {other: values[PLACES] @ rows for other, rows in made.items()}

    def energy(self, values: Values) -> Tensor:
        """E_f, (batch,)."""
        return -total(values[HIDDEN] * self.message(HIDDEN, values))
