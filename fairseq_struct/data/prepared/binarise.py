"""fairseq's binarised text: what ``fairseq-preprocess`` writes, byte for byte, chunk by chunk.

A dictionary has the words of the training split, the most frequent ones first and equally frequent
ones in alphabetical order, and as many ``madeupword`` entries as make its size a multiple of eight.
A split is a file of the words' numbers and an index of the sentences' sizes and places, the format
``mmap`` of fairseq.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from fairseq_struct.data.prepared.streams.journal import Journal, Part
from fairseq_struct.errors import InputError

SPLITS = ("train", "valid", "test")
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
LINES = 5000  # of a chunk
_END, _UNKNOWN = 2, 3
_MULTIPLE = 8
_SIZES = 1 << 20  # of sentences, read at once for the index


@dataclass(frozen=True)
class Side:
    """Text of one language and its names in a folder of data.

    Attributes:
        text: path of a split's text, one sentence a line, with ``{}`` for the split.
        data: name of a split's binarised text, without its ending, with ``{}`` for the split.
        dictionary: name of the dictionary.
    """

    text: str
    data: str
    dictionary: str


def data_folders(shards: int) -> list[str]:
    """Names of the folders of data.

    Args:
        shards: number of parts of the training split.
    """
    return ["data-bin"] if shards == 1 else [f"data-bin{shard}" for shard in range(shards)]


def binarise(
    journal: Journal, sides: Sequence[Side], *, joined: bool = False, workers: int = 1,
    shards: int = 1,
) -> None:  # fmt: skip
    """Turn the text of a staging folder into ``data-bin``, or ``data-bin0``, ``data-bin1``, ….

    Of several folders, each has the dictionaries and a run of the training lines, all of about the
    same number; the first has the other splits, too.

    Args:
        journal: of the staging folder.
        sides: one for each language.
        joined: make one dictionary for all sides.
        workers: number of processes; the files do not depend on it.
        shards: number of folders.

    Raises:
        InputError: there are more shards than training lines, or a process was killed.
    """
    folders = [journal.folder / name for name in data_folders(shards)]
    lines = _count(journal, sides, folders, joined, workers)
    if lines < shards:
        raise InputError(f"--shards {shards}: only {lines} lines are left for training")
    for side in sides:
        text = journal.folder / side.text.format("train")
        for shard, folder in enumerate(folders):
            first, last = (lines * place // shards for place in (shard, shard + 1))
            _write(journal, text, folder, side, "train", (first, last), workers)
        for split in SPLITS[1:]:
            text = journal.folder / side.text.format(split)
            _write(journal, text, folders[0], side, split, (0, _lines_of(text)), workers)


def dictionary_size(data_bin: Path, name: str) -> int:
    """Return the number of entries of a dictionary file, without fairseq's special symbols.

    Args:
        data_bin: first folder made by ``binarise``.
        name: the dictionary's name.
    """
    text = (data_bin / name).read_text(encoding="utf-8")
    entries = (line for line in text.split("\n") if line)
    # fairseq pads its dictionaries to a multiple of eight with "madeupword" entries.
    return sum(not entry.startswith("madeupword") for entry in entries)


def dictionary_of(counts: Counter[str]) -> list[tuple[str, int]]:
    """The entries of fairseq's dictionary, without its special symbols.

    Args:
        counts: how often each word occurs in the training split.
    """
    words = ((word, n) for word, n in counts.items() if word not in SPECIAL)
    entries = sorted(words, key=lambda entry: (-entry[1], entry[0]))
    number = 0
    while (len(entries) + len(SPECIAL)) % _MULTIPLE:
        word = f"madeupword{number:04d}"
        if word not in counts:  # otherwise it is an entry already
            entries.append((word, 0))
        number += 1
    return entries


def _count(
    journal: Journal, sides: Sequence[Side], folders: Sequence[Path], joined: bool, workers: int
) -> int:
    """Write the dictionaries into all folders; return the number of training lines."""
    counts = []
    for side in sides:
        path = journal.folder / side.text.format("train")
        name = f"counting the words of {path.name}"
        chunks = _chunks(path, 0, None)
        if not journal.finished("dictionaries"):
            counts += journal.counted(name, _WordCounter, chunks, 1, workers, _lines_of(path))
        lines = journal.counts(name)["lines"]
    if not journal.finished("dictionaries"):
        if joined:
            counts = [sum(counts, Counter())] * len(sides)
        for side, own in zip(sides, counts, strict=True):
            text = "".join(f"{word} {count}\n" for word, count in dictionary_of(own))
            for folder in folders:
                folder.mkdir(exist_ok=True)
                (folder / side.dictionary).write_text(text, encoding="utf-8")
        journal.finish("dictionaries")
    return lines


class _WordCounter:
    """Counts the words of chunks of lines."""

    def __call__(self, chunk: bytes) -> tuple[int, list[Counter[str]]]:
        return chunk.count(b"\n"), [Counter(chunk.decode().split())]


class _Numberer:
    """Turns chunks of lines into numbers.

    Args:
        dictionary: its file.
    """

    def __init__(self, dictionary: Path):
        lines = dictionary.read_text(encoding="utf-8").split("\n")[:-1]
        words = [*SPECIAL, *(line.rpartition(" ")[0] for line in lines)]
        self._numbers = {word: number for number, word in enumerate(words)}
        self._type = _type_of(len(words))

    def __call__(self, chunk: bytes) -> Part:
        """The numbers and the sizes of the lines of a chunk, as bytes."""
        find, numbers, sizes = self._numbers.get, [], []
        for line in chunk.decode().split("\n")[:-1]:
            words = line.split()
            numbers += [find(word, _UNKNOWN) for word in words]
            numbers.append(_END)
            sizes.append(len(words) + 1)
        texts = (np.array(numbers, self._type), np.array(sizes, np.int32))
        return Part(len(sizes), [text.tobytes() for text in texts])


def _write(
    journal: Journal, text: Path, folder: Path, side: Side, split: str,
    lines: tuple[int, int], workers: int,
) -> None:  # fmt: skip
    """Write some lines of a split into a folder of data."""
    dictionary, stem = folder / side.dictionary, folder / side.data.format(split)
    name = f"{folder.name}/{stem.name}"
    sizes = journal.scratch / f"{folder.name}.{stem.name}.sizes"
    first, last = lines
    journal.work(
        name, [stem.with_name(f"{stem.name}.bin"), sizes], partial(_Numberer, dictionary),
        _chunks(text, first, last), workers, last - first,
    )  # fmt: skip
    if not journal.finished(f"{name}.idx"):
        with dictionary.open("rb") as file:
            kind = _type_of(len(SPECIAL) + sum(1 for _ in file))
        _write_index(stem.with_name(f"{stem.name}.idx"), sizes, kind)
        journal.finish(f"{name}.idx")


def _write_index(path: Path, sizes: Path, kind: type[np.integer]) -> None:
    """Write the index of a file of numbers from the sizes of its sentences, as bytes of int32."""
    count = sizes.stat().st_size // 4
    code = {np.uint16: 8, np.uint32: 9}[kind]  # fairseq's numbers of types
    with path.open("wb") as file:
        file.write(b"MMIDIDX\x00\x00" + struct.pack("<QBQ", 1, code, count))
        for some in _sizes(sizes):
            file.write(some.tobytes())
        place = 0
        for some in _sizes(sizes):
            ends = place + np.cumsum(some, dtype=np.int64) * kind().itemsize
            file.write(np.concatenate(([place], ends[:-1])).astype(np.int64).tobytes())
            place = int(ends[-1])


def _sizes(path: Path) -> Iterator[np.ndarray]:
    with path.open("rb") as file:
        while some := file.read(4 * _SIZES):
            yield np.frombuffer(some, np.int32)


def _type_of(words: int) -> type[np.integer]:
    return np.uint16 if words < 65500 else np.uint32


def _lines_of(path: Path) -> int:
    with path.open("rb") as file:
        return sum(some.count(b"\n") for some in iter(partial(file.read, 1 << 20), b""))


def _chunks(path: Path, first: int, last: int | None) -> Iterable[bytes]:
    """Lines of a file, from the first on and before the last, in chunks."""
    with path.open("rb") as file:
        lines = islice(file, first, last)
        while some := b"".join(islice(lines, LINES)):
            yield some
