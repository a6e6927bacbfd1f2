"""Speed of inference over dependency trees, compared with other libraries.

All rows of one table are measured in the same run with interleaved repeats; each is a median.
Peers: torch-struct 0.5, supar if it is installed, networkx for the best tree with crossing arcs,
and a plain LU factorisation (torch.linalg) for the matrix-tree theorem.

    pip install torch-struct==0.5 networkx
    pip install supar==1.1.4    # optional
    python recipes/benchmarks/structured_inference.py [--threads 1] [--growth] [--append]
"""

import functools
import os
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec

import timing
import torch
from structured_inference_peers import Peer, by_networkx, by_supar, laplacian_determinant

from fairseq_struct.processor import device_name
from fairseq_struct.records.results import Result, append_result, benchmark_name
from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.dependency.sparsemap.gradient import Face, JacobianProduct

LENGTHS = (10, 20, 40, 70, 100)


class Ours:
    """Trees of this project, by one of its two backends, with the interface of :class:`Peer`."""

    def __init__(self, scores: torch.Tensor, backend: str = "auto", **kind):
        self.leaf = scores.clone().requires_grad_()
        self.make = lambda: DependencyTrees(self.leaf, backend=backend, **kind)

    gradient = Peer.gradient


def gradient_of(verb: str, who: Peer | Ours, weights: torch.Tensor | None = None) -> Callable:
    """A function that computes the gradient of the distribution's attribute ``verb``."""
    return lambda: who.gradient(getattr(who.make(), verb), weights)


def rows(batch: int, n: int) -> dict[str, dict[str, Callable | float]]:
    """The measured rows: name -> {"ours", "torch" path, "peer", "target" ratio peer / ours}."""
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(batch, n, n, generator=generator)
    weights = torch.randn(batch, n, n, generator=generator)
    found = rows_of_sums(scores, weights) | rows_of_sparsemap(scores, weights)
    found |= rows_of_all_trees(scores)
    if find_spec("supar"):
        for name, verb in (
            ("log_partition_gradient", "log_partition"), ("entropy", "entropy"),
            ("argmax", "argmax"),
        ):
            found[name]["supar"] = by_supar(scores, verb, gradient=name.endswith("gradient"))
    return found


def rows_of_sums(scores: torch.Tensor, weights: torch.Tensor, backend="auto") -> dict[str, dict]:
    """Rows for sums over projective trees, best projective trees, and samples."""
    peer, ours, path = Peer(scores), Ours(scores, backend), Ours(scores, "torch")
    return {
        "log_partition_gradient": {
            "ours": gradient_of("log_partition", ours),
            "torch": gradient_of("log_partition", path),
            "peer": gradient_of("partition", peer), "target": 20,
        },
        "marginals_gradient": {
            "ours": gradient_of("marginals", ours, weights),
            "torch": gradient_of("marginals", path, weights),
            "peer": gradient_of("marginals", peer, weights), "target": 12,
        },
        "entropy": {
            "ours": lambda: ours.make().entropy, "torch": lambda: path.make().entropy,
            "peer": lambda: peer.make().entropy, "target": 18,
        },
        "sample": {
            "ours": lambda: ours.make().sample(1), "torch": lambda: path.make().sample(1),
            "peer": lambda: peer.make().sample((1,)), "target": 75,
        },
        "argmax": {
            "ours": lambda: ours.make().argmax, "torch": lambda: path.make().argmax,
            "peer": lambda: peer.make().argmax, "target": 60,
        },
    }  # fmt: skip


def rows_of_sparsemap(scores: torch.Tensor, weights: torch.Tensor) -> dict[str, dict]:
    """Rows for SparseMAP of projective trees; the peer has none, so its marginals are measured."""
    peer, ours = Peer(scores), Ours(scores)
    # An exact solution would take seconds per sentence; this limit on the steps is affordable.
    flat = Ours(0.01 * scores, sparsemap_steps=100 + 3 * scores.size(1))
    sharp, sharp_peer = Ours(3 * scores), Peer(3 * scores)
    return {
        "sparsemap_gradient": {
            "ours": gradient_of("sparsemap", ours, weights),
            "peer": gradient_of("marginals", peer, weights), "target": 1 / 1.2,
        },
        "sparsemap_gradient_deviation_3": {
            "ours": gradient_of("sparsemap", sharp, weights),
            "peer": gradient_of("marginals", sharp_peer, weights), "target": 1 / 0.1,
        },
        "sparsemap_gradient_deviation_0.01": {
            "ours": gradient_of("sparsemap", flat, weights),
            "peer": gradient_of("sparsemap", ours, weights), "target": 1 / 10,
        },
        "sparsemap_face_deviation_0.01": face_row(
            *(each[:2, :30, :30].double() for each in (0.01 * scores, weights))
        ),
    }  # fmt: skip


def face_row(scores: torch.Tensor, weights: torch.Tensor) -> dict:
    """Row for the cost of a gradient with all trees of its face, and with the solution's trees.

    Both are computed from a known solution. The row also has the error of each relative to finite
    differences. It has two sentences of at most 30 words: longer ones with small scores take
    seconds to solve.
    """

    @functools.cache
    def solved() -> DependencyTrees:
        trees = DependencyTrees(scores)
        trees.sparse_distribution  # noqa: B018 - computes and caches it
        return trees

    def complete():
        trees = solved()
        exact = scores - scores.amax(1, keepdim=True)
        face = Face(trees.sparse_distribution, exact, trees.lengths, True, False)
        return JacobianProduct.apply(weights, trees.lengths, *face.trees)

    def of_solution():
        solution = solved().sparse_distribution
        return JacobianProduct.apply(weights, solved().lengths, solution.trees, solution.sizes)

    def errors() -> dict[str, float]:
        ahead, behind = (DependencyTrees(scores + e * weights).sparsemap for e in (1e-6, -1e-6))
        numeric = (ahead - behind) / 2e-6
        return {
            f"error_{name}": float((call() - numeric).norm() / numeric.norm())
            for name, call in (("ours", complete), ("peer", of_solution))
        }

    return {"ours": complete, "peer": of_solution, "target": 1 / 10, "facts": errors}


def rows_of_all_trees(scores: torch.Tensor) -> dict[str, dict]:
    """Rows for sums over all trees, and for the best tree."""
    crossing = Ours(scores.double(), projective=False)
    path = Ours(scores.double(), "torch", projective=False)
    return {
        "matrix_tree_gradient": {
            "ours": gradient_of("log_partition", crossing),
            "torch": gradient_of("log_partition", path),
            "peer": lambda: laplacian_determinant(crossing.leaf), "target": 1 / 1.7,
        },
        "spanning_tree": {
            "ours": lambda: crossing.make().heads,
            "peer": lambda: by_networkx(scores[:2]),
            "peer_share": len(scores) / 2, "target": 1000,
        },
    }  # fmt: skip


def measure(found: dict, repeats: int) -> dict[str, dict[str, float]]:
    """Milliseconds of every part of every row; slow parts are repeated less often."""
    times: dict[str, dict[str, float]] = {}
    for name, row in found.items():
        parts = {part: call for part, call in row.items() if callable(call) and part != "facts"}
        times[name] = timing.milliseconds(parts, repeats, dropped=1, most=3000)
        if "peer" in times[name]:
            times[name]["peer"] *= row.get("peer_share", 1)
    return times


def main():
    parser = timing.options_of(__doc__, 15)
    parser.add_argument("--batch", type=timing.positive, default=32, help="sentences")
    parser.add_argument("--length", type=timing.positive, default=40, help="words per sentence")
    parser.add_argument("--growth", action="store_true", help=f"lengths {LENGTHS}")
    parser.add_argument("--rows", nargs="+", help="only these rows")
    setting = timing.parsed(parser)
    warnings.simplefilter("ignore")
    if not find_spec("torch_struct"):
        parser.error("the peer is missing: pip install torch-struct==0.5")
    grown: dict[str, dict[str, float]] = {}
    for n in LENGTHS if setting.growth else (setting.length,):
        found = rows(setting.batch, n)
        if unknown := set(setting.rows or ()) - set(found):
            parser.error(f"unknown rows: {', '.join(unknown)}; choose from {', '.join(found)}")
        found = {name: found[name] for name in setting.rows or found}
        print(f"\nbatch {setting.batch}, {n} words, {setting.threads} threads; milliseconds")
        print(f"{'':<36}{'compiled':>10}{'torch':>10}{'peer':>10}{'ratio':>8}{'target':>8}")
        for name, row in found.items():
            times = measure({name: row}, setting.repeats)[name]
            ratio = times["peer"] / times["ours"]
            path = f"{times['torch']:10.2f}" if "torch" in times else " " * 10
            print(
                f"{name:<36}{times['ours']:10.2f}{path}{times['peer']:10.2f}{ratio:8.1f}"
                f"{row['target']:8.1f}", flush=True,
            )
            facts = row["facts"]() if "facts" in row else {}
            for fact, value in facts.items():
                print(f"{'  ' + fact:<36}{value:10.1e}")
            if "supar" in times:
                print(f"{'  supar':<36}{'':>20}{times['supar']:10.2f}")
            columns = grown.setdefault(name, {})
            columns[f"milliseconds_{n}"] = round(times["ours"], 3)
            columns[f"peer_to_ours_{n}"] = round(ratio, 2)
            if setting.append and not setting.growth:
                append_result(timing.RESULTS, record_of(setting, n, name, times, ratio, facts))
    if setting.append and setting.growth:
        for name, columns in grown.items():
            append_result(timing.RESULTS, Result(
                experiment=benchmark_name("structured_inference_growth", setting.threads),
                variant=name, metrics=columns,
                data=f"batch {setting.batch}, {min(LENGTHS)} to {max(LENGTHS)} "
                "words, milliseconds of the compiled backend and ratio peer / ours",
                device=device_name(setting.threads, on_cpu=True), command=command(),
            ))  # fmt: skip


def record_of(setting, n: int, name: str, times: dict, ratio: float, facts: dict) -> Result:
    """The record of one row."""
    metrics = {f"milliseconds_{key}": round(value, 3) for key, value in times.items()}
    metrics["peer_to_ours"] = round(ratio, 2)
    metrics |= {fact: float(f"{value:.1e}") for fact, value in facts.items()}
    return Result(
        experiment=benchmark_name(f"structured_inference_{n}_words", setting.threads),
        variant=name,
        metrics=metrics,
        data=f"batch {setting.batch}, {n} words, unit-normal scores unless the name says otherwise",
        device=device_name(setting.threads, on_cpu=True),
        command=command(),
    )


def command() -> str:
    """The command of this run."""
    policy = os.environ.get("OMP_WAIT_POLICY")
    call = f"OMP_WAIT_POLICY={policy} python" if policy else "python"
    return " ".join([call, "recipes/benchmarks/structured_inference.py", *sys.argv[1:]])


if __name__ == "__main__":
    main()
