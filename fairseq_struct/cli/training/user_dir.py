"""Print the directory for ``--user-dir`` of fairseq's commands."""

from __future__ import annotations

import argparse

from fairseq_struct.user_dir import FOLDER

NAME = "user-dir"
HELP = "print the directory for --user-dir of fairseq's commands"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no arguments: this verb has none.

    Args:
        parser: the verb's own parser.
    """


def run(args: argparse.Namespace) -> int:
    """Print the directory with which fairseq finds this package's models, tasks and criterions.

    ``fairseq-train DATA --user-dir "$(fairseq-struct user-dir)" …`` works both in a checkout and
    after an installation.

    Args:
        args: the parsed arguments.

    Returns:
        0.
    """
    print(FOLDER)
    return 0
