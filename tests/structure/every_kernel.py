"""Program of ``test_first_use``: compiles ahead of time, then uses every kernel.

In a process of its own, in which nothing was compiled or loaded before.
"""

import importlib

import numpy as np
import torch
from numba.core import types
from numba.core.registry import CPUDispatcher
from tree_kinds import KINDS, random_scores

from fairseq_struct.cli.main import main
from fairseq_struct.environments.craft_bot import best_actions
from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.environments.craft_worlds import CraftWorlds
from fairseq_struct.modules import on_lstm
from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.kernels import kernel_cache


def kernels() -> list[CPUDispatcher]:
    names = {
        ".".join(file.relative_to(kernel_cache.PACKAGE.parent).with_suffix("").parts)
        for file in kernel_cache.PACKAGE.rglob("*_kernels.py")
    }
    found = [vars(importlib.import_module(name)).values() for name in names]
    return [each for values in found for each in values if isinstance(each, CPUDispatcher)]


def signatures() -> set[tuple[str, str]]:
    """The signatures that this process has compiled or loaded, of all kernels."""
    return {
        (kernel.__name__, str(signature)) for kernel in kernels() for signature in kernel.signatures
    }


def use() -> None:
    for param in KINDS:
        for dtype in (torch.float16, torch.float32, torch.float64):
            scores = random_scores(3, 6, 6, dtype=dtype).requires_grad_()
            trees = DependencyTrees(scores, torch.tensor([6, 4, 1]), *param.values[0].values())
            trees.sample(2)
            sums = trees.entropy.sum() + (trees.marginals**2).sum() + trees.max.sum()
            (sums + (trees.sparsemap**2).sum()).backward()
            trees.solve_sparsemap(start=trees.sparse_distribution)
    on_lstm.ONLSTM(4, [4, 6], chunk_size=2)(torch.randn(3, 2, 4))[0].sum().backward()
    for observation in ("windows", "grid"):
        worlds = CraftWorlds(CraftOptions("A", 6, "A", observation=observation), 3)
        worlds.reset([2, 0], [np.random.default_rng(1)] * 2)
        worlds.step(best_actions(worlds, worlds.goals).argmax(1), worlds.ended)
        worlds.observe(worlds.observe())


assert not signatures()
assert main(["doctor", "--compile"]) == 0
known = signatures()
use()
assert signatures() == known, signatures() - known
# A signature would not change if the fields of a named tuple were reordered.
given = {part for kernel in kernels() for signature in kernel.signatures for part in signature}
tuples = {part.instance_class for part in given if isinstance(part, types.BaseNamedTuple)}
assert tuples and all(each.__module__.endswith("_kernels") for each in tuples)
