"""Draw figure FC4.1, accuracy by the number of units and of active ones, from the records.

A bar is the mean over seeds; the line on it is a standard deviation, where there are several.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from fairseq_struct.errors import report_plainly  # noqa: E402
from fairseq_struct.files.whole_files import whole_file  # noqa: E402
from fairseq_struct.metrics.window_accuracy import WINDOWS  # noqa: E402
from fairseq_struct.pages.curves.learning_curves import COLOURS  # noqa: E402
from fairseq_struct.pages.drawing.png import save_png  # noqa: E402
from fairseq_struct.records.figures import mean_and_deviation, rows_of_figure  # noqa: E402
from fairseq_struct.records.rows import Row  # noqa: E402


def cells_of(records: Path) -> list[Row]:
    """The cells with the records of the last setting, each with the seeds that it has.

    Raises:
        InputError: there are none, or several settings of a cell.
    """
    cells = rows_of_figure(records, "units_topk", last_alone=True).values()
    return sorted(cells, key=lambda cell: [int(part) for part in cell.variant.split("_")])


def draw(cells: list[Row]):
    """A figure with a group of bars for each cell, a bar for each window."""
    figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
    width = 0.8 / len(WINDOWS)
    for number, window in enumerate(WINDOWS):
        places = [place + (number - 1) * width for place in range(len(cells))]
        found = [[item.metrics[f"window_{window}"] for item in cell.results] for cell in cells]
        heights, spread = zip(*map(mean_and_deviation, found), strict=True)
        bars = axes.bar(places, heights, width, label=f"window {window}", color=COLOURS[number])
        axes.errorbar(places, heights, spread, fmt="none", ecolor="black", elinewidth=1)
        axes.bar_label(bars, fmt="%.0f", fontsize=6, padding=3)
    axes.set_xticks(range(len(cells)), [f"{cell.variant}\n{_seeds(cell)}" for cell in cells])
    axes.set_xlabel("units_active units")
    axes.set_ylabel("accuracy over all steps (%)")
    axes.set_ylim(0, 105)
    axes.set_title(cells[0].data, fontsize=8)
    axes.legend(ncols=len(WINDOWS), fontsize=7)
    return figure


def _seeds(cell: Row) -> str:
    return f"{len(cell.results)} seed{'s' if len(cell.results) > 1 else ''}"


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path, help="results.jsonl")
    parser.add_argument("figure", type=Path, help="PNG to write")
    args = parser.parse_args()
    figure = draw(cells_of(args.records))
    with whole_file(args.figure) as file:
        save_png(figure, file)
    print(args.figure)


if __name__ == "__main__":
    main()
