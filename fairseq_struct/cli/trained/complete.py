"""``fairseq-struct complete``: the hidden symbols of sequences."""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from fairseq_struct.cli.shared.answering import Answers, answer, check_paths
from fairseq_struct.cli.shared.output import add_output_options, say
from fairseq_struct.cli.shared.paths import require
from fairseq_struct.cli.shared.trained_models import add_data_option, add_tool_options, load_tool
from fairseq_struct.cli.shared.workers import add_input_options

NAME = "complete"
HELP = "fill in the hidden symbols of sequences"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``complete``."""
    parser.add_argument("checkpoint", type=Path, help="a trained network that completes sequences")
    add_input_options(parser)
    add_output_options(parser, "symbols, and the probabilities of what was hidden, by place from 0")
    add_data_option(parser, "with the dictionary")
    add_tool_options(parser, NAME)


def run(args: argparse.Namespace) -> int:
    """Complete standard input, or --input, one sequence per line, such as 3 4 _ 6 7 8 9 10.

    Each line of output is the completed sequence, a tab, and the symbols that were filled in, with
    their probabilities. Output appears as soon as no more input is waiting; with several workers,
    2,000 lines at a time. The number of sequences goes to standard error.

    Raises:
        InputError: a sequence or the checkpoint cannot be used.
    """
    require(models=[args.checkpoint], folders=[args.data])
    check_paths(args)
    totals = answer(args, NAME, Completions)
    if count := totals["sequences"]:
        say(args, f"{count} sequence{'s' * (count != 1)} completed")
    return 0


class Completions(Answers):
    """Writes completed sequences.

    Args:
        args: the command line.

    Raises:
        InputError: the checkpoint or an option cannot be used.
    """

    def __init__(self, args: argparse.Namespace):
        self.write, self.completer = _json if args.json else _line, load_tool(args, NAME)
        self.totals = Counter(sequences=0)

    def __call__(self, lines: Iterable[str]) -> Iterator[tuple[str]]:
        """Yield the line of each sequence.

        Raises:
            InputError: a sequence cannot be read.
        """
        for one in self.completer.completed(lines):
            self.totals["sequences"] += 1
            yield (self.write(one),)


def _line(one) -> str:
    chances = (f"{one.symbols[place]}={chance:.4f}" for place, chance in one.probabilities.items())
    return f"{' '.join(one.symbols)}\t{' '.join(chances)}\n"


def _json(one) -> str:
    chances = {place: round(chance, 6) for place, chance in one.probabilities.items()}
    found = {"symbols": one.symbols, "probabilities": chances}
    return json.dumps(found, ensure_ascii=False) + "\n"
