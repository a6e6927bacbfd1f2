"""Exceptions for errors that a user can fix, and commands that report them in one line."""

import contextlib
import difflib
import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType

# Errors of reading or writing for which Python does not know the name of the file.
OF_STREAMS = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS, errno.EIO}
_NO_FOLDER = "the current folder no longer exists"


class InputError(ValueError):
    """Bad input from the user; the message is one sentence that says what is wrong and where.

    Commands print it as ``error: …`` and exit with status 2. Python users may catch it as a
    ``ValueError``.
    """


class Interrupted(InputError):
    """Work that broke off, and goes on when the same command is given again."""


class DependencyError(InputError, ImportError):
    """A required package is missing, broken or too old.

    It is also an ``ImportError``, because it usually comes from an ``import`` statement.

    Args:
        problem: what is wrong.
        remedy: the exact command that fixes it; appended to the message.
    """

    def __init__(self, problem: str, remedy: str = ""):
        super().__init__(f"{problem}; to fix it: {remedy}" if remedy else problem)
        self.problem = problem
        self.remedy = remedy


class NotFiniteScores(ValueError):
    """Scores that are NaN or +inf, for structured inference."""


class NoTree(ValueError):
    """Scores of arcs of which a sentence can have no tree.

    Args:
        sentence: its number.
    """

    def __init__(self, sentence: int):
        super().__init__(sentence)
        self.sentence = sentence

    def __str__(self) -> str:
        return f"the arcs that sentence {self.sentence} allows (score above -inf) form no tree"


class DamagedCheckpoint(InputError):
    """A file that is not a checkpoint, or is truncated; it requests no unsafe class or function."""


def first_line(error: Exception) -> str:
    """The first line of an error's message, for a message of one line."""
    return (str(error).splitlines() or [""])[0]


@contextlib.contextmanager
def as_input(before: str = "") -> Iterator[None]:
    """Turn a ``ValueError`` of what the block builds from options into an :class:`InputError`.

    Args:
        before: stands before its message, such as the name of an option.

    Raises:
        InputError: the block raises a ``ValueError``; one that is an ``InputError`` stays as it is.
    """
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{before}{error}") from None


def suggestion(word: object, known: Iterable[str], most: int = 1) -> str:
    """``; did you mean 'parse'?`` with the most similar known words; empty if none is similar.

    The dashes of options are not compared: they would make all of them similar.
    """
    bare = {one.lstrip("-"): one for one in reversed(list(known))}
    cutoff = 0.7 if str(word).startswith("-") else 0.6
    close = difflib.get_close_matches(str(word).lstrip("-"), reversed(list(bare)), most, cutoff)
    alike = [bare[one] for one in close]
    return f"; did you mean {' or '.join(map(repr, alike))}?" if alike else ""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> str:
    """The message for an unknown name, with the known names and the most similar one."""
    known = list(known)
    return f"unknown {kind} {name!r}; choose one of {', '.join(known)}{suggestion(name, known)}"


def plain_message(error: BaseException) -> str | None:
    """The message for an error that is not a bug: bad input, an unusable file, no memory.

    None for all other errors: their traceback is useful.
    """
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, OSError) and error.errno is not None:
        if error.filename is not None:
            return f"{os.fsdecode(error.filename)}: {error.strerror}"
        if isinstance(error, FileNotFoundError) and not _is_in_a_folder():
            return _NO_FOLDER
        return f"cannot read or write: {error.strerror}" if error.errno in OF_STREAMS else None
    if out_of_memory(error):
        return " ".join(f"not enough memory ({error})".replace("()", "").split())
    return None


def require_current_folder() -> None:
    """Check that the current folder was not removed.

    Raises:
        InputError: it was.
    """
    if not _is_in_a_folder():
        raise InputError(_NO_FOLDER)


def _is_in_a_folder() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def out_of_memory(error: BaseException) -> bool:
    """Whether an error of Python, numpy or torch means that there is not enough memory."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)


def run_plainly(work: Callable[[], int | None]) -> int:
    """Run a command; print its error in one line if :func:`plain_message` has a message for it.

    Output is flushed before the command counts as successful, because writing to a full disk fails
    only then.

    Args:
        work: the command; it returns its exit status, None for 0.

    Returns:
        The exit status of the command; 2 after a printed error, 130 after Ctrl-C. If the reader of
        the output has closed the pipe (``| head``), this is not an error of a command whose work
        is its output: 0.

    Raises:
        Exception: every error without such a message.
        SystemExit: a ``SystemExit`` of the command.
    """
    status, told, stop = 0, None, None
    try:
        status = work() or 0
    except SystemExit as error:  # from argparse, after --help
        stop = error
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:
        pass
    except Exception as error:
        told = plain_message(error)
        if told is None:
            raise
    finally:
        failed = _flush_output()
    told = told or failed
    if told:
        with contextlib.suppress(OSError):
            print(f"error: {told}", file=sys.stderr)
        return 2
    if stop is not None:
        raise stop
    return status


def report_plainly() -> None:
    """Report an uncaught :class:`InputError` or file error in one line, without a traceback.

    This is for programs of other packages, such as ``fairseq-train``. All other exceptions are
    reported as before. Calling this again has no effect.
    """
    if getattr(sys.excepthook, "reports_plainly", False):
        return
    previous = sys.excepthook

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None):
        told = plain_message(error) if isinstance(error, InputError | OSError) else None
        if told is None:
            previous(kind, error, trace)
        else:
            print(f"error: {told}", file=sys.stderr)

    report.reports_plainly = True
    sys.excepthook = report


def _flush_output() -> str | None:
    """Flush the output; return the message if this fails, and discard the rest of the output."""
    try:
        # The caller may have closed standard output.
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
    except OSError as error:
        # Otherwise the interpreter would flush again at exit, and print its own error.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            return f"standard output: cannot be written ({error.strerror or error})"
    return None
