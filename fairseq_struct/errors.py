"""What a user can put right: our own exceptions, and commands that tell it in one line."""

import contextlib
import difflib
import errno
import os
import sys
from collections.abc import Callable, Iterable
from types import TracebackType

# What stops a program that reads or writes without Python knowing the name of the file.
OF_STREAMS = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS, errno.EIO}


class InputError(ValueError):
    """Bad input from the user; the message is one sentence saying what is wrong and where.

    Commands print it as ``error: …`` and exit with status 2; Python users may catch it as the
    ``ValueError`` it is.
    """


class DependencyError(InputError, ImportError):
    """A package this one builds on is missing, broken or too old.

    It is an ``ImportError`` as well, because it usually surfaces from an ``import`` statement.

    Args:
        problem: what is wrong.
        remedy: the exact line that mends it; appended to the message.
    """

    def __init__(self, problem: str, remedy: str = ""):
        super().__init__(f"{problem}; to mend it: {remedy}" if remedy else problem)
        self.problem = problem
        self.remedy = remedy


class DamagedCheckpoint(InputError):
    """A file that is no checkpoint, or one that was cut short; nothing in it asks for trust."""


def suggestion(word: object, known: Iterable[str]) -> str:
    """``; did you mean 'parse'?`` for the known word that is most like this one, or nothing."""
    alike = difflib.get_close_matches(str(word), list(known), n=1)
    return f"; did you mean {alike[0]!r}?" if alike else ""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> str:
    """What to say of a name that is none of the known ones: which they are, and the most alike."""
    known = list(known)
    return f"unknown {kind} {name!r}; choose one of {', '.join(known)}{suggestion(name, known)}"


def plain_message(error: BaseException) -> str | None:
    """What to say of an error that is no bug of ours: bad input, an unusable file, no memory.

    None for every other one, whose traceback is of use.
    """
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, OSError) and error.errno is not None:
        if error.filename is not None:
            return f"{os.fsdecode(error.filename)}: {error.strerror}"
        return f"cannot read or write: {error.strerror}" if error.errno in OF_STREAMS else None
    if out_of_memory(error):
        return " ".join(f"not enough memory ({error})".replace("()", "").split())
    return None


def out_of_memory(error: BaseException) -> bool:
    """Whether an error of Python, numpy or torch says that there is not enough memory."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)


def run_plainly(work: Callable[[], int | None]) -> int:
    """Run a command, and end it in one line where :func:`plain_message` has one to say.

    Output counts as written only once it is flushed: to a full disk, that is where it fails.

    Args:
        work: the command; it returns its exit status, None for 0.

    Returns:
        That status; 2 after an error that was told, 130 after Ctrl-C. Whoever read our output and
        went away (``| head``) has seen enough: 0.

    Raises:
        Exception: every error that is none of the user's.
        SystemExit: the command's own.
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
    """Let an uncaught :class:`InputError` end the program with its sentence, not a traceback.

    For programs that are not ours to wrap, such as ``fairseq-train``; so do files that cannot be
    read or written. Every other exception is reported as before. Calling it again changes nothing.
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
    """Write what waits to be written; what cannot be goes nowhere, and why is returned."""
    try:
        # Where the caller has closed it, there is none.
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
    except OSError as error:
        # Or the interpreter would try once more at its end, and complain in its own way.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return None if isinstance(error, BrokenPipeError) else plain_message(error)
    return None
