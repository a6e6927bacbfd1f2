"""One row of table 4.1 of Mihaylova's thesis: medians and standard errors over seeds.

They are those of the setting, a learning rate and for the SPIGOTs a step size, that is best on the
validation set.
"""

import statistics
from dataclasses import dataclass
from pathlib import Path

from fairseq_struct.errors import report_plainly
from fairseq_struct.records.rows import STDERR
from fairseq_struct.records.scoring import log_of, publish, scoring_options
from fairseq_struct.records.training_log import TrainingLog

METRICS = ("accuracy", "v_measure")
TRAINING_INSTANCES = 5000
# The other methods have no step size, or train the same with every one (see methods.sh).
WITH_STEP_SIZE = ("spigot", "spigot_ce", "spigot_eg")
DATA = "generated: 5,000 / 1,000 / 1,000 instances, dimension 100"


@dataclass(frozen=True)
class Validation:
    """Metrics of the validation and the test set that were logged at one update."""

    update: int
    valid: dict[str, float]
    test: dict[str, float]


def validations_of(log: TrainingLog) -> list[Validation]:
    """The validations of one training, in order.

    Raises:
        InputError: one of them lacks the test set.
    """
    return [
        Validation(int(valid["num_updates"]), valid, log.values("test", epoch))
        for epoch, valid in log.splits["valid"].items()
    ]


@dataclass(frozen=True)
class Setting:
    """What validation accuracy chooses, as the recipe writes it in the names of folders.

    Attributes:
        rate: the learning rate.
        step_size: that of the pullback; None for methods without one.
    """

    rate: str
    step_size: str | None = None

    def folder(self, method: str) -> str:
        """Where the runs of a row with this setting are, below those of its clusters."""
        name = method if self.step_size is None else f"{method}.steps_1.size_{self.step_size}"
        return f"{name}/rate_{self.rate}"

    def chosen(self) -> dict[str, float]:
        """The setting as metrics; ``eta`` is the step size in table A.1's convention."""
        found = {"learning_rate_thousandths": float(self.rate) * 1000}
        if self.step_size is not None:
            found["eta"] = round(float(self.step_size) * TRAINING_INSTANCES, 6)
        return found


def settings_of(method: str, rates: list[str], step_sizes: list[str]) -> list[Setting]:
    """All settings of a row."""
    sizes = step_sizes if method in WITH_STEP_SIZE else [None]
    return [Setting(rate, size) for size in sizes for rate in rates]


def best_runs(
    folders: list[Path], updates: int, seeds: list[int]
) -> tuple[int, list[TrainingLog]]:
    """Choose the runs with the highest median validation accuracy after the last update.

    Args:
        folders: folder of the runs of each setting.
        updates, seeds: updates and seeds of the runs.

    Returns:
        The index of the folder (of the first one if several are equal), and the log of each seed.

    Raises:
        InputError: a run does not exist, or its training did not end.
    """
    candidates = [
        [log_of(folder / f"updates_{updates}" / f"seed_{seed}") for seed in seeds]
        for folder in folders
    ]
    accuracies = [
        statistics.median(validations_of(log)[-1].valid["accuracy"] for log in logs)
        for logs in candidates
    ]
    best = accuracies.index(max(accuracies))
    return best, candidates[best]


def median_and_error(values: list[float]) -> tuple[float, float]:
    """Median and standard error of the mean (0 for a single value), rounded to two places."""
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return round(statistics.median(values), 2), round(error, 2)


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--runs", type=Path, required=True, help="the recipe's folder OUT")
    parser.add_argument("--learning-rates", nargs="+", required=True, help="rates to choose from")
    parser.add_argument("--step-sizes", nargs="+", required=True, help="step sizes to choose from")
    parser.add_argument("--seeds", type=int, nargs="+", required=True, help="seeds of the runs")
    parser.add_argument("--updates", type=int, required=True, help="updates of each run")
    args = parser.parse_args()

    settings = settings_of(args.variant, args.learning_rates, args.step_sizes)
    folders = [args.runs / args.experiment / one.folder(args.variant) for one in settings]
    best, logs = best_runs(folders, args.updates, args.seeds)
    last = [validations_of(log)[-1].test for log in logs]
    metrics = {}
    for name in METRICS:
        metrics[name], metrics[name + STDERR] = median_and_error([test[name] for test in last])
    seeds = " ".join(map(str, args.seeds))
    args.data = f"{DATA}; test set; medians and standard errors over seeds {seeds}"
    publish(args, [{
        "metrics": metrics | settings[best].chosen(),
        "seed": args.seeds[0],
        "updates": args.updates,
        "minutes": round(sum(log.minutes for log in logs), 1),
    }], folder=Path(__file__).parent)  # fmt: skip


if __name__ == "__main__":
    main()
