"""All output of this process and of those that it starts into a log, with the screen kept apart."""

from __future__ import annotations

import fcntl
import logging
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from fairseq_struct.cli.shared.lasting_output import LastingOutput
from fairseq_struct.errors import InputError

# Seconds between two looks at a growing file.
PAUSE = 0.2


class InUse(InputError):
    """Another process writes to the log."""


class CapturedOutput:
    """Standard output and errors go to a temporary file, and from :meth:`log_to` on to a log.

    Use it as a context manager. The redirection is that of the file descriptors, because C
    libraries and further processes write to them, too.

    Attributes:
        out, errors: the screen, to write to; what cannot be shown there any more is lost.
    """

    def __enter__(self):
        _open_closed_ones()
        _flush()
        self.kept = os.dup(1), os.dup(2)
        self.out, self.errors = (
            # A path may have characters that the screen has not.
            LastingOutput(os.fdopen(os.dup(one), "w", errors="backslashreplace"))
            for one in self.kept
        )
        self._early = tempfile.TemporaryFile()
        self._lock: int | None = None
        self._to(self._early.fileno())
        return self

    def __exit__(self, *_):
        _flush()
        for descriptor, kept in zip((1, 2), self.kept, strict=True):
            os.dup2(kept, descriptor)
            os.close(kept)
        for file in (self.out, self.errors, self._early):
            file.close()
        if self._lock is not None:
            _locks.discard(self._lock)
            os.close(self._lock)

    def tell(self, *lines: str) -> None:
        """Print lines on the screen, at once."""
        for line in lines:
            print(line, file=self.out, flush=True)

    def log_to(self, path: Path, alone: bool = False) -> None:
        """Append what was written so far to a file, and everything from now on.

        Args:
            path: the file.
            alone: keep it locked until the end of the block.

        Raises:
            InUse: another process has locked it.
        """
        _flush()
        with path.open("ab") as log:
            if alone:
                self._lock = _locked(path)
            self._early.seek(0)
            log.write(self._early.read())
            log.flush()
            self._to(log.fileno())

    def _to(self, target: int) -> None:
        for descriptor in (1, 2):
            os.dup2(target, descriptor)


def lines_as_written(path: Path, begin: int, ended: threading.Event) -> Iterator[str]:
    """The lines of a file that others write to, until they have ended.

    Args:
        path: the file; it may not exist yet.
        begin: number of bytes to leave out.
        ended: set when nothing more will be written.
    """
    rest = b""
    while True:
        last_look = ended.wait(PAUSE)
        if path.exists():
            with path.open("rb") as file:
                file.seek(begin)
                added = file.read()
            begin += len(added)
            *lines, rest = (rest + added).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)
        if last_look:
            return


# Open files that hold a lock. Forked children close them, as a lock lasts until all have: workers
# that load data outlive a killed training by some seconds, in which it may be started again.
_locks: set[int] = set()


def _locked(path: Path) -> int:
    """A descriptor of the file, which holds a lock on it if the file system has locks."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InUse(f"another training runs in {path.parent}") from None
    except OSError as error:
        logging.getLogger(__name__).info("%s is not locked: %s", path, error)
    _locks.add(descriptor)
    return descriptor


def _leave_locks() -> None:
    while _locks:
        os.close(_locks.pop())


os.register_at_fork(after_in_child=_leave_locks)


def _open_closed_ones() -> None:
    """Give the process the standard streams that it was started without (``>&-``)."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_WRONLY)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, os.fdopen(number, "w", closefd=False))


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
