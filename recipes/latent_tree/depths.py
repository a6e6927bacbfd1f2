"""How deep the trees of a test set are: the mean, and the share of each depth.

The depth of a tree is the largest number of arcs between the root and a word.
"""

from collections import Counter, defaultdict
from pathlib import Path
from statistics import mean

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import torch  # noqa: E402

import fairseq_struct  # noqa: E402
from fairseq_struct.errors import report_plainly  # noqa: E402
from fairseq_struct.files.text_files import read_lines  # noqa: E402
from fairseq_struct.files.whole_files import whole_file  # noqa: E402
from fairseq_struct.records.figures import mean_and_deviation  # noqa: E402
from fairseq_struct.records.scoring import publish, scoring_options, training_of  # noqa: E402
from fairseq_struct.structure.dependency import depths  # noqa: E402

DEEPEST = 7  # the last bar is of trees at least as deep


def depths_of(heads: list[tuple[int, ...]]) -> list[int]:
    """The depth of each tree.

    Args:
        heads: 1-based heads of each sentence, 0 for the root.
    """
    return [int(depths(torch.tensor([one]), torch.tensor([len(one)]))) for one in heads]


def shares(found: list[int]) -> dict[str, float]:
    """The mean depth, and the percentage of trees of each depth."""
    counts = Counter(min(depth, DEEPEST) for depth in found)
    metrics = {"tree_depth": round(mean(found), 2)}
    for depth in range(1, DEEPEST + 1):
        metrics[f"depth_{depth}"] = round(100 * counts[depth] / len(found), 2)
    return metrics


def draw(by_method: dict[str, list[dict[str, float]]], png: Path):
    """A histogram for each method: means over seeds, with their deviations."""
    rows = -(-len(by_method) // 4)
    figure, panels = plt.subplots(rows, min(4, len(by_method)), figsize=(9, 2.2 * rows),
                                  sharex=True, sharey=True, squeeze=False,
                                  layout="constrained")  # fmt: skip
    names = [f"depth_{depth}" for depth in range(1, DEEPEST + 1)]
    ticks = [*map(str, range(1, DEEPEST)), f"{DEEPEST}+"]
    for panel in panels.flat[len(by_method) :]:
        panel.set_axis_off()
    for panel, (method, runs) in zip(panels.flat, by_method.items(), strict=False):
        values = [[run[name] for run in runs] for name in names]
        means, deviations = zip(*map(mean_and_deviation, values), strict=True)
        panel.bar(ticks, means, yerr=deviations, color="#1b6ca8")
        panel.set_title(method, fontsize=9)
    figure.supxlabel("depth of the tree", fontsize=9)
    figure.supylabel("trees of the test set (%)", fontsize=9)
    with whole_file(png) as file:
        figure.savefig(file, format="png", dpi=120)
    print(png)


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--runs", nargs="+", required=True, help="METHOD=FOLDER of each run")
    parser.add_argument("--text", type=Path, required=True, help="the test sentences")
    parser.add_argument("--png", type=Path, required=True, help="histograms to write")
    args = parser.parse_args()
    sentences = read_lines(args.text)
    found = defaultdict(list)
    for method, folder in (run.split("=", 1) for run in args.runs):
        model = fairseq_struct.load(Path(folder) / "checkpoint_best.pt")
        metrics = shares(depths_of(model.parse(sentences)))
        found[method].append({"metrics": metrics, **training_of(Path(folder))})
    command = args.command
    for method, records in found.items():
        args.command = command.replace("VARIANT", method)
        publish(args, records, folder=Path(__file__).parent, variant=method)
    draw({method: [one["metrics"] for one in records] for method, records in found.items()},
         args.png)  # fmt: skip


if __name__ == "__main__":
    main()
