"""Entry point of the command ``fairseq-struct``: it runs a verb and reports bad input."""

from __future__ import annotations

import argparse
import codecs
import importlib
import inspect
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from fairseq_struct import __version__
from fairseq_struct.errors import require_current_folder, run_plainly, suggestion

# Modules of cli/, in the order of the list that the user sees.
VERBS = (
    "doctor", "prepare", "training.train", "training.presets", "training.average_checkpoints",
    "training.hydra_train", "training.user_dir", "trained.channels", "trained.classify",
    "trained.complete", "trained.draw", "trained.export", "trained.parse", "trained.rollout",
    "trained.score", "trained.syneval", "trained.translate", "results.curves", "results.evaluate",
    "results.report",
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb.

    Args:
        argv: the arguments after the command's name; None for the arguments of the process.

    Returns:
        The exit status of the verb, or of an error as in :func:`.run_plainly`.

    Raises:
        SystemExit: from argparse, for ``--help``, ``--version`` and unknown arguments.
    """
    if argv is None:
        _wait_briefly()
        _speak_utf8()
    return run_plainly(lambda: _run(argv))


def _wait_briefly():
    """Let the threads of torch sleep early where they wait for each other.

    By default they turn round and round for milliseconds first. If other programs need the same
    cores, a thread that works then waits for those that wait for it, and training takes ten times
    as long. 1000 rounds are what GNU's OpenMP takes of itself if it knows of too few cores; it
    reads the variable when torch is imported. Results do not depend on it.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def _speak_utf8():
    """Read and write UTF-8 on streams that know ASCII only, as Python's own UTF-8 mode does.

    They do with LC_ALL=C, where that mode is turned off; files of data are in UTF-8 anyway.
    """
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and codecs.lookup(stream.encoding).name == "ascii":
            stream.reconfigure(encoding="utf-8", errors=stream.errors)


def _run(argv: Sequence[str] | None) -> int:
    words = sys.argv[1:] if argv is None else argv
    parser = build_parser(only=words[0] if words else None)
    args = parser.parse_args(argv)
    if not hasattr(args, "run"):
        parser.print_help()
        return 0
    # Without a folder, the library that multiplies matrices for torch ends the process.
    require_current_folder()
    return args.run(args)


class _Parser(argparse.ArgumentParser):
    """Parser that suggests the most similar known name for an unknown name.

    ``before_parsing`` of a verb's parser receives the words to parse; it may add options.
    ``divide`` divides the words into those that the parser knows, and ``further`` ones, which it
    hands over as they are.
    """

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.register("type", Path, _path)  # of all options with type=Path

    before_parsing: Callable[[Sequence[str]], None] | None = None
    divide: Callable[[Sequence[str]], tuple[list[str], list[str]]] | None = None

    def parse_known_args(self, args=None, namespace=None):
        """Parse as argparse does, after ``before_parsing``; all parsing methods call this one."""
        if self.before_parsing is not None:
            self.before_parsing(args)
        if self.divide is not None:
            args, self._defaults["further"] = self.divide(args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str):
        """Add a suggestion to the message; argparse prints it and ends the program."""
        wrong = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        known = [name.strip("' ") for name in wrong[2].split(",")] if wrong else ()
        super().error(message + (suggestion(wrong[1], known) if wrong else ""))

    def _print_message(self, message: str, file: TextIO | None = None):
        """Print help so that a full disk is an error, and an unknown character a question mark."""
        file = file or sys.stderr
        if message and file is not None:
            encoding = file.encoding or "utf-8"
            file.write(message.encode(encoding, "replace").decode(encoding))


def _path(name: str) -> Path:
    if not name:  # such as that of a variable of the shell that is not set; Path would make it "."
        raise argparse.ArgumentTypeError("an empty name of a file or folder")
    return Path(name)


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Build the parser with all verbs.

    Args:
        only: leave out the verbs of other names; without effect if no verb has this name.

    Returns:
        A parser; its result has ``run``, the verb's function, if a verb was given.
    """
    parser = _Parser(
        prog="fairseq-struct", description="Tools for models with latent discrete structure."
    )
    parser.add_argument("--version", action="version", version=f"fairseq-struct {__version__}")
    verbs = parser.add_subparsers(metavar="VERB")
    # The name of a verb is that of its file, so that no other file needs to be imported.
    named = [name for name in VERBS if name.rpartition(".")[2].replace("_", "-") == only]
    for module_name in named or VERBS:
        verb = importlib.import_module(f"fairseq_struct.cli.{module_name}")
        verb_parser = verbs.add_parser(
            verb.NAME, help=verb.HELP, description=_what_it_does(verb.run),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        verb.add_arguments(verb_parser)
        verb_parser.set_defaults(run=verb.run)
    return parser


def _what_it_does(run: Callable) -> str:
    """The docstring of a verb's function up to its arguments, for ``--help``."""
    text = inspect.getdoc(run) or ""  # python -OO leaves no docstrings
    return re.split(r"\n\n(?:Args|Returns|Raises):", text)[0].replace("``", "")


if __name__ == "__main__":
    sys.exit(main())
