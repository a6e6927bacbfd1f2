"""Accuracy of a classifier of formula pairs, by the number of operators of the longer formula."""

from collections import Counter
from pathlib import Path

import fairseq_struct
from fairseq_struct.data.readers.formulas.propositional_logic import operators_of_longer
from fairseq_struct.errors import report_plainly
from fairseq_struct.files.text_files import read_lines
from fairseq_struct.records.scoring import publish, scoring_options, training_of


def accuracies(checkpoint: Path, text: Path) -> dict[str, float]:
    """Test accuracy for each number of operators, for up to 6 operators, and for 7 or more.

    Args:
        checkpoint: checkpoint of the classifier.
        text: folder with test.sentence1, test.sentence2 and test.label.
    """
    lines = [read_lines(text / f"test.{part}") for part in ("sentence1", "sentence2", "label")]
    model = fairseq_struct.load(checkpoint)
    pairs, labels = list(zip(*lines[:2], strict=True)), lines[2]
    right, total = Counter(), Counter()
    for pair, label, found in zip(pairs, labels, model.analyse(pairs), strict=True):
        number = operators_of_longer(pair)
        for key in (f"operators_{number}", "up_to_6" if number <= 6 else "from_7"):
            total[key] += 1
            right[key] += found.label == label
    keys = sorted(total, key=lambda key: (key[0] != "u", key[0] != "f", int(key.split("_")[-1])))
    return {key: round(100 * right[key] / total[key], 2) for key in keys}


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--text", type=Path, required=True, help="folder of the prepared text")
    args = parser.parse_args()
    count = len(read_lines(args.text / "train.label"))
    args.data = (
        f"propositional logic, {count} training pairs of up to 6 operators; accuracy by operators "
        "of the longer formula"
    )
    publish(args, [{
        "metrics": accuracies(args.run / "checkpoint_best.pt", args.text),
        **training_of(args.run),
    }], folder=Path(__file__).parent)  # fmt: skip


if __name__ == "__main__":
    main()
