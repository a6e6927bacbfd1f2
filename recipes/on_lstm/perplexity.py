"""Read the perplexities of a language model's run, print them, and append the record."""

import argparse
from pathlib import Path

from fairseq_struct.errors import report_plainly
from fairseq_struct.records.results import Result, append_result, device_name
from fairseq_struct.records.training_log import TrainingLog, read_log

# Table 1 of the ON-LSTM paper.
PAPER = {
    "on_lstm_lm": {"perplexity_valid": 58.29, "perplexity": 56.17},
    "awd_lstm_lm": {"perplexity_valid": 60.0, "perplexity": 57.3},
}


def best_of(log: TrainingLog) -> dict[str, float]:
    """Perplexities after the epoch with the best validation loss."""
    best = log.best_epoch("valid", "loss")
    return {
        "perplexity_valid": round(2 ** log.value("valid", best, "nll_loss"), 2),
        "perplexity": round(2 ** log.value("test", best, "nll_loss"), 2),
    }


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
    log = read_log(args.run / "train.log")
    metrics, epochs = best_of(log), log.splits["valid"]
    updates = int(max(values["num_updates"] for values in epochs.values()))
    paper = PAPER.get(args.variant, {}) if args.experiment == "ptb_lm" else {}
    shown = "  ".join(f"{name} {value:.2f}" for name, value in metrics.items())
    beside = ", ".join(f"{name} {value}" for name, value in paper.items())
    print(f"{args.experiment} {args.variant}: {shown} (paper: {beside or 'not at this size'})")
    if args.results:
        append_result(args.results, Result(
            experiment=args.experiment, variant=args.variant, metrics=metrics, paper=paper,
            scale=args.scale, data=f"Penn Treebank, {len(epochs)} epochs; epoch of the best "
            "validation perplexity", seed=args.seed, updates=updates,
            device=device_name(), minutes=round(log.minutes), command=args.command,
        ))  # fmt: skip


if __name__ == "__main__":
    main()
