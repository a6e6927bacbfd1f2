"""``fairseq-struct evaluate``: compare predicted trees with gold ones."""

import argparse
from pathlib import Path

NAME = "evaluate"
HELP = "compare two files of trees: unlabelled F1 of bracketed ones, with the policy"
LABELS = ("ADJP", "NP", "PP", "INTJ")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``evaluate``."""
    parser.add_argument("gold", type=Path, help="gold trees, bracketed")
    parser.add_argument(
        "predicted", type=Path,
        help="predicted trees of the same sentences, or one of: right_branching, left_branching, "
        "balanced, random",
    )  # fmt: skip
    parser.add_argument(
        "--longest", type=int, help="only sentences of at most so many words (10: WSJ10)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of random trees (default: 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print both F1s, recall of some labels, the mean depth, and what was counted.

    Raises:
        InputError: a file is missing or malformed, or the files hold other sentences.
    """
    import json

    from fairseq_struct.data.bracket_evaluation import evaluate
    from fairseq_struct.metrics.bracketing import POLICY

    scores, depth = evaluate(args.gold, args.predicted, args.longest, args.seed)
    values = {
        "sentences": len(scores.f1), "f1_sentence": scores.f1_sentence,
        "f1_corpus": scores.f1_corpus, "precision": scores.precision, "recall": scores.recall,
        "depth": depth,
    }  # fmt: skip
    values |= {
        f"recall_{label}": scores.recall_of(label) for label in LABELS if scores.labels[label]
    }
    values = {name: round(value, 2) for name, value in values.items()}
    if args.json:
        print(json.dumps(values | {"policy": POLICY}))
        return 0
    for name, value in values.items():
        print(f"{name:12} {value:g}")
    print(f"policy: {POLICY}")
    return 0
