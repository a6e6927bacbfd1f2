"""Draw parsing scores as curves, from the records of ``mask_rate.sh`` or ``data_size.sh``.

The first is figure 12 of Shen's thesis, the second has the numbers of its table 10.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from fairseq_struct.errors import report_plainly  # noqa: E402
from fairseq_struct.files.whole_files import whole_file  # noqa: E402
from fairseq_struct.records.figures import rows_of_figure  # noqa: E402

CURVES = {"uuas": "UUAS", "uas": "UAS", "uas_argmax": "argmax",
          "uas_argmax_root": "argmax or root"}  # fmt: skip
# What the rows of an experiment are.
AXES = {"mask_rate": "mask rate of the training", "mask_rate_ptb": "mask rate of the training",
        "data_size": "share of the training text"}  # fmt: skip
COLOURS = dict(zip(CURVES, ("#1b6ca8", "#c44536", "#2a8c4a", "#8a6fae"), strict=True))


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("experiment", choices=AXES, help="which records")
    parser.add_argument("records", type=Path, help="results.jsonl")
    parser.add_argument("figure", type=Path, help="PNG to write")
    args = parser.parse_args()
    rows = rows_of_figure(args.records, args.experiment, last_alone=True)
    every = [result for row in rows.values() for result in row.results]
    figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
    for name, label in CURVES.items():
        found = defaultdict(list)
        for result in every:
            if name in result.metrics:
                found[float(result.variant)].append(result.metrics[name])
        if not found:  # older records have only one of the argmax scores
            continue
        rates = sorted(found)
        means = [sum(found[rate]) / len(found[rate]) for rate in rates]
        axes.plot(rates, means, marker="o", label=label, color=COLOURS[name])
        lowest, highest = ([pick(found[rate]) for rate in rates] for pick in (min, max))
        axes.fill_between(rates, lowest, highest, alpha=0.2, color=COLOURS[name], linewidth=0)
    axes.set_xlabel(AXES[args.experiment])
    axes.set_ylabel("attachment score (%)")
    counts = sorted(len(row.results) for row in rows.values())
    seeds = f"{counts[0]} to {counts[-1]}" if counts[0] < counts[-1] else counts[-1]
    axes.set_title(f"{every[0].data.split(';')[0]}, {seeds} seed{'s' * (counts[-1] > 1)}",
                   fontsize=9)  # fmt: skip
    figure.legend(loc="outside lower center", ncols=len(CURVES), fontsize=8)  # off the curves
    with whole_file(args.figure) as file:
        figure.savefig(file, format="png", dpi=150)
    print(args.figure)


if __name__ == "__main__":
    main()
