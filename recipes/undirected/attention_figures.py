"""Draw figures 5.5 and 5.6 of Mihaylova's thesis: completion by passes and by order of updates.

    python attention_figures.py 5.5 --runs FOLDER --output FILE.png
    python attention_figures.py 5.6 --records results.jsonl --output FILE.png

Figure 5.5 has validation accuracy by training updates, from the logs of all runs below FOLDER: a
random number of passes in training beside fixed ones, for each order. Figure 5.6 has test accuracy
by variable updates, from the records: nine in a pass of the forward-backward order, five in one of
the random order. Both show means over seeds; error bars are standard deviations.
"""

import argparse
import re
from collections import defaultdict
from pathlib import Path
from statistics import mean

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from fairseq_struct.errors import InputError, report_plainly  # noqa: E402
from fairseq_struct.files.whole_files import whole_file  # noqa: E402
from fairseq_struct.records.figures import draw_means, rows_of_figure  # noqa: E402
from fairseq_struct.records.scoring import log_of  # noqa: E402

ORDERS = {"forward-backward": "", "random": "_random_order"}
FIXED = re.compile(r"k\d")


def learning_curves(runs: Path) -> dict[str, dict[str, dict[int, list[float]]]]:
    """Accuracies of all seeds by update, by number of passes, by order.

    Raises:
        InputError: there is no run, one that did not end, or runs of a variant with several
            settings.
    """
    found: dict = {order: {} for order in ORDERS}
    settings: dict[str, Path] = {}
    for folder in sorted(runs.glob("*/*/seed_*")):
        variant = folder.parent.parent.name
        order = "random" if variant.endswith(ORDERS["random"]) else "forward-backward"
        passes = variant.removesuffix(ORDERS[order])
        if passes != "random_k" and not FIXED.fullmatch(passes):
            continue
        if settings.setdefault(variant, folder.parent) != folder.parent:
            raise InputError(f"{folder.parent.parent}: runs of several settings; keep those of one")
        curve = found[order].setdefault(passes, defaultdict(list))
        for values in log_of(folder).splits["valid"].values():
            curve[int(values["num_updates"])].append(values["accuracy"])
    if not any(found.values()):
        raise InputError(f"{runs}: no runs of attention.sh")
    return found


def by_updates(records: Path) -> dict[str, dict[int, list[float]]]:
    """Test accuracies of all seeds by number of variable updates, by order.

    Raises:
        InputError: there is no record, or a variant has records of several settings.
    """
    found: dict = {order: {} for order in ORDERS}
    for variant, row in rows_of_figure(records, "sequence_completion").items():
        order = "random" if variant.endswith(ORDERS["random"]) else "forward-backward"
        if FIXED.fullmatch(variant.removesuffix(ORDERS[order])):
            updates = round(row.results[0].metrics["variable_updates"])
            found[order][updates] = [result.metrics["accuracy"] for result in row.results]
    if not any(found.values()):
        raise InputError(f"{records}: no record of sequence_completion")
    return found


def draw_learning(runs: Path):
    """Figure 5.5, one panel for each order that has runs."""
    found = {order: curves for order, curves in learning_curves(runs).items() if curves}
    figure, panels = plt.subplots(
        len(found), figsize=(6, 3.2 * len(found)), layout="constrained", squeeze=False
    )
    for (order, curves), panel in zip(found.items(), panels[:, 0], strict=True):
        for passes, curve in sorted(curves.items()):
            updates = sorted(curve)
            label = "random k" if passes == "random_k" else f"k = {passes[1:]}"
            panel.plot(updates, [mean(curve[update]) for update in updates], label=label)
        panel.set(xlabel="training updates", ylabel="validation accuracy (%)", title=order)
        panel.legend()
    return figure


def draw_updates(records: Path):
    """Figure 5.6."""
    figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
    for order, points in by_updates(records).items():
        if points:
            draw_means(axes, points, order)
    axes.set(xlabel="variable updates", ylabel="test accuracy (%)")
    axes.legend()
    return figure


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("figure", choices=("5.5", "5.6"))
    parser.add_argument("--runs", type=Path, help="folder of the runs, for figure 5.5")
    parser.add_argument("--records", type=Path, help="results.jsonl, for figure 5.6")
    parser.add_argument("--output", type=Path, required=True, help="PNG to write")
    args = parser.parse_args()
    if args.output.suffix != ".png":
        raise InputError(f"{args.output}: figures are .png")
    needed = "runs" if args.figure == "5.5" else "records"
    source = getattr(args, needed)
    if source is None:
        raise InputError(f"figure {args.figure} needs --{needed}")
    figure = (draw_learning if args.figure == "5.5" else draw_updates)(source)
    with whole_file(args.output) as file:
        figure.savefig(file, format="png", dpi=150)
    print(args.output)


if __name__ == "__main__":
    main()
