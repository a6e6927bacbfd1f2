"""All output of this process and of those that it starts into a log, with the screen kept apart."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

# Seconds between two looks at a growing file.
PAUSE = 0.2


class CapturedOutput:
    """Standard output and errors go to a temporary file, and from :meth:`log_to` on to a log.

    Use it as a context manager. The redirection is that of the file descriptors, because C
    libraries and further processes write to them, too.

    Attributes:
        out, errors: the screen, to write to.
    """

    def __enter__(self):
        _flush()
        self.kept = os.dup(1), os.dup(2)
        self.out, self.errors = (os.fdopen(os.dup(one), "w") for one in self.kept)
        self._early = tempfile.TemporaryFile()
        self._to(self._early.fileno())
        return self

    def __exit__(self, *_):
        _flush()
        for descriptor, kept in zip((1, 2), self.kept, strict=True):
            os.dup2(kept, descriptor)
            os.close(kept)
        for file in (self.out, self.errors, self._early):
            file.close()

    def log_to(self, path: Path) -> None:
        """Append what was written so far to a file, and everything from now on."""
        _flush()
        with path.open("ab") as log:
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


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
