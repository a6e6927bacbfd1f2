"""Sum up the runs of one row of table 4.1, print it beside the paper's, and append the record."""

import argparse
import csv
import json
import re
import statistics
from dataclasses import dataclass
from pathlib import Path

from fairseq_struct.errors import InputError, report_plainly
from fairseq_struct.records.results import Result, append_result, device_name

TABLE = Path(__file__).with_name("table_4_1.tsv")
METRICS = ("accuracy", "v_measure")
DATA = "generated: 5,000 / 1,000 / 1,000 instances, dimension 100"


@dataclass(frozen=True)
class Validation:
    """What was logged at one update: metrics of the validation and of the test set."""

    update: int
    valid: dict[str, float]
    test: dict[str, float]


def read_run(log: Path) -> tuple[list[Validation], float]:
    """What the log of one training tells.

    Args:
        log: written by fairseq-train with ``--log-format json --valid-subset valid,test``.

    Returns:
        The validations in order, and the seconds of training.

    Raises:
        InputError: there is no such log, or the training did not end.
    """
    if not log.is_file():
        raise InputError(f"{log}: no such run; make it first")
    text = log.read_text(errors="replace")
    found: dict[str, dict[int, dict[str, float]]] = {"valid": {}, "test": {}}
    for subset, line in re.findall(r"\| (valid|test) \| (\{.*\})$", text, re.M):
        entry = json.loads(line)
        update = int(entry[f"{subset}_num_updates"])
        found[subset][update] = {name: float(entry[f"{subset}_{name}"]) for name in METRICS}
    seconds = re.search(r"done training in ([\d.]+) seconds", text)
    if not seconds or not found["test"]:
        raise InputError(f"{log}: the training did not end")
    validations = [Validation(u, found["valid"][u], test) for u, test in found["test"].items()]
    return validations, float(seconds[1])


def runs_with_best_rate(
    folder: Path, learning_rates: list[str], updates: int, seeds: list[int]
) -> tuple[str, list[tuple[list[Validation], float]]]:
    """The learning rate whose median validation accuracy after the last update is highest.

    Args:
        folder: where the runs of one row are.
        learning_rates: as the folders below are named.
        updates, seeds: which runs.

    Returns:
        That learning rate (the first of several), and what :func:`read_run` tells of each seed.
    """
    candidates = {
        rate: [
            read_run(folder / f"rate_{rate}" / f"updates_{updates}" / f"seed_{seed}" / "train.log")
            for seed in seeds
        ]
        for rate in learning_rates
    }

    def validation_accuracy(rate: str) -> float:
        return statistics.median(run[-1].valid["accuracy"] for run, _ in candidates[rate])

    best = max(candidates, key=validation_accuracy)
    return best, candidates[best]


def median_and_error(values: list[float]) -> tuple[float, float]:
    """Median, and standard error of the mean (0 for a single value)."""
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return round(statistics.median(values), 2), round(error, 2)


def summary(runs: list[dict[str, float]]) -> dict[str, float]:
    """Median and standard error of each metric over runs."""
    metrics = {}
    for name in METRICS:
        metrics[name], metrics[f"{name}_stderr"] = median_and_error([run[name] for run in runs])
    return metrics


def paper_values(experiment: str, variant: str) -> dict[str, float]:
    """The row of table 4.1 under our names."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = {row["variant"]: row for row in csv.DictReader(file, delimiter="\t")}
    prefix = f"{experiment} "
    row = rows.get(variant, {})
    return {k.removeprefix(prefix): float(v) for k, v in row.items() if k.startswith(prefix)}


def in_words(metrics: dict[str, float]) -> str:
    """Accuracy and V-measure with their standard errors."""
    return "  ".join(
        f"{label} {metrics[name]:.2f} ± {metrics[f'{name}_stderr']:.2f}"
        for label, name in (("accuracy", "accuracy"), ("V-measure", "v_measure"))
    )


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, required=True, help="folder that is OUT of the recipe")
    parser.add_argument("--learning-rates", nargs="+", required=True, help="to choose from")
    parser.add_argument("--experiment", required=True, help="clusters_3 or clusters_10")
    parser.add_argument("--variant", required=True, help="row of table 4.1")
    parser.add_argument("--seeds", type=int, nargs="+", required=True, help="seeds of the runs")
    parser.add_argument("--updates", type=int, required=True, help="updates of each run")
    parser.add_argument("--scale", required=True, help="paper or reduced")
    parser.add_argument("--command", required=True, help="command to record")
    parser.add_argument("--results", type=Path, help="file to append the record to")
    args = parser.parse_args()

    rate, runs = runs_with_best_rate(
        args.runs / args.experiment / args.variant, args.learning_rates, args.updates, args.seeds
    )
    last = summary([validations[-1].test for validations, _ in runs])
    best = summary([max(v, key=lambda at: at.valid["accuracy"]).test for v, _ in runs])
    paper = paper_values(args.experiment, args.variant)
    if args.results:
        seeds = " ".join(map(str, args.seeds))
        result = Result(
            experiment=args.experiment,
            variant=args.variant,
            metrics=last | {"learning_rate_thousandths": float(rate) * 1000},
            paper=paper,
            scale=args.scale,
            data=f"{DATA}; test set; medians and standard errors over seeds {seeds}",
            seed=args.seeds[0],
            updates=args.updates,
            device=device_name(),
            minutes=round(sum(seconds for _, seconds in runs) / 60, 1),
            command=args.command,
        )
        append_result(args.results, result)
    print(f"{args.experiment} {args.variant}: {in_words(last)}  (paper: {in_words(paper)})")
    print(f"    learning rate {rate}; where validation accuracy is highest: {in_words(best)}",
          flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
