"""Sum up the runs of one row of table 4.2, print it beside the paper's, and append the record."""

import argparse
import csv
import json
import re
import statistics
from pathlib import Path

from fairseq_struct.errors import InputError, report_plainly
from fairseq_struct.records.results import Result, append_result, device_name

TABLE = Path(__file__).with_name("table_4_2.tsv")


def best_of(log: Path) -> tuple[dict[str, float], dict]:
    """Metrics of the epoch with the highest validation accuracy, and what was trained.

    Args:
        log: written by fairseq-train with ``--log-format json --valid-subset valid,test``.

    Returns:
        Test ``accuracy``, ``macro_f1`` and, with trees, ``tree_depth``, validation
        ``accuracy_valid``; and ``updates``, ``seconds``.

    Raises:
        InputError: there is no such log, or the training did not end.
    """
    if not log.is_file():
        raise InputError(f"{log}: no such run; make it first")
    text = log.read_text(errors="replace")
    found: dict[str, list[dict]] = {"valid": [], "test": []}
    for subset, line in re.findall(r"\| (valid|test) \| (\{.*\})$", text, re.M):
        found[subset].append(json.loads(line))
    seconds = re.search(r"done training in ([\d.]+) seconds", text)
    if not seconds or not found["test"]:
        raise InputError(f"{log}: the training did not end")
    pairs = list(zip(found["valid"], found["test"], strict=True))
    valid, test = max(pairs, key=lambda pair: float(pair[0]["valid_accuracy"]))
    metrics = {
        name: float(test[f"test_{name}"])
        for name in ("accuracy", "macro_f1", "tree_depth")
        if f"test_{name}" in test
    }
    metrics["accuracy_valid"] = float(valid["valid_accuracy"])
    updates = int(pairs[-1][0]["valid_num_updates"])
    return metrics, {"updates": updates, "seconds": float(seconds[1])}


def paper_values(experiment: str, method: str) -> dict[str, float]:
    """The cell of table 4.2, if there is one."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = {row["variant"]: row for row in csv.DictReader(file, delimiter="\t")}
    value = rows.get(method, {}).get(experiment)
    return {"accuracy": float(value)} if value else {}


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiment", required=True, help="sst, sick or snli")
    parser.add_argument("--method", required=True, help="row of the table")
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="folder of each seed")
    parser.add_argument("--embeddings", default="", help="pretrained ones, if any")
    parser.add_argument("--scale", required=True, help="paper or reduced")
    parser.add_argument("--learning-rate", required=True, help="of the runs")
    parser.add_argument("--command", required=True, help="command to record")
    parser.add_argument("--results", type=Path, help="file to append the record to")
    args = parser.parse_args()

    runs = [best_of(folder / "train.log") for folder in args.runs]
    paper = paper_values(args.experiment, args.method)
    embeddings = args.embeddings or "learned"
    for folder, (metrics, about) in zip(args.runs, runs, strict=True):
        if args.results:
            result = Result(
                experiment=args.experiment,
                variant=args.method,
                metrics=metrics,
                paper=paper,
                scale=args.scale,
                data=f"{args.experiment}, {embeddings} embeddings, AdamW, learning rate "
                f"{args.learning_rate}; test set, epoch of the best validation accuracy",
                seed=int(folder.name.removeprefix("seed_")),
                updates=about["updates"],
                device=device_name(),
                minutes=round(about["seconds"] / 60, 1),
                command=args.command,
            )
            append_result(args.results, result)
    metrics = {name: statistics.mean(run[name] for run, _ in runs) for name in runs[0][0]}
    if len(runs) > 1:
        metrics["accuracy_deviation"] = statistics.stdev(run["accuracy"] for run, _ in runs)
    beside = f"  (paper: {paper['accuracy']:.2f})" if paper else ""
    words = "  ".join(f"{name} {value:.2f}" for name, value in metrics.items())
    print(f"{args.experiment} {args.method}: {words}{beside}", flush=True)


if __name__ == "__main__":
    main()
