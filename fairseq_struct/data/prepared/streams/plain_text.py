"""Plain text in chunks: one sentence a line, its words separated by single spaces."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import islice

from fairseq_struct.data.prepared.streams.journal import Journal, Part
from fairseq_struct.data.prepared.streams.progress import Progress
from fairseq_struct.errors import InputError
from fairseq_struct.files.reserved_words import RESERVED, refuse_reserved
from fairseq_struct.files.text_lines import TextLines

LINES = 5000  # of a chunk
_RESERVED = frozenset(RESERVED)


class CheckedText:
    """The text of a split, read once to check and to count it; it is never all in memory.

    Args:
        lines: the text.
        split: its name, for messages.
        progress: shows how far the reading is.

    Attributes:
        read: number of lines.
        sentences: number of lines that are not empty.
        tokens: number of words.
        sha256: digest of the sentences.

    Raises:
        InputError: the text has no sentence, is not UTF-8, or contains one of fairseq's own
            symbols as a word.
    """

    def __init__(self, lines: TextLines, split: str, progress: Progress | None = None):
        self._lines, self._split = lines, split
        progress, found = progress or Progress(), hashlib.sha256()
        self.read = self.sentences = self.tokens = 0
        progress.begin(f"reading {split}", None)
        try:
            for chunk in chunks_of(lines):
                for number, line in enumerate(chunk, self.read + 1):
                    words = line.split()
                    if not _RESERVED.isdisjoint(words):
                        refuse_reserved(words, f"{lines.name}:{number}")
                    if words:
                        self.sentences += 1
                        self.tokens += len(words)
                        found.update(f"{' '.join(words)}\n".encode())
                self.read += len(chunk)
                progress.advance(len(chunk))
        finally:
            progress.end()
        if not self.sentences:
            raise InputError(f"{lines.name}: contains no sentence")
        self.sha256 = found.hexdigest()

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of the manifest."""
        empty = self.read - self.sentences
        return {"sentences": self.sentences, "tokens": self.tokens, "empty_lines_left_out": empty}

    def write(self, journal: Journal, name: str, workers: int = 1) -> None:
        """Write the sentences into a file.

        Args:
            journal: of the folder.
            name: of the file in the folder.
            workers: number of processes; the file does not depend on it.

        Raises:
            InputError: the text has changed since it was checked, or a process was killed.
        """
        counts = journal.work(
            f"writing {self._split}", [journal.folder / name], _Cleaner, chunks_of(self._lines),
            workers, self.read,
        )  # fmt: skip
        if (counts["lines"], counts["sentences"]) != (self.read, self.sentences):
            raise InputError(f"{self._lines.name} was changed while it was read")


class _Cleaner:
    """Leaves out empty lines and superfluous white space."""

    def __call__(self, chunk: list[str]) -> Part:
        lines = [" ".join(words) for line in chunk if (words := line.split())]
        text = "".join(f"{line}\n" for line in lines)
        return Part(len(chunk), [text.encode()], {"sentences": len(lines)})


def chunks_of(lines: TextLines) -> Iterator[list[str]]:
    """The lines of a text in chunks."""
    rest = iter(lines)
    while some := list(islice(rest, LINES)):
        yield some
