"""Targeted syntactic evaluation of a language model; append the record."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from fairseq_struct.data.syntactic_evaluation import ROWS
from fairseq_struct.errors import InputError, report_plainly
from fairseq_struct.inference import load_language_model
from fairseq_struct.metrics.results import Result, append_result, device_name


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True, help="of a language model")
    parser.add_argument("--sets", type=Path, required=True, help="folder of .pickle files")
    parser.add_argument("--command", required=True, help="what has made the run")
    parser.add_argument("--results", type=Path, help="file to append the record to")
    args = parser.parse_args()
    name = type(load_language_model(args.checkpoint).model).cell
    command = [sys.executable, "-m", "fairseq_struct.cli.main", "syneval"]
    done = subprocess.run(
        [*command, args.checkpoint, args.sets, "--json"], capture_output=True, text=True
    )
    if done.returncode:
        raise InputError(done.stderr.strip().splitlines()[-1].removeprefix("error: "))
    metrics = json.loads(done.stdout)
    paper = {row.name: getattr(row, name) for row in ROWS if row.name in metrics}
    for row in ROWS:
        if row.name in metrics:
            print(f"{row.name:42} {metrics[row.name]:6.1f} (paper: {paper[row.name]})")
    if args.results:
        append_result(args.results, Result(
            experiment="syneval", variant=name, metrics=metrics, paper=paper,
            data="EMNLP 2018 test sets, all pairs; a model of the Penn Treebank, which lacks many "
            "of their words", device=device_name(1), command=args.command,
        ))  # fmt: skip


if __name__ == "__main__":
    main()
