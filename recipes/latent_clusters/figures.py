"""Draw figures 4.2 and 4.3 of Mihaylova's thesis from the logs of the recipes' runs."""

import argparse
import statistics
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from summarise import (  # noqa: E402
    METRICS,
    Validation,
    best_runs,
    median_and_error,
    settings_of,
    validations_of,
)

from fairseq_struct.errors import report_plainly  # noqa: E402
from fairseq_struct.files.whole_files import whole_file  # noqa: E402

LABELS = {
    "softmax": "Softmax",
    "ste_identity": "STE-I",
    "spigot": "SPIGOT",
    "spigot_ce": "SPIGOT-CE",
    "spigot_eg": "SPIGOT-EG",
}
# The colour of a method is the same in both figures.
COLOURS = dict(zip(LABELS, ("#7f7f7f", "#1b6ca8", "#c44536", "#2a8c4a", "#8a5fbf"), strict=True))
CURVES = ("softmax", "spigot", "ste_identity", "spigot_ce")
PULLED_BACK = ("ste_identity", "spigot", "spigot_ce", "spigot_eg")
STEPS = (1, 2, 3, 5)
AXES = {"accuracy": "accuracy (%)", "v_measure": "V-measure"}


@dataclass(frozen=True)
class Runs:
    """The runs with 10 clusters that are drawn; the fields are those of the options."""

    folder: Path
    learning_rates: list[str]
    step_sizes: list[str]
    updates: int
    seeds: list[int]

    def of(self, method: str) -> list[list[Validation]]:
        """Validations of each seed's run of a row of table 4.1, with its best setting."""
        settings = settings_of(method, self.learning_rates, self.step_sizes)
        return self._best([one.folder(method) for one in settings])

    def with_steps(self, method: str, steps: int) -> list[list[Validation]]:
        """The same with a number of steps, and the step size and learning rate best for them."""
        return self._best(
            [f"{method}.steps_{steps}.size_{size}/rate_{rate}"
             for size in self.step_sizes for rate in self.learning_rates]
        )  # fmt: skip

    def _best(self, names: list[str]) -> list[list[Validation]]:
        folders = [self.folder / "clusters_10" / name for name in names]
        return [validations_of(log) for log in best_runs(folders, self.updates, self.seeds)[1]]


def draw_curves(panels, runs: Runs):
    """Draw figure 4.2: validation metrics over updates, median and range over seeds."""
    for method in CURVES:
        found = runs.of(method)
        at = [validation.update for validation in found[0]]
        for metric, panel in zip(METRICS, panels, strict=True):
            values = list(zip(*([v.valid[metric] for v in run] for run in found), strict=True))
            medians = [statistics.median(one) for one in values]
            panel.plot(at, medians, label=LABELS[method], color=COLOURS[method])
            lowest, highest = map(min, values), map(max, values)
            panel.fill_between(at, list(lowest), list(highest), alpha=0.2, color=COLOURS[method],
                               linewidth=0)  # fmt: skip
            panel.set_xlabel("updates")
            panel.set_ylabel(f"validation {AXES[metric]}")


def draw_steps(panels, runs: Runs):
    """Draw figure 4.3: test metrics by number of steps, with the best step size for each number.

    The best step size has the highest median validation accuracy after the last update.
    """
    for method in PULLED_BACK:
        chosen = [[run[-1] for run in runs.with_steps(method, steps)] for steps in STEPS]
        for metric, panel in zip(METRICS, panels, strict=True):
            points = [median_and_error([last.test[metric] for last in best]) for best in chosen]
            medians, errors = zip(*points, strict=True)
            panel.errorbar(STEPS, medians, errors, label=LABELS[method], color=COLOURS[method],
                           marker="o", capsize=3)  # fmt: skip
            panel.set_xticks(STEPS)
            panel.set_xlabel("pullback steps")
            panel.set_ylabel(f"test {AXES[metric]}")


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figure", choices=("4.2", "4.3"), help="which figure")
    parser.add_argument("--runs", type=Path, required=True, help="the recipe's folder OUT")
    parser.add_argument("--learning-rates", nargs="+", default=["0.0001", "0.001", "0.002"],
                        help="learning rates to choose from by validation accuracy")  # fmt: skip
    parser.add_argument("--step-sizes", nargs="+", default=["0.00002", "0.0002", "0.0004"],
                        help="the same for step sizes")  # fmt: skip
    parser.add_argument("--updates", type=int, default=10_000, help="updates of the runs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4], help="runs' seeds")
    parser.add_argument("--output", type=Path, required=True, help="PNG file to write")
    args = parser.parse_args()

    figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    draw = draw_curves if args.figure == "4.2" else draw_steps
    draw(panels, Runs(args.runs, args.learning_rates, args.step_sizes, args.updates, args.seeds))
    for panel in panels:
        panel.grid(alpha=0.3)
    # Beside the panels, as "best" does not see error bars.
    drawn = panels[1].get_legend_handles_labels()
    figure.legend(*drawn, loc="outside right center", frameon=False)
    seeds = f"{len(args.seeds)} seed{'s' if len(args.seeds) > 1 else ''}"
    reduced = "" if args.updates == 10_000 else ", scaled down from 10,000"
    figure.suptitle(f"10 clusters, {seeds}, {args.updates:,} updates{reduced}", fontsize=10)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(args.output) as file:
        figure.savefig(file, format="png", dpi=150)
    print(args.output)


if __name__ == "__main__":
    main()
