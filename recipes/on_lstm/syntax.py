"""Targeted syntactic evaluation of a language model (ON-LSTM paper, table 3)."""

import json
import subprocess
import sys
from pathlib import Path

import torch

from fairseq_struct.errors import InputError, report_plainly
from fairseq_struct.evaluation.syntactic import ROWS
from fairseq_struct.inference import load_language_model, made_by
from fairseq_struct.records.scoring import publish, scoring_options


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True, help="language-model checkpoint")
    parser.add_argument("--sets", type=Path, required=True, help="folder of .pickle files")
    args = parser.parse_args()
    name = type(load_language_model(args.checkpoint).model).cell
    made = made_by(args.checkpoint)
    command = [sys.executable, "-m", "fairseq_struct.cli.main", "syneval"]
    # The record names this device.
    device = ["--device", "cuda"] if torch.cuda.is_available() else []
    done = subprocess.run(
        [*command, args.checkpoint, args.sets, "--json", *device], capture_output=True, text=True
    )
    if done.returncode:
        raise InputError(done.stderr.strip().splitlines()[-1].removeprefix("error: "))
    metrics = json.loads(done.stdout)
    args.data = (
        "all pairs of the test sets; told_apart: pairs in which the model knows a word that makes "
        f"the difference; {args.data or made['text']}"
    )
    paper = {row.name: getattr(row, name) for row in ROWS if row.name in metrics}
    publish(args, [{"metrics": metrics, "paper": paper}], folder=Path(__file__).parent,
            variant=name, seed=made["seed"], updates=made["updates"])  # fmt: skip


if __name__ == "__main__":
    main()
