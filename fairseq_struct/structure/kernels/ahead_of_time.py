"""Calls that compile every inference kernel ahead of time, on tiny inputs."""

from collections.abc import Callable

import torch
from torch import Tensor

from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.kernels.kernel_cache import KernelCache, cache_of


def uses() -> dict[str, Callable[[], object]]:
    """By name, one call for each operation that has kernels: it compiles or loads them."""
    found: dict[str, Callable[[], object]] = {}
    for projective, name in ((True, "projective trees"), (False, "trees with crossing arcs")):

        def trees(dtype: torch.dtype = torch.float64, projective=projective) -> DependencyTrees:
            scores = torch.zeros(2, 3, 3, dtype=dtype, device="cpu", requires_grad=True)
            return DependencyTrees(scores, projective=projective)

        found |= {
            f"best {name}": lambda trees=trees: trees(torch.float32).heads,
            f"best {name} in float64": lambda trees=trees: trees().heads,
            f"marginals of {name}": lambda trees=trees: trees().marginals,
            f"samples of {name}": lambda trees=trees: trees().sample_heads(),
            f"gradients of marginals of {name}": lambda trees=trees: _gradient(trees().marginals),
            f"SparseMAP of {name}": lambda trees=trees: trees().sparsemap,
            f"gradient of SparseMAP of {name}": lambda trees=trees: _gradient(trees().sparsemap),
            f"SparseMAP of {name} from known ones": lambda trees=trees: _again(trees()),
        }
    return found


def folder() -> str | None:
    """The folder that keeps compiled kernels; None if no folder can be written."""
    cache = cache_of(folder)
    return cache.cache_path if isinstance(cache, KernelCache) else None


def _again(trees: DependencyTrees):
    trees.solve_sparsemap(start=trees.sparse_distribution)


def _gradient(value: Tensor):
    value.square().sum().backward()
