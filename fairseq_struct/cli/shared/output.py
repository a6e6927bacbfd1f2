"""Where verbs for trained models read and write: input, output file, progress, summary."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.files.compressed_files import ENDINGS

_CHUNK = 1 << 20


def add_output_options(parser: argparse.ArgumentParser, one: str):
    """Add ``--output``, ``--json`` and ``--quiet``.

    Args:
        parser: the verb's parser.
        one: what a JSON object has, for the help.
    """
    parser.add_argument(
        "--output", action=_Output, metavar="FILE",
        help="write to FILE, which appears when all is done, or into a folder (one that exists, or "
        "a name that ends in /), whose files appear one by one, and which the same command goes on "
        "filling where it was stopped (default, and for -: standard output)",
    )  # fmt: skip
    parser.set_defaults(folder=None)
    parser.add_argument("--json", action="store_true", help=f"write one JSON object a line: {one}")
    parser.add_argument("--quiet", action="store_true", help="no summary and no progress bar")


class _Output(argparse.Action):
    """Stores ``output``, a file, or ``folder``; the other one is None, both for ``-``."""

    def __call__(self, parser, namespace, values, option_string=None):
        if not values:
            raise InputError("--output '': name a file or a folder, or - for standard output")
        path = None if values == "-" else Path(values)
        is_folder = path is not None and (values.endswith(os.sep) or path.is_dir())
        if not is_folder:
            _refuse_compressed(option_string, values)
        namespace.output, namespace.folder = (None, path) if is_folder else (path, None)


class WrittenFile(argparse.Action):
    """Stores the path of a file to write; refuses what names a folder or standard output."""

    def __call__(self, parser, namespace, values, option_string=None):
        if values in ("", "-") or values.endswith(os.sep):
            raise InputError(f"{option_string} {values!r}: name a file to write")
        _refuse_compressed(option_string, values)
        setattr(namespace, self.dest, Path(values))


def _refuse_compressed(option: str | None, name: str):
    if name.endswith(ENDINGS):
        raise InputError(f"{option} {name}: it would not be compressed; leave the ending out")


@contextmanager
def written(path: Path | None) -> Iterator[Callable[[str], None]]:
    """Yield a function that writes text: to a file, which appears when the block succeeds, or out.

    Args:
        path: the file; None for standard output, where text appears at once.

    Raises:
        InputError: the file, or standard output, cannot be written.
    """
    if path is None:
        require_standard_output()
        yield _print
        return
    from fairseq_struct.files.whole_files import whole_file

    with whole_file(path) as file:
        yield lambda text: file.write(text.encode())


def require_standard_output():
    """Check that what is printed is not lost.

    Raises:
        InputError: standard output was closed from the beginning, where printing does nothing.
    """
    if sys.stdout is None:
        raise InputError("there is nothing to write to: standard output is closed")


def _print(text: str):
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"standard output: cannot be written ({error.strerror})") from None
    except UnicodeEncodeError as error:
        raise InputError(
            f"standard output: {error.encoding} has no {error.object[error.start]!r}; "
            "PYTHONIOENCODING=utf-8 has all characters"
        ) from None


@contextmanager
def progress(
    quiet: bool, output: Path | None, ahead: Callable[[], int | None]
) -> Iterator[Callable[[int], object]]:
    """Yield a function that moves a bar on standard error by a number of lines.

    There is a bar if standard error is a terminal and the input a file.

    Args:
        quiet: show no bar.
        output: what is written; without it, a bar would break into output on a terminal.
        ahead: counts the lines of the input.
    """
    total = _total(quiet, output, ahead)
    if total is None:
        yield lambda lines: None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit="line") as bar:
        yield bar.update


def _total(quiet: bool, output: Path | None, ahead: Callable[[], int | None]) -> int | None:
    """Number of lines for a bar; None for no bar."""
    shown = sys.stderr is not None and sys.stderr.isatty()
    mixed = output is None and sys.stdout is not None and sys.stdout.isatty()
    if not shown or mixed or quiet:
        return None
    return ahead()


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
