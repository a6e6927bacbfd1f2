"""One row of table 4.1 of Mihaylova's thesis: medians and standard errors over seeds.

They are those of the best learning rate.
"""

import statistics
from dataclasses import dataclass
from pathlib import Path

from fairseq_struct.errors import report_plainly
from fairseq_struct.records.rows import STDERR
from fairseq_struct.records.scoring import log_of, publish, scoring_options
from fairseq_struct.records.training_log import TrainingLog

METRICS = ("accuracy", "v_measure")
DATA = "generated: 5,000 / 1,000 / 1,000 instances, dimension 100"


@dataclass(frozen=True)
class Validation:
    """Metrics of the validation and the test set that were logged at one update."""

    update: int
    valid: dict[str, float]
    test: dict[str, float]


def validations_of(log: TrainingLog) -> list[Validation]:
    """The validations of one training, in order."""
    return [
        Validation(int(valid["num_updates"]), valid, log.splits["test"][epoch])
        for epoch, valid in log.splits["valid"].items()
    ]


def runs_with_best_rate(
    folder: Path, learning_rates: list[str], updates: int, seeds: list[int]
) -> tuple[str, list[TrainingLog]]:
    """Choose the learning rate with the highest median validation accuracy after the last update.

    Args:
        folder: folder of the runs of one row.
        learning_rates: as in the names of the folders below.
        updates, seeds: updates and seeds of the runs.

    Returns:
        The learning rate (the first one if several are equal), and the log of each seed.

    Raises:
        InputError: a run does not exist, or its training did not end.
    """
    candidates = {
        rate: [log_of(folder / f"rate_{rate}" / f"updates_{updates}" / f"seed_{seed}")
               for seed in seeds]
        for rate in learning_rates
    }  # fmt: skip

    def validation_accuracy(rate: str) -> float:
        logs = candidates[rate]
        return statistics.median(validations_of(log)[-1].valid["accuracy"] for log in logs)

    best = max(candidates, key=validation_accuracy)
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
    parser.add_argument("--seeds", type=int, nargs="+", required=True, help="seeds of the runs")
    parser.add_argument("--updates", type=int, required=True, help="updates of each run")
    args = parser.parse_args()

    rate, logs = runs_with_best_rate(
        args.runs / args.experiment / args.variant, args.learning_rates, args.updates, args.seeds
    )
    last = [validations_of(log)[-1].test for log in logs]
    metrics = {}
    for name in METRICS:
        metrics[name], metrics[name + STDERR] = median_and_error([test[name] for test in last])
    seeds = " ".join(map(str, args.seeds))
    args.data = f"{DATA}; test set; medians and standard errors over seeds {seeds}"
    publish(args, [{
        "metrics": metrics | {"learning_rate_thousandths": float(rate) * 1000},
        "seed": args.seeds[0],
        "updates": args.updates,
        "minutes": round(sum(log.minutes for log in logs), 1),
    }], folder=Path(__file__).parent)  # fmt: skip


if __name__ == "__main__":
    main()
