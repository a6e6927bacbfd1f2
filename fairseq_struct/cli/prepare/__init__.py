"""Make prepared folders for training, with one module per kind of corpus.

Such a module has ``add_arguments(parser)`` and ``run(args)``. Its docstring is its help text. Its
name is in ``PREPARERS``. It is imported only when it is used.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from fairseq_struct.cli.shared.lasting_output import lasting_output
from fairseq_struct.data.prepared.prepared_folder import known_manifest
from fairseq_struct.errors import InputError

NAME = "prepare"
HELP = "prepare a corpus for training"

PREPARERS = {
    "craft_demonstrations": "demonstrations of tasks in the grid world Craft, generated",
    "dependency_treebank": "gold dependency trees, read or generated, for masked language models",
    "image_classification": "images of digits, generated; MNIST needs no preparation",
    "labelled_text": "sentences or pairs of them with labels: SST, SICK, SNLI, your own",
    "listops": "nested lists of digits with their values, read or generated",
    "parallel": "parallel text, for translation",
    "penn_treebank": "the Penn Treebank: text for language models, trees to evaluate parsers on",
    "plain_text": "any text, one sentence a line, for language models and masked models",
    "propositional_logic": "pairs of formulas, for logical inference",
    "sentence_similarity": "the data sets of semantic textual similarity",
    "sequence_completion": "runs of consecutive numbers, some of them hidden",
    "synthetic_translation": "a generated parallel corpus with gold trees on both sides",
    "transformation_lists": "the steps that build constituency trees, read or generated",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments.

    Args:
        parser: the verb's own parser.
    """
    width = max(map(len, PREPARERS)) + 2
    parser.epilog = "\n".join(
        ["NAME is one of", *(f"  {name:{width}}{what}" for name, what in PREPARERS.items()),
         "", "fairseq-struct prepare NAME --help tells what the corpus's files have to be."]
    )  # fmt: skip
    parser.add_argument(
        "name", metavar="NAME", nargs="?", choices=PREPARERS, help="kind of the corpus"
    )
    parser.add_argument(
        "arguments", metavar="…", nargs=argparse.REMAINDER, help="arguments of this kind"
    )
    parser.set_defaults(print_help=parser.print_help, parser_class=type(parser))


def run(args: argparse.Namespace) -> int:
    """Prepare a corpus: check and clean its text, binarise it, and record how it was made.

    Args:
        args: the parsed arguments.

    Returns:
        0.

    Raises:
        InputError: the corpus or the output folder cannot be used.
    """
    if args.name is None:
        args.print_help()
        return 0
    preparer = importlib.import_module(f"{__name__}.{args.name}")
    parser = args.parser_class(
        prog=f"fairseq-struct {NAME} {args.name}", description=preparer.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    preparer.add_arguments(parser)
    own = parser.parse_args(args.arguments)
    if ":" in str(own.out):  # fairseq would read it as several folders
        raise InputError(f"{own.out}: colons join folders to train on; name one without a colon")
    known_manifest(own.out, own.overwrite)  # refuses a folder before reading or drawing anything
    try:
        with lasting_output():
            preparer.run(own)
    except KeyboardInterrupt:
        print(f"interrupted: {own.out} is as it was; the same command prepares it", file=sys.stderr)
        raise
    return 0
