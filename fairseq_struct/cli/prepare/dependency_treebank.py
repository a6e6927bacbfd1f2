"""Prepare text with gold dependency trees, for masked language models that parse, and parsers.

    fairseq-struct prepare dependency_treebank conllu TRAIN VALID TEST OUT
    fairseq-struct prepare dependency_treebank conllu TRAIN VALID TEST OUT --as-is
    fairseq-struct prepare dependency_treebank generated OUT --sentences 5000 300 300 --seed 1

``conllu`` reads the files of a treebank of Universal Dependencies. It removes punctuation, and its
dependents move up. It lower-cases words, replaces numbers by N, and makes words rarer than
--least-count unknown. With --as-is, it keeps punctuation, case and numbers, as supervised parsers
need them, and only words that occur once are unknown. ``generated`` draws sentences of an invented
language in which each word chooses its dependents. Both write OUT/text, OUT/trees (CoNLL-U, of the
same words) and OUT/data-bin.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from fairseq_struct.cli.shared.preparation import (
    add_folder_options,
    add_seed,
    at_least,
    how_to_train,
    say,
    shell_word,
)
from fairseq_struct.data.generators.synthetic_dependencies import generate_dependencies
from fairseq_struct.data.prepared.binarise import SPLITS
from fairseq_struct.data.prepared.treebank_folder import as_text, write_treebank_folder
from fairseq_struct.data.readers.conllu import Sentence
from fairseq_struct.data.readers.dependency_treebank import read_treebank
from fairseq_struct.errors import InputError


def run(args: argparse.Namespace) -> None:
    """Prepare the corpus that the command line names."""
    args.run(args)


def prepare_treebank(args: argparse.Namespace) -> None:
    """Prepare the files of a treebank.

    Raises:
        InputError: a file is missing, malformed or without tags, or OUT holds something else.
    """
    paths = dict(zip(SPLITS, (args.train, args.valid, args.test), strict=True))
    trees = {split: read_treebank(path) for split, path in paths.items()}
    if not args.as_is:
        trees = {split: as_text(own) for split, own in trees.items()}
    for split, own in trees.items():
        if not own:
            raise InputError(f"{paths[split]}: has only punctuation, which --as-is would keep")
    options = {"drawn": {"as_is": True}} if args.as_is else {}
    # With --as-is that of the task dependency_parsing, as for a treebank's own folder.
    least_count = args.least_count or (2 if args.as_is else 5)
    # A treebank is smaller than the corpus of the preset.
    fewer = "udgn_cpu --max-update 1500 --validate-interval 5"
    preset = "undirected_parser_ud_cpu" if args.as_is else fewer
    write(trees, args, preset, least_count=least_count, **options)


def generate(args: argparse.Namespace) -> None:
    """Draw a corpus.

    Raises:
        InputError: OUT holds something else.
    """
    trees = generate_dependencies(dict(zip(SPLITS, args.sentences, strict=True)), args.seed)
    drawn = {"sentences": args.sentences, "seed": args.seed}
    write(trees, args, "udgn_tiny", drawn=drawn, generator=generate_dependencies.__module__)


def write(
    trees: Mapping[str, list[Sentence]], args: argparse.Namespace, preset: str, **options
):
    """Write the folder, and print the commands that use it."""
    manifest = write_treebank_folder(
        trees, args.out, overwrite=args.overwrite, say=say, **options
    )
    for split, counts in manifest["splits"].items():
        print(f"{split}: {counts['sentences']} sentences, {counts['tokens']} words")
    text, gold = (shell_word(args.out / name) for name in ("text/test.txt", "trees/test.conllu"))
    print(how_to_train(args.out, preset))
    print(f"parse:    fairseq-struct parse CHECKPOINT < {text} > PREDICTED")
    print(f"evaluate: fairseq-struct evaluate {gold} PREDICTED")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command line."""
    kinds = parser.add_subparsers(metavar="KIND", required=True)
    conllu = kinds.add_parser("conllu", help="a treebank of Universal Dependencies")
    for split in SPLITS:
        conllu.add_argument(split, metavar=split.upper(), type=Path, help="CoNLL-U file")
    conllu.add_argument(
        "--least-count", type=at_least(1), metavar="N",
        help="words rarer than this in the training split are unknown (default: 5; with --as-is 2)",
    )  # fmt: skip
    conllu.add_argument(
        "--as-is", action="store_true",
        help="keep punctuation, case and numbers, for --task dependency_parsing",
    )  # fmt: skip
    conllu.set_defaults(run=prepare_treebank)
    generated = kinds.add_parser("generated", help="a corpus of an invented language")
    generated.add_argument(
        "--sentences", nargs=3, type=at_least(1), default=(5000, 300, 300),
        metavar=("TRAIN", "VALID", "TEST"), help="sentences of each split (default: 5000 300 300)",
    )  # fmt: skip
    add_seed(generated, "the corpus")
    generated.set_defaults(run=generate)
    for kind in (conllu, generated):
        add_folder_options(kind)
