"""Draw figure FC4.1, accuracy by the number of units and of active ones, from the records."""

import argparse
from operator import attrgetter
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from fairseq_struct.errors import InputError, report_plainly  # noqa: E402
from fairseq_struct.files.whole_files import whole_file  # noqa: E402
from fairseq_struct.metrics.window_accuracy import WINDOWS  # noqa: E402
from fairseq_struct.pages.curves.learning_curves import COLOURS  # noqa: E402
from fairseq_struct.pages.drawing.png import save_png  # noqa: E402
from fairseq_struct.records.results import Result, read_results  # noqa: E402


def rows_of(records: Path) -> list[Result]:
    """The records of the last setting; a cell may have another seed, if its first one diverged.

    Raises:
        InputError: there are none.
    """
    rows = [row for row in read_results(records) if row.experiment == "units_topk"]
    if not rows:
        raise InputError(f"{records}: no record of units_topk")
    setting_of = attrgetter("scale", "updates", "data")
    same = [row for row in rows if setting_of(row) == setting_of(rows[-1])]
    return sorted(same, key=lambda row: [int(part) for part in row.variant.split("_")])


def draw(rows: list[Result]):
    """A figure with a group of bars for each cell, a bar for each window."""
    figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
    width = 0.8 / len(WINDOWS)
    for number, window in enumerate(WINDOWS):
        places = [place + (number - 1) * width for place in range(len(rows))]
        heights = [row.metrics[f"window_{window}"] for row in rows]
        bars = axes.bar(places, heights, width, label=f"window {window}", color=COLOURS[number])
        axes.bar_label(bars, fmt="%.0f", fontsize=6)
    axes.set_xticks(range(len(rows)), [row.variant for row in rows])
    axes.set_xlabel("units_active units")
    axes.set_ylabel("accuracy over all steps (%)")
    axes.set_ylim(0, 100)
    seeds = sorted({row.seed for row in rows})
    axes.set_title(f"{rows[0].data}; seed {' or '.join(map(str, seeds))}", fontsize=8)
    axes.legend(ncols=len(WINDOWS), fontsize=7)
    return figure


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path, help="results.jsonl")
    parser.add_argument("figure", type=Path, help="PNG to write")
    args = parser.parse_args()
    figure = draw(rows_of(args.records))
    with whole_file(args.figure) as file:
        save_png(figure, file)
    print(args.figure)


if __name__ == "__main__":
    main()
