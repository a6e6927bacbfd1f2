"""``fairseq-struct classify``: labels of sentences or sentence pairs."""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from fairseq_struct.cli.shared.output import add_output_options, say, with_progress, written
from fairseq_struct.cli.shared.paths import require, require_room
from fairseq_struct.cli.shared.trained_models import add_tool_options, load_tool
from fairseq_struct.errors import InputError

NAME = "classify"
HELP = "write the labels of raw sentences or pairs, and on request their latent trees"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``classify``."""
    parser.add_argument("checkpoint", type=Path, help="a trained classifier")
    parser.add_argument(
        "--trees", type=Path, metavar="FILE",
        help="also write the latent trees to FILE: CoNLL-U, or brackets of constituents",
    )  # fmt: skip
    add_output_options(parser, "sentences, label, probabilities of all labels, trees")
    parser.add_argument(
        "--data", type=Path, help="data-bin with the dictionaries, if it was moved since training"
    )
    add_tool_options(parser, NAME)


def run(args: argparse.Namespace) -> int:
    """Classify standard input, one instance per line; spaces separate the words.

    A tab separates the two sentences of a pair. Each line of output is the label, a tab, and the
    probabilities of all labels. Output appears as soon as no more input is waiting. The number of
    instances goes to standard error.

    Raises:
        InputError: an instance or the checkpoint cannot be used.
    """
    require(models=[args.checkpoint], folders=[args.data])
    require_room(args.trees, args.output)
    classifier = load_tool(args, NAME)
    from fairseq_struct.files.whole_files import whole_file
    from fairseq_struct.inference import read_lines

    if args.trees and classifier.tree_kind is None:
        raise InputError("--trees: this model was trained without trees")
    parts, count = [], 0
    every = with_progress(classifier.analyse(read_lines(sys.stdin)), args.quiet, args.output)
    with written(args.output) as write:
        for count, one in enumerate(every, 1):
            write(_json(one) if args.json else _line(one))
            if args.trees:
                parts += _trees(count, one)
        if args.trees:
            with whole_file(args.trees) as file:
                file.write("".join(parts).encode())
    say(args, f"{count} {'sentences' if classifier.sides == 1 else 'pairs'} classified")
    return 0


def _line(one) -> str:
    chances = " ".join(f"{name}={chance:.4f}" for name, chance in one.probabilities.items())
    return f"{one.label}\t{chances}\n"


def _json(one) -> str:
    from fairseq_struct.inference.results.of_tools import classification_of

    return json.dumps(classification_of(one).to_dict(), ensure_ascii=False) + "\n"


def _trees(number: int, one) -> Iterator[str]:
    """Write the trees of an instance: brackets of constituents, CoNLL-U of dependencies."""
    from fairseq_struct.data.readers.bracket_trees import line_of
    from fairseq_struct.data.readers.conllu import to_conllu

    if one.spans is not None:
        for words, spans in zip(one.sentences, one.spans, strict=True):
            yield f"{line_of(words, spans)}\n"
        return
    for side, (words, heads) in enumerate(zip(one.sentences, one.heads, strict=True), 1):
        name = f"sent_id = {number}" + (f".{side}" if len(one.sentences) > 1 else "")
        yield to_conllu(words, heads, (name, f"text = {' '.join(words)}", f"label = {one.label}"))
