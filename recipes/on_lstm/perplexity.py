"""Read the perplexities of a language model's run, print them, and append the record."""

import argparse
import json
import re
from pathlib import Path

from fairseq_struct.errors import InputError, report_plainly
from fairseq_struct.metrics.results import Result, append_result, device_name

# Table 1 of the ON-LSTM paper.
PAPER = {
    "on_lstm_lm": {"perplexity_valid": 58.29, "perplexity": 56.17},
    "awd_lstm_lm": {"perplexity_valid": 60.0, "perplexity": 57.3},
}


def best_of(log: Path) -> tuple[dict[str, float], dict]:
    """Perplexities of the epoch with the best validation loss, and what was trained.

    Args:
        log: written by fairseq-train with ``--log-format json --valid-subset valid,test``.

    Raises:
        InputError: there is no such log, or the training did not end.
    """
    if not log.is_file():
        raise InputError(f"{log}: no such run; make it first")
    text = log.read_text(errors="replace")
    found: dict[str, dict[int, dict]] = {"valid": {}, "test": {}}
    for subset, line in re.findall(r"\| (valid|test) \| (\{.*\})$", text, re.M):
        values = json.loads(line)
        found[subset][int(values["epoch"])] = values
    if "done training in" not in text or not found["test"]:
        raise InputError(f"{log}: the training did not end")
    epochs = [json.loads(line) for line in re.findall(r"\| train \| (\{.*\})$", text, re.M)]
    seconds = {int(values["epoch"]): float(values["train_train_wall"]) for values in epochs}
    epoch = min(found["valid"], key=lambda number: float(found["valid"][number]["valid_loss"]))
    valid, test = found["valid"][epoch], found["test"][epoch]
    metrics = {
        "perplexity_valid": round(2 ** float(valid["valid_nll_loss"]), 2),
        "perplexity": round(2 ** float(test["test_nll_loss"]), 2),
    }
    last = max(int(values["valid_num_updates"]) for values in found["valid"].values())
    return metrics, {"updates": last, "seconds": sum(seconds.values()), "epochs": len(seconds)}


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiment", required=True, help="name of the experiment")
    parser.add_argument("--variant", required=True, help="which model")
    parser.add_argument("--run", type=Path, required=True, help="folder with train.log")
    parser.add_argument("--scale", choices=("paper", "reduced"), required=True)
    parser.add_argument("--seed", type=int, required=True, help="of the run")
    parser.add_argument("--command", required=True, help="what has made the run")
    parser.add_argument("--results", type=Path, help="file to append the record to")
    args = parser.parse_args()
    metrics, run = best_of(args.run / "train.log")
    paper = PAPER.get(args.variant, {}) if args.experiment == "ptb_lm" else {}
    shown = "  ".join(f"{name} {value:.2f}" for name, value in metrics.items())
    beside = ", ".join(f"{name} {value}" for name, value in paper.items())
    print(f"{args.experiment} {args.variant}: {shown} (paper: {beside or 'not at this size'})")
    if args.results:
        append_result(args.results, Result(
            experiment=args.experiment, variant=args.variant, metrics=metrics, paper=paper,
            scale=args.scale, data=f"Penn Treebank, {run['epochs']} epochs; epoch of the best "
            "validation perplexity", seed=args.seed, updates=run["updates"],
            device=device_name(), minutes=round(run["seconds"] / 60), command=args.command,
        ))  # fmt: skip


if __name__ == "__main__":
    main()
