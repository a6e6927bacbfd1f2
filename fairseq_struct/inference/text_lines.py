"""Lines of a text stream that can report whether the next line is ready."""

from __future__ import annotations

import codecs
import io
import select
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import way_out

_CHUNK = 1 << 16
_MARK = "\ufeff"


def read_lines(stream: Iterable[str] | None) -> Iterator[str]:
    r"""Read lines of text without line ends; for a file or pipe, return :class:`Lines`.

    As in files of training data, a line ends at ``\n`` or ``\r\n`` alone, and a byte-order mark is
    no part of the first one.

    Raises:
        InputError: there is no stream, for example because standard input is closed, or the lines
            are not in the terminal's encoding, usually UTF-8.
    """
    if stream is None:
        raise InputError("there is no input to read: standard input is closed")
    try:
        stream.fileno()
    except (AttributeError, OSError, ValueError):  # decompressed, or in memory: always ready
        if isinstance(stream, io.TextIOWrapper):
            return (line for line in Lines(stream))
        return _plain(stream)
    return Lines(stream)


class Lines(Iterator[str]):
    """Iterator over the lines of an open text file, without line ends.

    It reads below Python's text buffers, because they cannot report whether they hold a line.

    Args:
        stream: an unread stream, such as ``sys.stdin``.
    """

    def __init__(self, stream: io.TextIOWrapper):
        self._bytes = stream.buffer
        decoder = codecs.getincrementaldecoder(stream.encoding)
        self._decoder = decoder(stream.errors or "strict")
        self._lines: deque[str] = deque()
        self._begun: list[str] = []  # parts of an unfinished line
        self._at_start, self._ended = True, False
        self._count = 0  # ends of lines so far

    def __next__(self) -> str:
        """Wait for the next line and return it.

        Raises:
            InputError: as for :func:`read_lines`.
        """
        while not self._lines and not self._ended:
            self._read()
        if not self._lines:
            raise StopIteration
        return self._lines.popleft()

    def ready(self) -> bool:
        """Whether the next line, or the end, can be read without waiting.

        Raises:
            InputError: as for :func:`read_lines`.
        """
        while not self._lines and not self._ended and select.select([self._bytes], [], [], 0)[0]:
            self._read()
        return bool(self._lines) or self._ended

    def _read(self):
        try:
            chunk = self._bytes.read1(_CHUNK)
        except OSError as error:
            raise InputError(f"the input cannot be read ({error.strerror or error})") from None
        self._ended = not chunk
        try:
            text = self._decoder.decode(chunk, final=self._ended)
            text.encode()  # with some locales, Python decodes invalid bytes without an error
        except UnicodeError as error:
            raise _no_text(error, self._count) from None
        self._count += text.count("\n")
        if self._at_start and text:
            text, self._at_start = text.removeprefix(_MARK), False
        part, *others = text.split("\n")
        self._begun.append(part)
        for other in others:
            self._lines.append("".join(self._begun).removesuffix("\r"))
            self._begun = [other]
        if self._ended and any(self._begun):
            self._lines.append("".join(self._begun).removesuffix("\r"))


@dataclass(frozen=True)
class LinesFrom:
    """Some consecutive lines of a longer text; tools number them as in that text.

    Attributes:
        lines: lines of text without line ends.
        first: number of the first of them in the text, from 1.
    """

    lines: Sequence[str]
    first: int = 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.lines)


def _plain(stream: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(stream):
        try:
            line.encode()
        except UnicodeError as error:
            raise _no_text(error, number) from None
        line = line if number else line.removeprefix(_MARK)
        yield line.removesuffix("\n").removesuffix("\r")


def _no_text(error: UnicodeDecodeError | UnicodeEncodeError, before: int) -> InputError:
    """The error for text that is not in the encoding, after some lines."""
    given, start = error.object, error.start
    line = before + given[:start].count("\n" if isinstance(given, str) else b"\n") + 1
    # Python keeps a byte that it cannot decode in the last eight bits of a character.
    byte = ord(given[start]) & 0xFF if isinstance(given, str) else given[start]
    told = f"line {line} of the input is not {error.encoding} (byte 0x{byte:02x})"
    first = bytes(ord(one) & 0xFF for one in given[:2]) if isinstance(given, str) else given[:2]
    return InputError(told + (way_out(first) if line == 1 else ""))
