"""Prepare runs of consecutive numbers with hidden ones, for --task sequence_completion.

    fairseq-struct prepare sequence_completion OUT
    fairseq-struct prepare sequence_completion OUT --share 0.1 --split runs

These are all ascending and descending runs of the numbers 1 to 64 of 8 to 24 numbers, with 1 to
ceil(n / 10) of n numbers hidden in every way: 785,142 examples. A tenth of them is for test; a
fiftieth of the others is for validation.
"""

from __future__ import annotations

import argparse

from fairseq_struct.cli.shared.preparation import (
    add_folder_options,
    add_seed,
    at_least,
    how_to_train,
    say,
)
from fairseq_struct.data.generators.consecutive_runs import SHORTEST, SYMBOLS, WAYS_TO_SPLIT
from fairseq_struct.data.prepared.completion_folder import write_completion_folder


def run(args: argparse.Namespace) -> None:
    """Prepare the corpus."""
    manifest = write_completion_folder(
        args.out, args.symbols, args.split, args.share, args.seed, overwrite=args.overwrite, say=say
    )
    for name, count in manifest["examples"].items():
        print(f"{name}: {count} examples")
    print(how_to_train(args.out, "undirected_attention_completion_cpu"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command line."""
    parser.add_argument(
        "--share", type=float, default=1.0, metavar="SHARE",
        help="share of each part's examples to keep, drawn at random (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "--symbols", type=at_least(SHORTEST), default=SYMBOLS, metavar="N",
        help=f"the numbers are 1 to N (default: {SYMBOLS})",
    )  # fmt: skip
    parser.add_argument(
        "--split", choices=WAYS_TO_SPLIT, default=WAYS_TO_SPLIT[0],
        help="random: examples are drawn, so that test sequences are in the training part with "
        "other numbers hidden; runs: whole sequences are drawn (default: random)",
    )  # fmt: skip
    add_seed(parser, "all draws")
    add_folder_options(parser)
