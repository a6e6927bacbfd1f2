"""Probabilities of dependency arcs, which are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import torch
from torch import Tensor

from fairseq_struct.structure.dependency import DependencyTrees


class ArcMarginalsOfBatch:
    """The marginals of a batch; the first sentence that needs them computes those of all.

    Args:
        trees: the distribution over the trees of the batch.
    """

    def __init__(self, trees: DependencyTrees):
        self._trees = trees

    def of_rows(self) -> list[Callable[[], Tensor]]:
        """For each sentence, a function that returns its marginals (n, n), without padding."""
        sizes = self._trees.lengths.tolist()
        return [partial(self.of_row, row, size) for row, size in enumerate(sizes)]

    def of_row(self, row: int, size: int) -> Tensor:
        """Marginals (size, size) of a sentence, with the arcs from the root on the diagonal."""
        return self._all[row, :size, :size]

    @cached_property
    def _all(self) -> Tensor:
        with torch.inference_mode():
            found = self._trees.marginals.float().cpu()
        return found.clone()  # a tensor of inference mode cannot be used with gradients
