"""The CPU's kernels for scores on another device: arguments are brought to it, results back."""

from collections.abc import Callable
from types import ModuleType

import torch
from torch import Tensor


def functions_for(scores: Tensor, trees: ModuleType, backend: str) -> "ModuleType | BesideGPU":
    """``trees``, or the same beside a GPU if ``compiled`` kernels are to serve scores on one."""
    moves = backend == "compiled" and scores.device.type != "cpu"
    return BesideGPU(trees) if moves else trees


class BesideGPU:
    """The functions of an inference module, for tensors of another device than the CPU.

    Kernels of the CPU are compared with plain torch on a GPU in ``recipes/benchmarks``.

    Args:
        trees: ``projective.inference`` or ``nonprojective.inference``, whose functions of the same
            names explain arguments and results.
    """

    def __init__(self, trees: ModuleType):
        self._trees = trees
        self.log_partition_torch = trees.log_partition_torch  # for any device

    def log_partition_and_marginals(
        self, scores: Tensor, lengths: Tensor, *options
    ) -> tuple[Tensor, ...]:
        """Log-partition (batch,), and marginals (batch, n, n)."""
        return _brought(self._trees.log_partition_and_marginals, scores, lengths, options)

    def hessian_product(
        self, scores: Tensor, lengths: Tensor, single_root: bool, direction: Tensor, backend: str
    ) -> Tensor:
        """Hessian of the log-partition function times ``direction``, (batch, n, n)."""
        own = scores.cpu(), lengths.cpu(), single_root, direction.cpu(), backend
        return self._trees.hessian_product(*own).to(scores.device)

    def best_heads(self, scores: Tensor, lengths: Tensor, *options) -> tuple[Tensor, ...]:
        """Scores (batch,) and heads (batch, n) of the best trees."""
        return _brought(self._trees.best_heads, scores, lengths, options)

    def best_heads_in_float32(
        self, scores: Tensor, lengths: Tensor, *options
    ) -> tuple[Tensor, ...]:
        """As :meth:`best_heads`; of projective trees only."""
        return _brought(self._trees.best_heads_in_float32, scores, lengths, options)

    def sample_heads(
        self, scores: Tensor, lengths: Tensor, single_root: bool, count: int,
        generator: torch.Generator | None, backend: str,
    ) -> Tensor:  # fmt: skip
        """Heads (count, batch, n) of samples, whose seed the scores' device draws."""
        seed = torch.randint(2**62, (), generator=generator, device=scores.device)
        own = torch.Generator().manual_seed(int(seed))
        given = scores.cpu(), lengths.cpu(), single_root, count, own, backend
        return self._trees.sample_heads(*given).to(scores.device)


def _brought(function: Callable, scores: Tensor, lengths: Tensor, options: tuple):
    found = function(scores.cpu(), lengths.cpu(), *options)
    return tuple(part.to(scores.device) for part in found)
