"""Append the best correlation of each type of dependency, from a table of all channels."""

import argparse
from pathlib import Path

from fairseq_struct.errors import report_plainly
from fairseq_struct.inference import made_by
from fairseq_struct.records.results import Result, append_result, device_name


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path, help="of fairseq-struct channels --table")
    parser.add_argument("--checkpoint", type=Path, required=True, help="of the model")
    parser.add_argument("--treebank", required=True, help="its name")
    parser.add_argument("--command", required=True, help="what has made the table")
    parser.add_argument("--results", type=Path, help="file to append the record to")
    args = parser.parse_args()
    if not args.results:
        return
    _, *rows = (line.split("\t") for line in args.table.read_text("utf-8").splitlines())
    metrics = {name: round(max(map(float, values)), 2) for name, _, *values in rows}
    made = made_by(args.checkpoint)
    append_result(args.results, Result(
        experiment="channels", variant=made["model"], metrics=metrics,
        data=f"{args.treebank}; {made['text']}", seed=made["seed"], updates=made["updates"],
        device=device_name(), command=args.command,
    ))  # fmt: skip


if __name__ == "__main__":
    main()
