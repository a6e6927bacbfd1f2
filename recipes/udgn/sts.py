"""Read the rank correlations of a run of ``sts.sh``, print them, and append the record."""

import argparse
from pathlib import Path

from fairseq_struct.errors import report_plainly
from fairseq_struct.inference import made_by
from fairseq_struct.records.results import Result, append_result, device_name
from fairseq_struct.records.training_log import read_log

SETS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
# Table 11 of Shen's thesis, chapter 4: models trained on 42 million words before.
PAPER = {
    "masked_transformer": (76.17, 61.48, 73.97, 74.35, 53.72, 64.26, 80.00, 69.14),
    "udgn": (80.51, 75.02, 80.54, 82.16, 64.73, 72.49, 81.94, 76.77),
    "udgn_frozen": (77.71, 71.17, 78.71, 82.30, 66.04, 70.13, 82.17, 75.46),
}


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="folder with train.log")
    parser.add_argument("--variant", required=True, help="which model")
    parser.add_argument("--pretrained", type=Path, required=True, help="where it began")
    parser.add_argument("--scale", choices=("paper", "reduced"), required=True)
    parser.add_argument("--command", required=True, help="what has made the run")
    parser.add_argument("--results", type=Path, help="file to append the record to")
    args = parser.parse_args()
    log = read_log(args.run / "train.log")
    best = log.best_epoch("valid", "spearman", highest=True)
    metrics = {name: log.value(name, best, "spearman") for name in SETS if name in log.splits}
    if len(metrics) == len(SETS):
        metrics["average"] = round(sum(metrics.values()) / len(metrics), 2)
    paper = dict(zip((*SETS, "average"), PAPER.get(args.variant, ()), strict=False))
    shown = "  ".join(f"{name} {value:.2f}" for name, value in metrics.items())
    beside = ", ".join(f"{name} {value}" for name, value in paper.items())
    print(f"sts {args.variant}: {shown} (paper: {beside or '-'})")
    if args.results:
        before, now = made_by(args.pretrained), made_by(args.run / "checkpoint_last.pt")
        epochs = len(log.splits["train"])
        append_result(args.results, Result(
            experiment="sts", variant=args.variant, metrics=metrics, paper=paper,
            scale=args.scale, data=f"epoch {best} of {epochs} on the STS Benchmark; before that "
            f"Penn Treebank, {before['text']}", seed=now["seed"], updates=now["updates"],
            device=device_name(), minutes=round(log.minutes), command=args.command,
        ))  # fmt: skip


if __name__ == "__main__":
    main()
