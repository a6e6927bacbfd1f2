"""Prepare the Penn Treebank: text for language models, or trees to evaluate parsers on.

    fairseq-struct prepare penn_treebank lm PATH OUT        # train.txt, valid.txt, test.txt
    fairseq-struct prepare penn_treebank trees PATH OUT     # bracketed trees, .mrg

``lm`` reads the corpus that T. Mikolov distributes; the files may also have the names ptb.train.txt
and so on, and be compressed (.gz, .xz, .zst). ``trees`` reads every .mrg file below PATH, or with
--sections only some sections. It writes OUT/words.txt (one sentence per line, for ``fairseq-struct
parse``) and OUT/trees.txt (the gold tree of each sentence). It removes punctuation and empty
elements, lower-cases words, and replaces numbers by N. --longest 10 makes WSJ10.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from fairseq_struct.cli.prepare.plain_text import add_text_options, write_language_model
from fairseq_struct.cli.shared.preparation import (
    add_folder_options,
    at_least,
    say,
    shell_word,
)
from fairseq_struct.data.prepared.binarise import SPLITS
from fairseq_struct.data.prepared.evaluation_folder import write_evaluation_folder
from fairseq_struct.errors import InputError
from fairseq_struct.files.compressed_files import existing


def run(args: argparse.Namespace) -> None:
    """Prepare the corpus that the command line names."""
    args.run(args)


def prepare_text(args: argparse.Namespace) -> None:
    """Prepare the corpus of a language model.

    Raises:
        InputError: a file is missing or cannot be used.
    """
    files = {}
    for split in SPLITS:
        names = [args.path / f"{split}.txt", args.path / f"ptb.{split}.txt"]
        files[split] = next((name for name in map(existing, names) if name.is_file()), None)
        if files[split] is None:
            raise InputError(f"{names[0]}: no such file (the {split} split)")
    write_language_model(files, args, "on_lstm_lm_cpu")


def prepare_trees(args: argparse.Namespace) -> None:
    """Prepare trees to evaluate parsers on.

    Raises:
        InputError: there are no trees, one is malformed, or OUT holds something else.
    """
    manifest = write_evaluation_folder(
        args.path, args.out, sections=args.sections, longest=args.longest,
        overwrite=args.overwrite, say=say,
    )  # fmt: skip
    print(f"{manifest['sentences']} sentences, {manifest['words']} words")
    words, trees = (shell_word(args.out / name) for name in ("words.txt", "trees.txt"))
    print(f"parse:    fairseq-struct parse CHECKPOINT --format brackets < {words}")
    print(f"evaluate: fairseq-struct evaluate {trees} PREDICTED")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command line."""
    kinds = parser.add_subparsers(metavar="KIND", required=True)
    for name, run, text in (
        ("lm", prepare_text, "text for language models"),
        ("trees", prepare_trees, "trees to evaluate parsers on"),
    ):
        kind = kinds.add_parser(name, help=text)
        kind.add_argument("path", metavar="PATH", type=Path, help="folder with the files")
        add_folder_options(kind)
        kind.set_defaults(run=run)
        if name == "lm":
            add_text_options(kind)
        else:
            kind.add_argument(
                "--sections", type=int, nargs="+", metavar="N",
                help="read only wsj_NNxx.mrg of these sections; 23 is the usual test set",
            )  # fmt: skip
            kind.add_argument(
                "--longest", type=at_least(1), metavar="N", help="maximum words of a sentence"
            )
