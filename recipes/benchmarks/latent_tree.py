"""Time of a training step of the latent-tree classifier, by method.

Measured are forward and backward pass of the full model of Mihaylova's thesis, section 4.5.2
(300-dimensional embeddings, sizes of 100), on a batch of 32 sentences of 40 words. All rows are
measured in the same run with interleaved repeats. Each number is a median; ratios are to the rows
of the marginals and of the baseline. The row "in 20 steps" stops each projection at 20 trees. Its
step error is the distance between its pulled-back label and the exact one, relative to the length
of the step (mean over the sentences).

    python recipes/benchmarks/latent_tree.py [--threads 1] [--append]
"""

import argparse
import sys
import time
from pathlib import Path
from statistics import median

import torch

from fairseq_struct.modules.latent_tree.classifier import (
    LatentTreeClassifier,
    SummedStatesClassifier,
)
from fairseq_struct.modules.latent_tree.tree import LatentTree
from fairseq_struct.modules.sentence_encoder import SentenceEncoder
from fairseq_struct.records.results import Result, append_result, benchmark_name, device_name

RESULTS = Path(__file__).with_name("results.jsonl")
WORDS, EMBEDDING, HIDDEN = 10_000, 300, 100
METHODS = (
    "marginals", "sparsemap", "perturb_and_map", "ste_marginals", "ste_identity", "spigot",
    "spigot_ce", "spigot_eg",
)  # fmt: skip
FEW = 20
CUT_OFF = {f"spigot_in_{FEW}_steps": "spigot"}


def step(name: str, batch: int, length: int):
    """Make a training step of one row's model, without the optimiser.

    The step returns the gradient that reaches the arc scores; None without a parser. For methods
    that project, this gradient is the start of the step minus its end.
    """
    torch.manual_seed(1)
    method = CUT_OFF.get(name, name)
    encoder = SentenceEncoder(torch.nn.Embedding(WORDS, EMBEDDING, 1), HIDDEN)
    if method == "baseline":
        network = SummedStatesClassifier(encoder, HIDDEN, 2)
    else:
        steps = FEW if name in CUT_OFF else None
        tree = LatentTree(method, step_size=0.1, sparsemap_steps=steps)
        network = LatentTreeClassifier(encoder, HIDDEN, 2, tree)
    encoder.embedding.weight.requires_grad_(False)
    pulled = []
    if method != "baseline":
        network.scorer.register_full_backward_hook(lambda *given: pulled.extend(given[2]))
    tokens = torch.randint(4, WORDS, (batch, 1, length))
    lengths, targets = torch.full((batch, 1), length), torch.randint(2, (batch,))

    def run():
        network.zero_grad()
        pulled.clear()
        network(tokens, lengths, targets).losses.sum().backward()
        return pulled[0] if pulled else None

    return run


def step_error(cut_off, exact) -> float:
    """Mean distance between the gradients of two steps, relative to the length of the second."""
    rough, true = cut_off().flatten(1), exact().flatten(1)
    return float(((rough - true).norm(dim=1) / true.norm(dim=1)).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--batch", type=int, default=32, help="sentences")
    parser.add_argument("--length", type=int, default=40, help="words per sentence")
    parser.add_argument("--repeats", type=int, default=21, help="timed steps of each")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--append", action="store_true", help=f"append to {RESULTS.name}")
    setting = parser.parse_args()
    if min(setting.batch, setting.length, setting.repeats, setting.threads) < 1:
        parser.error("all numbers must be 1 or more")
    torch.set_num_threads(setting.threads)
    steps = {
        name: step(name, setting.batch, setting.length) for name in ("baseline", *METHODS, *CUT_OFF)
    }
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(setting.repeats + 2):
        for name, run in steps.items():
            run()  # untimed: as in training, memory is then as a step of the same kind leaves it
            start = time.perf_counter()
            run()
            if number >= 2:  # the first steps compile kernels and warm up
                taken[name].append(1000 * (time.perf_counter() - start))
    times = {name: median(values) for name, values in taken.items()}
    for name, milliseconds in times.items():
        metrics = {
            "milliseconds": round(milliseconds, 2),
            "to_marginals": round(milliseconds / times["marginals"], 2),
            "to_baseline": round(milliseconds / times["baseline"], 2),
        }
        if name in CUT_OFF:
            metrics["step_error"] = round(step_error(steps[name], steps[CUT_OFF[name]]), 3)
        print(name, metrics, flush=True)
        if setting.append:
            append_result(RESULTS, Result(
                experiment=benchmark_name("latent_tree", setting.threads), variant=name,
                metrics=metrics, device=device_name(setting.threads, on_cpu=True),
                data=f"forward and backward pass, {setting.batch} sentences of {setting.length} "
                f"words, {setting.repeats} repeats",
                command=" ".join(["python recipes/benchmarks/latent_tree.py", *sys.argv[1:]]),
            ))  # fmt: skip


if __name__ == "__main__":
    main()
