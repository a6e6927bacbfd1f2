"""Perplexities of a language model, after the epoch with the best validation loss."""

from pathlib import Path

from fairseq_struct.errors import report_plainly
from fairseq_struct.records.scoring import log_of, publish, scoring_options, training_of


def main():
    report_plainly()
    args = scoring_options(__doc__).parse_args()
    text = args.data or "Penn Treebank"
    log = log_of(args.run)
    best, epochs = log.best_epoch("valid", "loss"), log.splits["valid"]
    args.data = f"{text}, {len(epochs)} epochs; epoch of the best validation perplexity"
    publish(args, [{
        "metrics": {
            "perplexity_valid": round(2 ** log.value("valid", best, "nll_loss"), 2),
            "perplexity": round(2 ** log.value("test", best, "nll_loss"), 2),
        },
        **training_of(args.run),
    }], folder=Path(__file__).parent)  # fmt: skip


if __name__ == "__main__":
    main()
