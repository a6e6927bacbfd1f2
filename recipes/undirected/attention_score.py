"""Accuracy of completed sequences on the test part (section 5.4 of Mihaylova's thesis).

``accuracy`` is the share of hidden numbers that are right, ``exact_match`` that of sequences
without a wrong one. ``variable_updates`` counts updates of Q, K, V, S and H at test: nine for a
pass of the forward-backward order, five for one of the random order (figure 5.6). The checkpoint is
that with the best validation accuracy.
"""

import json
from pathlib import Path

import torch

import fairseq_struct
from fairseq_struct.data.datasets.hidden_symbols import HiddenSymbols
from fairseq_struct.data.prepared.completion_folder import read_part
from fairseq_struct.data.prepared.manifest import MANIFEST
from fairseq_struct.errors import report_plainly
from fairseq_struct.modules.undirected.attention import INFERRED
from fairseq_struct.modules.undirected.orders import forward_backward
from fairseq_struct.records.scoring import log_of, publish, scoring_options, training_of

BATCH = 4096
UPDATES = {"forward_backward": len(forward_backward(INFERRED)), "random": len(INFERRED)}


@torch.inference_mode()
def scores_of(model, dataset: HiddenSymbols) -> dict[str, float]:
    """Accuracy and exact match in percent, and the mean number of variable updates."""
    right = hidden = whole = passes = 0
    indices = dataset.ordered_indices()
    for start in range(0, len(indices), BATCH):
        batch = dataset.collater(indices[start : start + BATCH])
        found, targets = model(**batch["net_input"]), batch["targets"]
        there = targets >= 0
        same = (found.logits.argmax(-1) == targets) | ~there
        right, hidden = right + int((same & there).sum()), hidden + int(there.sum())
        whole, passes = whole + int(same.all(1).sum()), passes + int(found.passes.sum())
    metrics = {"accuracy": 100 * right / hidden, "exact_match": 100 * whole / len(dataset)}
    order = getattr(model.network, "order", None)
    if order is not None:
        metrics["variable_updates"] = UPDATES[order] * passes / len(dataset)
    return {name: round(value, 2) for name, value in metrics.items()}


def record_of(run: Path, prepared: Path) -> dict:
    """Fields of the record of a run."""
    log, tool = log_of(run), fairseq_struct.load(run / "checkpoint_best.pt")
    part = read_part(prepared / "data-bin", "test", len(tool.symbols))
    metrics = scores_of(tool.model, HiddenSymbols(part))
    best = log.best_epoch("valid", "accuracy", highest=True)
    metrics["accuracy_valid"] = log.value("valid", best, "accuracy")
    return {"metrics": metrics, **training_of(run)}


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--prepared", type=Path, required=True, help="the prepared data")
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="folder of each seed")
    args = parser.parse_args()
    manifest = json.loads((args.prepared / MANIFEST).read_text(encoding="utf-8"))
    by = {"random": "", "runs": ", split by runs"}[manifest["options"]["split"]]
    args.data = f"runs of 1 to 64, {manifest['examples']['train']} training examples{by}"
    publish(
        args, [record_of(run, args.prepared) for run in args.runs], folder=Path(__file__).parent
    )


if __name__ == "__main__":
    main()
