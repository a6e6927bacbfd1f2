"""Conjugate gradients for a batch of matrices, of which only products are known."""

from collections.abc import Callable

import torch
from torch import Tensor

# Where rounding hides the curvature, what is left grows without end. A sentence keeps its last
# solution before more than this many times the first rest is left, or a number is not finite.
GROWN = 1e6


def conjugate_gradients(
    product: Callable[[Tensor], Tensor], wanted: Tensor, diagonal: Tensor, precise: Tensor,
    most: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The a with |wanted - A a| <= precise, for each A of a batch, and for which it was found.

    Args:
        product: maps a, (batch, n, n), to A a; A is symmetric and nowhere below 0.
        wanted: (batch, n, n).
        diagonal: (batch, n, n) of A, or near it: the preconditioner.
        precise: (batch,).
        most: products at most.
    """
    solution, rest = torch.zeros_like(wanted), wanted
    solved = norm(rest) <= precise
    ended, longest = solved, GROWN * norm(rest)
    preconditioned = rest / diagonal
    direction, before = preconditioned, dot(rest, preconditioned)
    for _ in range(most):
        if ended.all():
            break
        image = product(direction)
        curvature = dot(direction, image)
        step = torch.where(ended | (curvature <= 0), 0.0, before / curvature)[..., None, None]
        moved, left = solution + step * direction, rest - step * image
        ended = ended | ~((norm(left) <= longest) & (norm(moved) < torch.inf))
        solution = torch.where(ended[..., None, None], solution, moved)
        rest = torch.where(ended[..., None, None], rest, left)
        solved = norm(rest) <= precise
        ended = ended | solved
        preconditioned = rest / diagonal
        now = dot(rest, preconditioned)
        again = torch.where(before > 0, now / before, 0.0)[..., None, None]
        direction, before = preconditioned + again * direction, now
    return solution, solved


def dot(first: Tensor, second: Tensor) -> Tensor:
    """Inner products (batch,) of matrices (batch, n, n)."""
    return (first * second).sum((-2, -1))


def norm(vectors: Tensor) -> Tensor:
    """Euclidean lengths (batch,) of matrices (batch, n, n)."""
    return dot(vectors, vectors).sqrt()
