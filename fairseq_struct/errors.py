"""The package's own exceptions: everything a user can put right by changing what they gave us."""

import sys
from types import TracebackType


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


def report_plainly() -> None:
    """Let an uncaught :class:`InputError` end the program with its sentence, not a traceback.

    For programs that are not ours to wrap, such as ``fairseq-train``; every other exception is
    reported as before. Calling it again changes nothing.
    """
    if getattr(sys.excepthook, "reports_plainly", False):
        return
    previous = sys.excepthook

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None):
        if isinstance(error, InputError):
            print(f"error: {error}", file=sys.stderr)
        else:
            previous(kind, error, trace)

    report.reports_plainly = True
    sys.excepthook = report
