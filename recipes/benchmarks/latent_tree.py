"""Time of a training step of the latent-tree classifier, by method.

Measured are forward and backward pass of the full model of Mihaylova's thesis, section 4.5.2
(300-dimensional embeddings, sizes of 100), on a batch of 32 sentences of 40 words. All rows are
measured in the same run with interleaved repeats. Each number is a median; ratios are to the rows
of the marginals and of the baseline. The row "in 20 steps" stops each projection at 20 trees. Its
step error is the distance between its pulled-back label and the exact one, relative to the length
of the step (mean over the sentences).

    python recipes/benchmarks/latent_tree.py [--threads 1] [--append]
"""

import timing
import torch

from fairseq_struct.modules.latent_tree.classifier import (
    LatentTreeClassifier,
    SummedStatesClassifier,
)
from fairseq_struct.modules.latent_tree.tree import LatentTree
from fairseq_struct.modules.sentence_encoder import SentenceEncoder

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
    parser = timing.options_of(__doc__, 21, "timed steps of each")
    parser.add_argument("--batch", type=timing.positive, default=32, help="sentences")
    parser.add_argument("--length", type=timing.positive, default=40, help="words per sentence")
    setting = timing.parsed(parser)
    steps = {
        name: step(name, setting.batch, setting.length) for name in ("baseline", *METHODS, *CUT_OFF)
    }
    times = timing.milliseconds(steps, setting.repeats, dropped=2)
    for name, milliseconds in times.items():
        metrics = {
            "milliseconds": round(milliseconds, 2),
            "to_marginals": round(milliseconds / times["marginals"], 2),
            "to_baseline": round(milliseconds / times["baseline"], 2),
        }
        if name in CUT_OFF:
            metrics["step_error"] = round(step_error(steps[name], steps[CUT_OFF[name]]), 3)
        timing.report(
            setting, "latent_tree", name, metrics,
            f"forward and backward pass, {setting.batch} sentences of {setting.length} words, "
            f"{setting.repeats} repeats", as_called=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
