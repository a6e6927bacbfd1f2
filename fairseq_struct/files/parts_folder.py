"""A folder that is filled part by part, and goes on after an interruption."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from fairseq_struct.errors import InputError
from fairseq_struct.files.whole_files import whole_file

# Hidden, so that ``FOLDER/*`` are the parts.
MANIFEST, JOURNAL, UNFINISHED = ".manifest.json", ".parts.jsonl", ".unfinished"
LONGEST_SHOWN = 40


class PartsFolder:
    """A folder whose files, its parts, appear one after the other, each of them whole.

    A manifest says how parts are made, and a journal has a record of each finished part. Nothing
    is written, not even the folder, before the first part.

    Args:
        path: the folder; it need not exist.
        made_by: all that parts depend on, as values of JSON.
        say: called with a message before waiting for another process that writes the folder.

    Raises:
        InputError: the folder holds other files, or parts that were made in another way.
    """

    def __init__(
        self, path: Path, made_by: Mapping[str, Any], say: Callable[[str], None] = lambda text: None
    ):
        self.path, self._say = path, say
        self._made_by = json.loads(json.dumps(made_by))
        self._records: dict[str, dict] = {}
        self._lock: int | None = None
        self._begun = False
        if path.is_dir():
            self._take()

    def finished(self, name: str) -> dict | None:
        """The record of a finished part; None if it is to be made."""
        record = self._records.get(name)
        with suppress(OSError):
            if record and (self.path / name).stat().st_size == record["bytes"]:
                return record
        return None

    @contextmanager
    def writing(self, name: str) -> Iterator[tuple[BinaryIO, dict]]:
        """Yield a file and a record to fill; the part appears when the block succeeds.

        Raises:
            InputError: the folder or the part cannot be written.
        """
        self._begin()
        new, record = self.path / UNFINISHED, {}
        with whole_file(new) as file:
            yield file, record
        record = {"part": name, "bytes": new.stat().st_size, **record}
        os.replace(new, self.path / name)
        with open(self.path / JOURNAL, "ab") as journal:
            journal.write(_line(record))
            journal.flush()
            os.fsync(journal.fileno())
        self._records[name] = record

    def end(self, names: Iterable[str]) -> None:
        """Bring the journal into the order of all parts.

        Raises:
            InputError: there is a finished part that is none of them.
        """
        names = list(names)
        if more := sorted(self._records.keys() - set(names)):
            raise InputError(
                f"{self.path / more[0]}: was made of text that the input has no more; "
                "name another folder"
            )
        # An earlier process may have been killed before this, or during it.
        journal, left = self.path / JOURNAL, self.path / f"{JOURNAL}.tmp"
        if left.exists() or (journal.exists() and journal.read_bytes() != self._lines_of(names)):
            self._write_journal(names)

    def close(self) -> None:
        """Let other processes write the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take(self):
        """Wait until no other process writes the folder, then look at what it holds."""
        self._lock = os.open(self.path, os.O_RDONLY)
        try:
            self._wait()
            self._check()
            self._records = {one["part"]: one for one in self._journal()}
        except BaseException:
            self.close()
            raise

    def _wait(self):
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._say(f"waiting for another process that writes {self.path}")
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            pass

    def _check(self):
        try:
            known = json.loads((self.path / MANIFEST).read_bytes())
        except FileNotFoundError:
            # What a process leaves that is killed while it writes the manifest does not count.
            if held := sorted(set(os.listdir(self.path)) - {f"{MANIFEST}.tmp"}):
                raise InputError(
                    f"{self.path}: holds {held[0]}, and no parts of this command; name a new "
                    "folder or an empty one"
                ) from None
            return
        except (OSError, ValueError, RecursionError):
            known = None
        if not isinstance(known, dict):
            raise InputError(f"{self.path / MANIFEST}: is damaged; name another folder")
        for name in {**self._made_by, **known}:
            old, new = known.get(name), self._made_by.get(name)
            if old != new:
                values = f" ({old}, now {new})"
                shown = values if len(values) < LONGEST_SHOWN else ""
                raise InputError(
                    f"{self.path}: its parts were made with another {name}{shown}; name another "
                    "folder"
                )

    def _journal(self) -> Iterator[dict]:
        """The records of the journal, without a last line that was torn."""
        try:
            lines = (self.path / JOURNAL).read_bytes().splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            with suppress(ValueError, LookupError, TypeError, RecursionError):
                record = json.loads(line)
                name, _ = str(record["part"]), record["bytes"] + 0
                # Security: a folder may come from elsewhere.
                if Path(name).name == name and "\0" not in name:
                    yield record

    def _begin(self):
        if self._begun:
            return
        if self._lock is None:
            try:
                self.path.mkdir(exist_ok=True)
            except OSError as error:
                raise InputError(
                    f"{self.path}: cannot be written ({error.strerror or error})"
                ) from None
            self._take()
        with whole_file(self.path / MANIFEST) as file:
            file.write(_line(self._made_by))
        self._write_journal(self._records)
        self._begun = True

    def _write_journal(self, names: Iterable[str]):
        with whole_file(self.path / JOURNAL) as file:
            file.write(self._lines_of(names))

    def _lines_of(self, names: Iterable[str]) -> bytes:
        return b"".join(_line(self._records[name]) for name in names)


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"
