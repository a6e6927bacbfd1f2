"""What a preparation has finished, so that the same command goes on after a kill.

A preparation is a sequence of stages. A stage turns items, chunks of lines, into the bytes of some
files, in order. After every item the journal says how many items are finished, how long the files
are, and what was counted. A run that goes on cuts the files to these lengths and leaves out the
finished items. The journal and files that only the work needs lie in a folder of their own within
the staging folder, which is removed at the end.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from fairseq_struct.data.prepared.streams.in_order import in_order
from fairseq_struct.data.prepared.streams.progress import Progress

Item = TypeVar("Item")
FOLDER = ".journal"
_FILE = "journal.json"
# Bytes of counts that a process sums, and of those that it has as words: a word needs ten times as
# many as its letters.
_BLOCK, _AT_ONCE = 1 << 22, 1 << 18


@dataclass(frozen=True)
class Part:
    """What the work makes of an item.

    Attributes:
        lines: number of lines of the item.
        texts: bytes to append to each file of the stage.
        counts: what to add to the numbers of the stage.
    """

    lines: int
    texts: Sequence[bytes]
    counts: Mapping[str, int] = field(default_factory=dict)


def key_of(determines: Mapping[str, Any]) -> str:
    """The key of a journal: equal for runs of which one may go on with the other's files.

    Args:
        determines: everything that determines the files, as JSON can write it.
    """
    return hashlib.sha256(json.dumps(determines, sort_keys=True).encode()).hexdigest()


class Journal:
    """The journal of a staging folder; it goes on where one with the same key ended.

    Args:
        folder: the staging folder, in which the preparation writes its files.
        key: of the preparation, from :func:`key_of`.
        progress: shows how far each stage is.
    """

    def __init__(self, folder: Path, key: str, progress: Progress | None = None):
        self.folder, self.scratch = folder, folder / FOLDER
        self.progress = progress or Progress()
        self._path = self.scratch / _FILE
        self._stages: dict[str, dict] = _stages(folder, key) or {}
        self._key = key
        self.scratch.mkdir(exist_ok=True)

    @property
    def begun(self) -> bool:
        """Whether an item or a step is finished, possibly by an earlier run."""
        return bool(self._stages)

    def work(
        self, name: str, files: Sequence[Path], prepare: Callable[[], Callable[[Item], Part]],
        items: Iterable[Item], workers: int = 1, total: int | None = None,
    ) -> Counter[str]:
        """Do the items of a stage that are not finished, and return the numbers of the stage.

        Args:
            name: of the stage, unique.
            files: what the stage writes.
            prepare: makes the function that does an item; called once in each process.
            items: all of them, always the same.
            workers: number of processes; the files do not depend on it.
            total: number of lines of all items, to show how far it is.

        Returns:
            The sums of all counts; ``lines`` is the number of lines.

        Raises:
            InputError: as for :func:`~fairseq_struct.data.prepared.streams.in_order.in_order`.
            Exception: what reading or doing an item raises.
        """
        if not self.finished(name):
            with ExitStack() as stack:
                entry = self._entry(name)
                names = [str(path.relative_to(self.folder)) for path in files]
                opened = {
                    own: stack.enter_context(_cut(self.folder / own, entry["sizes"].get(own, 0)))
                    for own in names
                }
                stack.callback(self.progress.end)
                self.progress.begin(name, total, entry["counts"].get("lines", 0))
                for part in in_order(prepare, _after(items, entry["items"]), workers):
                    _append(opened.values(), part.texts)
                    self._add(name, part, {own: file.tell() for own, file in opened.items()})
            self.finish(name)
        return self.counts(name)

    def counted(
        self, name: str, count: Callable[[], Callable[[Item], tuple[int, Sequence[Counter]]]],
        items: Iterable[Item], sums: int, workers: int = 1, total: int | None = None,
    ) -> list[Counter[str]]:
        """Sum what is counted in the items of a stage.

        The counts of every item stand in files of the journal, because sums of all would have to
        be written again after each.

        Args:
            name: of the stage.
            count: makes the function that returns the number of lines of an item, and what it has
                counted: words without white space.
            items: all of them, always the same.
            sums: number of counters of an item.
            workers: number of processes.
            total: number of lines of all items.

        Returns:
            The sums of the first counters, of the second ones, and so on.
        """
        stem = hashlib.sha256(name.encode()).hexdigest()[:16]
        files = [self.scratch / f"{stem}.{number}" for number in range(sums)]
        self.work(name, files, _Spooled(count), items, workers, total)
        return [_summed(file, workers) for file in files]

    def finished(self, name: str) -> bool:
        """Whether a stage or a step is finished."""
        return self._stages.get(name, {}).get("finished", False)

    def counts(self, name: str) -> Counter[str]:
        """The numbers of a stage; ``lines`` is the number of lines."""
        return Counter(self._stages[name]["counts"])

    def finish(self, name: str) -> None:
        """Note that a stage is finished, or a step without items."""
        self._entry(name)["finished"] = True
        self._save()

    def _entry(self, name: str) -> dict[str, Any]:
        new = {"items": 0, "sizes": {}, "counts": {}, "finished": False}
        return self._stages.setdefault(name, new)

    def _add(self, name: str, part: Part, sizes: dict[str, int]) -> None:
        entry = self._stages[name]
        counts = Counter(entry["counts"])
        counts.update({"lines": part.lines, **part.counts})
        self._stages[name] = {**entry, "items": entry["items"] + 1, "sizes": sizes,
                              "counts": dict(counts)}  # fmt: skip
        self._save()
        self.progress.advance(part.lines)

    def _save(self) -> None:
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps({"key": self._key, "stages": self._stages}), encoding="utf-8")
        os.replace(new, self._path)


def has_journal(folder: Path, key: str) -> bool:
    """Whether a folder holds a journal with this key, in which something is finished."""
    return bool(_stages(folder, key))


class _Spooled:
    """Makes a function that counts one that writes what it counted."""

    def __init__(self, count: Callable[[], Callable[[Item], tuple[int, Sequence[Counter]]]]):
        self.count = count

    def __call__(self) -> Callable[[Item], Part]:
        count = self.count()

        def part(item: Item) -> Part:
            lines, counters = count(item)
            texts = ("".join(f"{word} {n}\n" for word, n in one.items()) for one in counters)
            return Part(lines, [text.encode() for text in texts])

        return part


def _summed(path: Path, workers: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for counts in in_order(_Adder, _blocks(path), workers):
        found.update(counts)
    return found


class _Adder:
    """Sums what stands in a block of lines, a word and a count each."""

    def __call__(self, block: bytes) -> Counter[str]:
        found: Counter[str] = Counter()
        lines = io.BytesIO(block)
        while some := lines.readlines(_AT_ONCE):
            words = b"".join(some).decode().split()  # word, count, word, count, …
            for word, count in zip(words[::2], map(int, words[1::2]), strict=True):
                found[word] = found.get(word, 0) + count
        return found


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block + file.readline()


def _after(items: Iterable[Item], finished: int) -> Iterator[Item]:
    for number, item in enumerate(items):
        if number >= finished:
            yield item


def _cut(path: Path, size: int) -> BinaryIO:
    """Open a file to write on after its first bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("r+b" if size else "wb")
    file.truncate(size)
    file.seek(size)
    return file


def _append(files: Collection[BinaryIO], texts: Sequence[bytes]) -> None:
    for file, text in zip(files, texts, strict=True):
        file.write(text)
    for file in files:
        file.flush()  # to the kernel, which writes it also after a kill


def _stages(folder: Path, key: str) -> dict[str, dict] | None:
    """What a journal with this key holds; None if there is none, or files are shorter than told."""
    try:
        content = json.loads((folder / FOLDER / _FILE).read_text(encoding="utf-8"))
        stages = content["stages"] if content["key"] == key else {}
        files = [item for stage in stages.values() for item in stage["sizes"].items()]
        whole = all((folder / name).stat().st_size >= size for name, size in files)
        return stages if whole else None
    except (OSError, ValueError, LookupError, TypeError):
        return None
