"""Output of commands whose work is a folder: it goes on when nobody reads what they say."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO


class LastingOutput:
    """A text file; once the reader of its pipe has gone, what is written is lost without an error.

    Args:
        file: open for writing.
    """

    def __init__(self, file: TextIO):
        self._file = file

    def write(self, text: str) -> int:
        """Write as the file does."""
        with self._to_nobody():
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush as the file does."""
        with self._to_nobody():
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self.flush()
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    @contextlib.contextmanager
    def _to_nobody(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._file.fileno())
            os.close(null)


@contextlib.contextmanager
def lasting_output() -> Iterator[None]:
    """Within it, printing to a pipe without a reader (``| head``) does not end the command."""
    if sys.stdout is None:  # closed from the beginning: print writes nothing
        yield
        return
    with contextlib.redirect_stdout(LastingOutput(sys.stdout)):
        yield
        sys.stdout.flush()
