"""Prepare any text for language models and masked language models: one sentence a line.

    fairseq-struct prepare plain_text TRAIN VALID TEST OUT
    fairseq-struct prepare plain_text train.txt.zst valid.txt test.txt OUT --workers 8 --shards 10
    zcat part*.gz | fairseq-struct prepare plain_text - valid.txt test.txt OUT

Words are separated by white space, and stay as they are. Empty lines are left out. A file may be
compressed (.gz, .xz, .zst), and one of them may be standard input (-), which is kept in the folder
of temporary files until the end. Text of any size is prepared in little memory; only the words of
the dictionary are kept. A run that was killed goes on when the same command is given again.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from fairseq_struct.cli.shared.preparation import (
    add_folder_options,
    add_stream_options,
    add_workers,
    how_to_train,
    say,
)
from fairseq_struct.cli.shared.preparation_progress import progress_on
from fairseq_struct.data.prepared.binarise import SPLITS
from fairseq_struct.data.prepared.language_folder import write_language_folder


def run(args: argparse.Namespace) -> None:
    """Prepare the files that the command line names."""
    files = {split: getattr(args, split) for split in SPLITS}
    write_language_model(files, args, "on_lstm_lm_cpu")


def write_language_model(
    files: Mapping[str, str | Path], args: argparse.Namespace, preset: str
) -> None:
    """Write the folder, and print the command that trains on it.

    Args:
        files: the file of each split.
        args: the command line, with the options of :func:`add_text_options`.
        preset: that trains on such a folder.

    Raises:
        InputError: a file cannot be used, or OUT holds something else.
    """
    manifest = write_language_folder(
        files, args.out, overwrite=args.overwrite, workers=args.workers, shards=args.shards,
        say=say, progress=progress_on(wanted=args.progress),
    )  # fmt: skip
    for split, counts in manifest["splits"].items():
        print(f"{split}: {counts['sentences']} sentences, {counts['tokens']} words")
    print(how_to_train(args.out, preset))


def add_text_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that prepares plain text."""
    add_workers(parser)
    add_stream_options(parser)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command line."""
    for split in SPLITS:
        parser.add_argument(split, metavar=split.upper(), help="text file, or - once")
    add_folder_options(parser)
    add_text_options(parser)
