"""Targeted syntactic evaluation of a language model; append the record."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from fairseq_struct.errors import InputError, report_plainly
from fairseq_struct.evaluation.syntactic import ROWS
from fairseq_struct.inference import load_language_model, made_by
from fairseq_struct.records.results import Result, append_result, device_name


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True, help="of a language model")
    parser.add_argument("--sets", type=Path, required=True, help="folder of .pickle files")
    parser.add_argument("--command", required=True, help="what has made the run")
    parser.add_argument("--results", type=Path, help="file to append the record to")
    args = parser.parse_args()
    name = type(load_language_model(args.checkpoint).model).cell
    made = made_by(args.checkpoint)
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
    print(f"{'told_apart':42} {metrics['told_apart']:6.1f}")
    if args.results:
        append_result(args.results, Result(
            experiment="syneval", variant=name, metrics=metrics, paper=paper,
            data="all pairs of the test sets; told_apart: pairs in which the model knows a word "
            f"that makes the difference; {made['text']}", seed=made["seed"],
            updates=made["updates"], device=device_name(), command=args.command,
        ))  # fmt: skip


if __name__ == "__main__":
    main()
