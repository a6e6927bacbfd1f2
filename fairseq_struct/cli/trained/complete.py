"""``fairseq-struct complete``: the hidden symbols of sequences."""

import argparse
import sys
from pathlib import Path

from fairseq_struct.cli.shared.paths import require
from fairseq_struct.cli.shared.trained_models import add_tool_options, load_tool

NAME = "complete"
HELP = "fill in the hidden symbols of sequences"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``complete``."""
    parser.add_argument("checkpoint", type=Path, help="a trained network that completes sequences")
    parser.add_argument(
        "--data", type=Path, help="data-bin with the dictionary, if it was moved since training"
    )
    add_tool_options(parser, NAME)


def run(args: argparse.Namespace) -> int:
    """Complete the sequences of standard input, one per line, such as 3 4 _ 6 7 8 9 10.

    Each line of output is the completed sequence, a tab, and the symbols that were filled in, with
    their probabilities. Output appears as soon as no more input is waiting.

    Raises:
        InputError: a sequence or the checkpoint cannot be used.
    """
    require(models=[args.checkpoint], folders=[args.data])
    tool = load_tool(args, NAME)
    from fairseq_struct.inference import read_lines

    for one in tool.completed(read_lines(sys.stdin)):
        chances = (f"{one.symbols[place]}={p:.4f}" for place, p in one.probabilities.items())
        print(f"{' '.join(one.symbols)}\t{' '.join(chances)}", flush=True)
    return 0
