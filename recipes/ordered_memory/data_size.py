"""Draw the accuracy on ListOps by the number of training expressions, from the records.

This is figure 7b of Shen's thesis (chapter 3). Error bars are standard deviations over seeds.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from fairseq_struct.errors import report_plainly  # noqa: E402
from fairseq_struct.files.whole_files import whole_file  # noqa: E402
from fairseq_struct.records.figures import draw_means, rows_of_figure  # noqa: E402


def curves(records: Path) -> dict[str, dict[int, list[float]]]:
    """Accuracies of each model by the number of training expressions.

    Raises:
        InputError: there are none, or several settings of a model and a number.
    """
    found: dict = defaultdict(dict)
    for variant, row in rows_of_figure(records, "listops_data_size").items():
        model, number = variant.rsplit(", ", 1)
        found[model][int(number)] = [result.metrics["accuracy"] for result in row.results]
    return found


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("records", type=Path, help="results.jsonl")
    parser.add_argument("figure", type=Path, help="PNG to write")
    args = parser.parse_args()
    figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
    for model, points in curves(args.records).items():
        draw_means(axes, points, model.replace("_", " "))
    axes.set(xlabel="expressions (a tenth validates)", ylabel="accuracy (%)", title="ListOps")
    axes.legend()
    with whole_file(args.figure) as file:
        figure.savefig(file, format="png", dpi=150)
    print(args.figure)


if __name__ == "__main__":
    main()
