"""Context managers that let a network compute only some positions, or a result only once.

A scheduled-sampling decoder runs twice on one batch, and only some positions of its first pass are
needed. These context managers avoid the other work without changes to the network's code: while
one is open, some of its modules have another ``forward``.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn


@contextmanager
def forward_replaced(module: nn.Module, forward: Callable[..., Tensor]) -> Iterator[None]:
    """Replace ``module.forward`` by ``forward`` while the context is open."""
    before = module.__dict__.get("forward")
    module.forward = forward
    try:
        yield
    finally:
        if before is None:
            del module.forward
        else:
            module.forward = before


@contextmanager
def computed_once(modules: Iterable[nn.Module]) -> Iterator[None]:
    """Let each module compute its output for the same input tensor only once.

    The output has its graph even if it is first computed under ``no_grad``. So it can serve a pass
    without gradient first, and a pass with gradient later. Other inputs are computed as usual.

    Args:
        modules: deterministic functions of one tensor, such as the projections of an encoder's
            output to keys and values.
    """

    def remember(module: nn.Module) -> Callable[[Tensor], Tensor]:
        compute = module.forward
        known: list[Tensor] = []

        def forward(given: Tensor) -> Tensor:
            if known and known[0] is given:
                return known[1]
            with torch.enable_grad():
                output = compute(given)
            known[:] = given, output
            return output

        return forward

    with ExitStack() as stack:
        for module in modules:
            stack.enter_context(forward_replaced(module, remember(module)))
        yield


@contextmanager
def only_at(
    first: nn.Module, last: nn.Module, rows: Tensor, columns: Tensor
) -> Iterator[None]:
    """Let a chain of position-wise modules work at some positions only; other outputs are 0.

    Args:
        first: the first module of the chain, called on (length, batch, dim).
        last: the last module of the chain.
        rows, columns: (n,) positions in the batch and in time.
    """
    compute_first, compute_last = first.forward, last.forward
    shape: list[int] = []

    def enter(given: Tensor) -> Tensor:
        shape[:] = given.shape[:2]
        return compute_first(given[columns, rows])

    def leave(given: Tensor) -> Tensor:
        output = compute_last(given)
        whole = output.new_zeros(*shape, output.size(-1))
        return whole.index_put_((columns, rows), output)

    with forward_replaced(first, enter), forward_replaced(last, leave):
        yield
