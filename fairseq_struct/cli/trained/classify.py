"""``fairseq-struct classify``: labels of sentences or sentence pairs."""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from fairseq_struct.cli.shared.answering import Answers, answer, check_paths
from fairseq_struct.cli.shared.output import WrittenFile, add_output_options, say
from fairseq_struct.cli.shared.paths import require
from fairseq_struct.cli.shared.trained_models import add_data_option, add_tool_options, load_tool
from fairseq_struct.cli.shared.workers import add_input_options
from fairseq_struct.errors import InputError

NAME = "classify"
HELP = "write the labels of raw sentences or pairs, and on request their latent trees"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``classify``."""
    parser.add_argument("checkpoint", type=Path, help="a trained classifier")
    parser.add_argument(
        "--trees", action=WrittenFile, metavar="FILE",
        help="also write the latent trees to FILE: CoNLL-U, or brackets of constituents",
    )  # fmt: skip
    add_input_options(parser)
    add_output_options(parser, "sentences, label, probabilities of all labels, trees")
    add_data_option(parser)
    add_tool_options(parser, NAME)


def run(args: argparse.Namespace) -> int:
    """Classify standard input, or --input, one instance per line; spaces separate the words.

    A tab separates the two sentences of a pair. Each line of output is the label, a tab, and the
    probabilities of all labels. Output appears as soon as no more input is waiting; with several
    workers, 2,000 lines at a time. The number of instances goes to standard error.

    Raises:
        InputError: an instance or the checkpoint cannot be used.
    """
    require(models=[args.checkpoint], folders=[args.data])
    check_paths(args, args.trees)
    if args.trees and args.folder:
        raise InputError("--trees is one file, but --output a folder; --json has the trees, too")
    totals = answer(args, NAME, Labels, *filter(None, [args.trees]))
    ((kind, count),) = totals.items() or [("", 0)]
    if count:
        say(args, f"{count} {kind if count > 1 else kind.removesuffix('s')} classified")
    return 0


class Labels(Answers):
    """Writes the labels of instances, and their trees.

    Args:
        args: the command line.

    Raises:
        InputError: the checkpoint or an option cannot be used.
    """

    def __init__(self, args: argparse.Namespace):
        self.args, self.classifier = args, load_tool(args, NAME)
        if args.trees and self.classifier.tree_kind is None:
            raise InputError("--trees: this model was trained without trees")
        self.kind = "sentences" if self.classifier.sides == 1 else "pairs"
        self.totals = Counter({self.kind: 0})

    def __call__(self, lines: Iterable[str]) -> Iterator[tuple[str, ...]]:
        """Yield the line of each instance, and its trees for their file.

        Raises:
            InputError: an instance cannot be read.
        """
        every = self.classifier.analyse(lines)
        for number, one in enumerate(every, getattr(lines, "first", 1)):
            self.totals[self.kind] += 1
            trees = ["".join(_trees(number, one))] if self.args.trees else []
            yield (_json(one) if self.args.json else _line(one), *trees)


def _line(one) -> str:
    chances = " ".join(f"{name}={chance:.4f}" for name, chance in one.probabilities.items())
    return f"{one.label}\t{chances}\n"


def _json(one) -> str:
    from fairseq_struct.inference.results.of_tools import classification_of

    return json.dumps(classification_of(one).to_dict(), ensure_ascii=False) + "\n"


def _trees(number: int, one) -> Iterator[str]:
    """Write the trees of an instance: brackets of constituents, CoNLL-U of dependencies."""
    from fairseq_struct.inference.results.of_tools import trees_of

    for side, tree in enumerate(trees_of(one), 1):
        if one.spans is not None:
            yield f"{tree.to_brackets()}\n"
            continue
        name = f"sent_id = {number}" + (f".{side}" if len(one.sentences) > 1 else "")
        yield tree.to_conllu((name, f"text = {' '.join(tree.words)}", f"label = {one.label}"))
