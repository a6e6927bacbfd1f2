"""Time of a training step of the latent-tree classifier, by method.

Forward and backward pass of the full model of section 4.5.2 (300-dimensional embeddings, sizes of
100), a batch of 32 sentences of 40 words. All rows are measured in the same run, their repeats
interleaved; each is the median, and ratios are to the marginals' own row.

    python recipes/benchmarks/latent_tree.py [--threads 1] [--append]
"""

import argparse
import time
from pathlib import Path
from statistics import median

import torch

from fairseq_struct.metrics.results import Result, append_result, device_name
from fairseq_struct.modules.latent_tree import LatentTree
from fairseq_struct.modules.latent_tree_classifier import LatentTreeClassifier, SentenceClassifier
from fairseq_struct.modules.sentence_encoder import SentenceEncoder

RESULTS = Path(__file__).with_name("results.jsonl")
WORDS, EMBEDDING, HIDDEN = 10_000, 300, 100
METHODS = (
    "marginals", "sparsemap", "perturb_and_map", "ste_marginals", "ste_identity", "spigot",
    "spigot_ce", "spigot_eg",
)  # fmt: skip
# Of the published implementation, to its own marginals, one thread; it projects the trees of
# spigot and spigot_ce for one sentence of a batch only.
PUBLISHED = {
    "marginals": 1.0, "ste_identity": 0.65, "spigot": 0.90, "spigot_ce": 1.33, "spigot_eg": 1.04,
}  # fmt: skip


def step(method: str, batch: int, length: int):
    """A training step of one method's model, without the optimiser."""
    torch.manual_seed(1)
    encoder = SentenceEncoder(torch.nn.Embedding(WORDS, EMBEDDING, 1), HIDDEN)
    if method == "baseline":
        network = SentenceClassifier(encoder, HIDDEN, 2)
    else:
        tree = LatentTree(method, step_size=0.1)
        network = LatentTreeClassifier(encoder, HIDDEN, 2, tree)
    encoder.embedding.weight.requires_grad_(False)
    tokens = torch.randint(4, WORDS, (batch, 1, length))
    lengths, targets = torch.full((batch, 1), length), torch.randint(2, (batch,))

    def run():
        network.zero_grad()
        network(tokens, lengths, targets).losses.sum().backward()

    return run


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
        name: step(name, setting.batch, setting.length) for name in ("baseline", *METHODS)
    }
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(setting.repeats + 2):
        for name, run in steps.items():
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
        if name in PUBLISHED:
            metrics["published_to_marginals"] = PUBLISHED[name]
        print(name, metrics, flush=True)
        if setting.append:
            append_result(RESULTS, Result(
                experiment=f"latent_tree_{setting.threads}_threads", variant=name,
                metrics=metrics, device=device_name(setting.threads),
                data=f"forward and backward pass, {setting.batch} sentences of {setting.length} "
                f"words, {setting.repeats} repeats",
                command="python recipes/benchmarks/latent_tree.py --append",
            ))  # fmt: skip


if __name__ == "__main__":
    main()
