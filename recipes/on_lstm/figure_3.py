"""Draw figure 3 of the ON-LSTM paper, accuracy by number of operators, from the records.

Error bars are standard deviations over seeds.
"""

import argparse
import re
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from fairseq_struct.errors import report_plainly  # noqa: E402
from fairseq_struct.files.whole_files import whole_file  # noqa: E402
from fairseq_struct.records.figures import draw_means, rows_of_figure  # noqa: E402

LABELS = {"on_lstm": "ON-LSTM", "lstm": "LSTM"}
LONGEST_OF_TRAINING = 6


def curves(records: Path) -> dict[str, dict[int, list[float]]]:
    """Accuracies of each cell by the number of operators, one for each seed.

    Raises:
        InputError: there are none, or several settings of a cell.
    """
    found: dict = defaultdict(lambda: defaultdict(list))
    for cell, row in rows_of_figure(records, "logical_inference").items():
        for result in row.results:
            for name, value in result.metrics.items():
                if number := re.fullmatch(r"operators_(\d+)", name):
                    found[cell][int(number[1])].append(value)
    return found


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("records", type=Path, help="results.jsonl")
    parser.add_argument("figure", type=Path, help="PNG to write")
    args = parser.parse_args()
    figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
    axes.axvspan(-0.5, LONGEST_OF_TRAINING + 0.5, color="#eeeeee", label="lengths of the training")
    for cell, points in curves(args.records).items():
        draw_means(axes, points, LABELS.get(cell, cell))
    axes.set(xlabel="operators of the longer formula", ylabel="accuracy (%)", xlim=(-0.5, 12.5))
    axes.legend()
    with whole_file(args.figure) as file:
        figure.savefig(file, format="png", dpi=150)
    print(args.figure)


if __name__ == "__main__":
    main()
