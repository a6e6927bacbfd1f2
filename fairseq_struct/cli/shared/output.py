"""Where verbs for trained models read and write: input, output file, progress, summary."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")
_CHUNK = 1 << 20


def add_output_options(parser: argparse.ArgumentParser, one: str):
    """Add ``--output``, ``--json`` and ``--quiet``.

    Args:
        parser: the verb's parser.
        one: what a JSON object has, for the help.
    """
    parser.add_argument(
        "--output", type=Path, metavar="FILE",
        help="write to FILE, which appears when all is done (default: standard output)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help=f"write one JSON object a line: {one}")
    parser.add_argument("--quiet", action="store_true", help="no summary and no progress bar")


@contextmanager
def written(path: Path | None) -> Iterator[Callable[[str], None]]:
    """Yield a function that writes text: to a file, which appears when the block succeeds, or out.

    Args:
        path: the file; None for standard output, where text appears at once.

    Raises:
        InputError: the file cannot be written.
    """
    if path is None:
        yield lambda text: print(text, end="", flush=True)
        return
    from fairseq_struct.files.whole_files import whole_file

    with whole_file(path) as file:
        yield lambda text: file.write(text.encode())


def with_progress(items: Iterable[Item], quiet: bool, output: Path | None = None) -> Iterable[Item]:
    """The same results, with a bar on standard error if that is a terminal and the input a file.

    Args:
        items: a result for each line of standard input.
        quiet: show no bar.
        output: the file that is written; without one, a bar would break into output on a terminal.
    """
    shown = sys.stderr is not None and sys.stderr.isatty()
    mixed = output is None and sys.stdout is not None and sys.stdout.isatty()
    total = lines_ahead(sys.stdin) if shown and not mixed and not quiet else None
    if total is None:
        return items
    from tqdm import tqdm

    return tqdm(items, total=total, unit="line")


def lines_ahead(stream) -> int | None:
    """Number of unread lines of a file that is open as a stream; None if it is no file."""
    try:
        number = stream.fileno()
        if not stat.S_ISREG(os.fstat(number).st_mode):
            return None
        place, count, last = os.lseek(number, 0, os.SEEK_CUR), 0, b"\n"
    except (AttributeError, OSError, ValueError):
        return None
    while chunk := os.pread(number, _CHUNK, place):
        count, place, last = count + chunk.count(b"\n"), place + len(chunk), chunk[-1:]
    return count + (last != b"\n")


def say(args: argparse.Namespace, message: str):
    """Print a summary on standard error, unless ``--quiet`` is given."""
    if not args.quiet:
        print(message, file=sys.stderr)
