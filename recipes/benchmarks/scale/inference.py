"""Structured inference by the length of sentences and by the size of the batch, one thread.

Dependency trees with unit-normal scores: sums over projective trees and their gradient
(``log_partition``), the best projective tree (``argmax``), one sample (``sample``), the SparseMAP
solution (``sparsemap``), and sums over all trees by the matrix-tree theorem with their gradient
(``matrix_tree``). ``words``: milliseconds for 8 sentences of 10 to 300 words. ``batch``:
milliseconds for 1 to 4096 sentences of 20 words. Each is the median of repeats that take turns;
``growth`` is the exponent by least squares of the logarithms, from the second value on, where the
cost of a call no longer counts for much.

    python recipes/benchmarks/scale/inference.py [--repeats 5] [--append]
"""

import argparse
import time
from collections.abc import Callable
from statistics import median

import torch
from measuring import Rows, exponent, record

from fairseq_struct.records.results import benchmark_name
from fairseq_struct.structure.dependency import DependencyTrees

LENGTHS, BATCHES = (10, 30, 100, 300), (1, 16, 256, 4096)
LONG, SHORT = 8, 20  # sentences of growing length, words of growing batches
ENOUGH = 20.0  # seconds after which a measurement is not repeated


def ways(batch: int, words: int) -> dict[str, Callable[[], object]]:
    """Calls that compute each verb for random scores."""
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(batch, words, words, generator=generator)

    def gradient(**kind):
        leaf = scores.clone().requires_grad_()
        return torch.autograd.grad(DependencyTrees(leaf, **kind).log_partition.sum(), leaf)

    return {
        "log_partition": gradient,
        "argmax": lambda: DependencyTrees(scores).argmax,
        "sample": lambda: DependencyTrees(scores).sample(1),
        "sparsemap": lambda: DependencyTrees(scores).sparsemap,
        "matrix_tree": lambda: gradient(projective=False),
    }


def measure(shapes: list[tuple[int, int]], repeats: int) -> dict[str, list[float]]:
    """Milliseconds of each verb for each shape (batch, words)."""
    calls = [ways(*shape) for shape in shapes]
    taken: dict[str, list[list[float]]] = {name: [[] for _ in shapes] for name in calls[0]}
    for name in taken:
        calls[0][name]()  # compiles the kernels
    for _ in range(repeats):
        for position, of_shape in enumerate(calls):
            for name, call in of_shape.items():
                if sum(taken[name][position]) < ENOUGH:
                    began = time.perf_counter()
                    call()
                    taken[name][position].append(time.perf_counter() - began)
    return {name: [1000 * median(each) for each in found] for name, found in taken.items()}


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--repeats", type=int, default=5, help="number of measurements")
    options.add_argument("--append", action="store_true", help="append to results.jsonl")
    setting = options.parse_args()
    if setting.repeats < 1:
        options.error("--repeats must be 1 or more")
    torch.set_num_threads(1)
    command = f"python recipes/benchmarks/scale/inference.py --repeats {setting.repeats} --append"
    for name, sizes, shapes, data in (
        ("words", LENGTHS, [(LONG, n) for n in LENGTHS], f"batches of {LONG}"),
        ("batch", BATCHES, [(n, SHORT) for n in BATCHES], f"sentences of {SHORT} words"),
    ):
        rows: Rows = {}
        for verb, found in measure(shapes, setting.repeats).items():
            rows[verb] = {f"milliseconds_{n}": round(took, 3)
                          for n, took in zip(sizes, found, strict=True)}  # fmt: skip
            rows[verb]["growth"] = exponent(sizes[1:], found[1:])
        data = f"dependency trees, {data}, unit-normal scores"
        record(benchmark_name(f"inference_by_{name}", 1), rows, data, command, 1, setting.append)


if __name__ == "__main__":
    main()
