"""Strictly convex regularisers Psi of variables, given by their activation functions.

Source: T. Mihaylova's thesis, chapter 5, table 5.1. A variable with pre-activation t takes the
value grad Psi*(t) = argmax_h <t, h> - Psi(h), where Psi*(t) = max_h <t, h> - Psi(h) is the
conjugate.
"""

from abc import ABC, abstractmethod

import torch
from entmax import sparsemax
from torch import Tensor
from torch.nn.functional import softplus

from fairseq_struct.errors import InputError
from fairseq_struct.structure.precision import at_least_float32

# Values this far outside of a domain count as inside: sums of float32 probabilities are not exact,
# and those of lower precision are off by a few units in the last place.
SLACK, UNITS = 1e-4, 4
# Inside of every domain of numbers, where Psi and its gradient are finite.
INNER = 0.5


class Regulariser(ABC):
    """Psi, its conjugate, and the conjugate's gradient.

    Values are (batch, ...). A support, where given, is a boolean mask that broadcasts to them:
    outside, values are 0 and add nothing to Psi and Psi*, whatever t is there, NaN too.
    """

    @abstractmethod
    def value(self, h: Tensor, support: Tensor | None = None) -> Tensor:
        """Psi(h), (batch,); infinite outside of the domain."""

    @abstractmethod
    def gradient(self, t: Tensor, support: Tensor | None = None) -> Tensor:
        """grad Psi*(t), of the shape of t."""

    def conjugate(self, t: Tensor, support: Tensor | None = None) -> Tensor:
        """Psi*(t), (batch,): <t, h> - Psi(h) at h = grad Psi*(t)."""
        t = at_least_float32(t)
        h = self.gradient(t, support)
        return total(h * t.masked_fill(h == 0, 0.0)) - self.value(h, support)

    def check(self, name: str, t: Tensor) -> None:  # noqa: B027 (most fit every variable)
        """Raise a ValueError if this does not fit variable ``name`` with pre-activation t."""


class Elementwise(Regulariser):
    """A regulariser that is a sum over all numbers of a variable."""

    def value(self, h: Tensor, support: Tensor | None = None) -> Tensor:
        """Psi(h), (batch,)."""
        h = at_least_float32(h)
        if support is None:
            return total(self._each(h))
        return total(self._each(h.masked_fill(~support, INNER)).masked_fill(~support, 0.0))

    def gradient(self, t: Tensor, support: Tensor | None = None) -> Tensor:
        """grad Psi*(t), of the shape of t."""
        if support is None:
            return self._activation(t)
        return self._activation(t.masked_fill(~support, 0.0)).masked_fill(~support, 0.0)

    @abstractmethod
    def _each(self, h: Tensor) -> Tensor:
        """Psi of each number, infinite outside of the domain."""

    @abstractmethod
    def _activation(self, t: Tensor) -> Tensor:
        """grad Psi* of each number."""


class Identity(Elementwise):
    """Psi(h) = |h|^2 / 2, with grad Psi*(t) = t."""

    def _each(self, h: Tensor) -> Tensor:
        return h.square() / 2

    def _activation(self, t: Tensor) -> Tensor:
        return t


class Relu(Elementwise):
    """Psi(h) = |h|^2 / 2 for h >= 0, with grad Psi*(t) = relu(t)."""

    def _each(self, h: Tensor) -> Tensor:
        return (h.square() / 2).masked_fill(h < -SLACK, torch.inf)

    def _activation(self, t: Tensor) -> Tensor:
        return t.relu()


class Sigmoid(Elementwise):
    """Psi(h) = sum of phi(h) + phi(1 - h), phi(t) = t log t, with grad Psi*(t) = sigmoid(t)."""

    def _each(self, h: Tensor) -> Tensor:
        return negative_entropy(h) + negative_entropy(1 - h)

    def _activation(self, t: Tensor) -> Tensor:
        return t.sigmoid()

    def conjugate(self, t: Tensor, support: Tensor | None = None) -> Tensor:
        """Psi*(t) = sum of log(1 + exp(t)), (batch,)."""
        t = at_least_float32(t)
        if support is None:
            return total(softplus(t))
        return total(softplus(t.masked_fill(~support, 0.0)).masked_fill(~support, 0.0))


class Tanh(Elementwise):
    """Psi(h) = sum of phi((1 + h) / 2) + phi((1 - h) / 2), with grad Psi*(t) = tanh(t)."""

    def _each(self, h: Tensor) -> Tensor:
        return negative_entropy((1 + h) / 2) + negative_entropy((1 - h) / 2)

    def _activation(self, t: Tensor) -> Tensor:
        return t.tanh()

    def conjugate(self, t: Tensor, support: Tensor | None = None) -> Tensor:
        """Psi*(t) = sum of log(exp(t) + exp(-t)), (batch,)."""
        t = at_least_float32(t)
        t = t if support is None else t.masked_fill(~support, 0.0)
        each = softplus(2 * t) - t
        return total(each if support is None else each.masked_fill(~support, 0.0))


class Distributions(Regulariser):
    """A regulariser of probabilities, which sum to one along the last dimension.

    A row without support is 0.

    Args:
        scale: factor of Psi; attention has the square root of its width (section 5.4).

    Raises:
        ValueError: the scale is not above 0.
    """

    def __init__(self, scale: float = 1.0):
        if not scale > 0:
            raise ValueError(f"the scale of a regulariser must be above 0, not {scale}")
        self.scale = scale

    def value(self, h: Tensor, support: Tensor | None = None) -> Tensor:
        """Psi(h), (batch,)."""
        slack = max(SLACK, UNITS * torch.finfo(h.dtype).eps)
        outside = (h < -SLACK).any(-1) | ((h.sum(-1) - 1).abs() > slack)
        if support is not None:
            support = support.expand_as(h)
            outside = torch.where(support.any(-1), outside, (h != 0).any(-1))
            outside = outside | ((h != 0) & ~support).any(-1)
        rows = self._row(at_least_float32(h).clamp(min=0.0)).masked_fill(outside, torch.inf)
        if support is not None:
            rows = rows.masked_fill(~support.any(-1) & ~outside, 0.0)
        return self.scale * total(rows)

    def gradient(self, t: Tensor, support: Tensor | None = None) -> Tensor:
        """grad Psi*(t), of the shape of t."""
        t = t / self.scale
        if support is None:
            return self._map(t)
        empty = ~support.any(-1, keepdim=True)
        t = t.masked_fill(~support, -torch.inf).masked_fill(empty, 0.0)
        return self._map(t).masked_fill(~support, 0.0)

    def check(self, name: str, t: Tensor) -> None:
        """Raise a ValueError if a variable has no dimension beside the batch."""
        if t.dim() < 2:
            raise ValueError(f"variable {name}: a distribution needs (batch, ..., values)")

    @abstractmethod
    def _row(self, h: Tensor) -> Tensor:
        """Psi of each distribution, without scale."""

    @abstractmethod
    def _map(self, t: Tensor) -> Tensor:
        """grad Psi* without scale."""


class Softmax(Distributions):
    """Psi(h) = -H(h) over distributions, with grad Psi*(t) = softmax(t)."""

    def _row(self, h: Tensor) -> Tensor:
        return negative_entropy(h).sum(-1)

    def _map(self, t: Tensor) -> Tensor:
        return t.softmax(-1)

    def conjugate(self, t: Tensor, support: Tensor | None = None) -> Tensor:
        """Psi*(t) = scale log sum exp(t / scale), (batch,)."""
        t = at_least_float32(t) / self.scale
        if support is None:
            return self.scale * total(t.logsumexp(-1))
        empty = ~support.any(-1)
        t = t.masked_fill(~support, -torch.inf).masked_fill(empty[..., None], 0.0)
        return self.scale * total(t.logsumexp(-1).masked_fill(empty, 0.0))


class Sparsemax(Distributions):
    """Psi(h) = |h|^2 / 2 over distributions, with grad Psi*(t) = sparsemax(t)."""

    def _row(self, h: Tensor) -> Tensor:
        return h.square().sum(-1) / 2

    def _map(self, t: Tensor) -> Tensor:
        return sparsemax(t, dim=-1)


def negative_entropy(p: Tensor) -> Tensor:
    """phi(p) = p log p, 0 at 0, infinite below."""
    q = p.masked_fill(p <= 0, 1.0)  # its gradient at 0 is infinite, and taken for 0
    return (q * q.log()).masked_fill(p < -SLACK, torch.inf)


def total(each: Tensor) -> Tensor:
    """Sums over all dimensions but the first, (batch,); those of half precision in float32."""
    each = at_least_float32(each)
    return each.flatten(1).sum(1) if each.dim() > 1 else each


def diverged(what: str) -> InputError:
    """The error for numbers of a minimisation that are not finite.

    Args:
        what: the numbers, with their verb.
    """
    return InputError(
        f"{what} not finite: the energy of this network has no lower bound, and its minimisation "
        "has diverged; use fewer passes or smaller weights (a lower learning rate)"
    )


REGULARISERS = {
    "identity": Identity, "relu": Relu, "sigmoid": Sigmoid, "tanh": Tanh, "softmax": Softmax,
    "sparsemax": Sparsemax,
}  # fmt: skip
