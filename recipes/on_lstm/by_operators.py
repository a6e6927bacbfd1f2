"""Accuracy of a classifier of formulas by the operators of the longer one; append the record."""

import argparse
import json
import re
from collections import Counter
from pathlib import Path

import fairseq_struct
from fairseq_struct.errors import InputError, report_plainly
from fairseq_struct.records.results import Result, append_result, device_name

OPERATORS = {"and", "or", "not"}
MOST = 12  # the last file of the test set has formulas of 12 operators and more


def accuracies(checkpoint: Path, text: Path) -> dict[str, float]:
    """Test accuracy for every number of operators, and over up to 6 and from 7 on.

    Args:
        checkpoint: of the classifier.
        text: folder with test.sentence1, test.sentence2 and test.label.
    """
    lines = [
        (text / f"test.{part}").read_text(encoding="utf-8").splitlines()
        for part in ("sentence1", "sentence2", "label")
    ]
    model = fairseq_struct.load(checkpoint)
    pairs, labels = list(zip(*lines[:2], strict=True)), lines[2]
    right, total = Counter(), Counter()
    for pair, label, found in zip(pairs, labels, model.analyse(pairs), strict=True):
        number = max(sum(word in OPERATORS for word in side.split()) for side in pair)
        number = min(number, MOST)
        for key in (f"operators_{number}", "up_to_6" if number <= 6 else "from_7"):
            total[key] += 1
            right[key] += found.label == label
    keys = sorted(total, key=lambda key: (key[0] != "u", key[0] != "f", int(key.split("_")[-1])))
    return {key: round(100 * right[key] / total[key], 2) for key in keys}


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="folder of the run")
    parser.add_argument("--text", type=Path, required=True, help="folder of the prepared text")
    parser.add_argument("--variant", required=True, help="which cell")
    parser.add_argument("--scale", choices=("paper", "reduced"), required=True)
    parser.add_argument("--seed", type=int, required=True, help="of the run")
    parser.add_argument("--command", required=True, help="what has made the run")
    parser.add_argument("--results", type=Path, help="file to append the record to")
    args = parser.parse_args()
    log = (args.run / "train.log").read_text(errors="replace")
    seconds = [float(value) for value in re.findall(r"done training in ([\d.]+) seconds", log)]
    if not seconds:
        raise InputError(f"{args.run}/train.log: the training did not end")
    last = json.loads(re.findall(r"\| valid \| (\{.*\})$", log, re.M)[-1])
    metrics = accuracies(args.run / "checkpoint_best.pt", args.text)
    shown = "  ".join(f"{name} {value:.1f}" for name, value in metrics.items())
    print(f"logical_inference {args.variant}: {shown} (paper: figure 3)")
    if args.results:
        count = len((args.text / "train.label").read_text().splitlines())
        append_result(args.results, Result(
            experiment="logical_inference", variant=args.variant, metrics=metrics,
            scale=args.scale, data=f"propositional logic, {count} training pairs of up to 6 "
            "operators; accuracy by operators of the longer formula", seed=args.seed,
            updates=int(last["valid_num_updates"]), device=device_name(),
            minutes=round(sum(seconds) / 60), command=args.command,
        ))  # fmt: skip


if __name__ == "__main__":
    main()
