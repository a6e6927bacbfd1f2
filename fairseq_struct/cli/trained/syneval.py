"""``fairseq-struct syneval``: targeted syntactic evaluation of language models."""

import argparse
import json
import sys
from pathlib import Path

from fairseq_struct.cli.shared.output import require_standard_output
from fairseq_struct.cli.shared.paths import require
from fairseq_struct.cli.shared.trained_models import add_data_option, add_tool_options, load_tool
from fairseq_struct.errors import InputError

NAME = "syneval"
HELP = "which of two sentences a language model finds more likely (Marvin, Linzen, 2018)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``syneval``."""
    parser.add_argument(
        "checkpoint", type=Path, help="a language model that predicts the next word"
    )
    parser.add_argument("sets", type=Path, help="folder of the test sets' .pickle files, or .tsv")
    add_data_option(parser, "with the dictionary")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_tool_options(parser, "score")


def run(args: argparse.Namespace) -> int:
    """Print accuracies next to the accuracies of the ON-LSTM paper, in the groups of its table 3.

    The test sets are a folder of the released .pickle files, or a .tsv file. Its columns are test
    set, condition, better sentence, worse sentence; negative polarity items have three sentences.
    The score of a sentence is the log-probability of its words and its end. ``apart`` is the share
    of pairs that differ in words the model knows. Other pairs count as wrong.

    Raises:
        InputError: the checkpoint or the test sets cannot be used.
    """
    require(models=[args.checkpoint], folders=[args.data])
    require_standard_output()
    if not args.sets.exists():
        raise InputError(f"{args.sets}: no such .tsv file, nor a folder with .pickle files")
    from fairseq_struct.data.readers.syntactic_evaluation import read_test_sets
    from fairseq_struct.evaluation import syntactic

    model = load_tool(args, "score")  # another model is told before files that are no test sets
    sets = read_test_sets(args.sets)
    found = syntactic.evaluate_syntax(
        sets, lambda words: model.log_probabilities(words, progress=not args.json),
        model.vocabulary.index,
    )  # fmt: skip
    if others := syntactic.sets_of_no_row(sets, found):
        print(f"in no row of the table: {', '.join(others)}", file=sys.stderr)
    if args.json:
        print(json.dumps(syntactic.in_percent(found)))
        return 0
    print(f"{'':42} accuracy   pairs  apart  paper: ON-LSTM  LSTM")
    for long, title in ((False, "short-term dependency"), (True, "long-term dependency")):
        print(title)
        for row in syntactic.ROWS:
            if row.long == long and row.name in found:
                accuracy, pairs, apart = found[row.name]
                print(
                    f"  {row.name:40} {accuracy:8.1f} {pairs:7} {100 * apart / pairs:5.0f}% "
                    f"{row.on_lstm:14.0f} {row.lstm:5.0f}"
                )
    return 0
