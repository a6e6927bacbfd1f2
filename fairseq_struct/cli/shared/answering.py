"""How verbs for trained models answer text: line by line, or in chunks and several processes."""

from __future__ import annotations

import multiprocessing
import sys
from abc import ABC, abstractmethod
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from fairseq_struct.cli.shared.identity import identity_of
from fairseq_struct.cli.shared.lasting_output import lasting_output
from fairseq_struct.cli.shared.output import lines_ahead, progress, say, written
from fairseq_struct.cli.shared.paths import require, require_room
from fairseq_struct.cli.shared.text_input import (
    Chunk,
    Part,
    files_of,
    is_compressed,
    named,
    opened,
    parts_of,
)
from fairseq_struct.cli.shared.workers import check_devices, devices_of
from fairseq_struct.data.prepared.streams.in_order import in_order
from fairseq_struct.errors import InputError
from fairseq_struct.files.parts_folder import PartsFolder
from fairseq_struct.inference.text_lines import LinesFrom


class Answers(ABC):
    """What a verb answers to lines; made once in each process, from the command line.

    Attributes:
        totals: numbers for the summary, of all lines so far.
    """

    totals: Counter

    @abstractmethod
    def __call__(self, lines: Iterable[str]) -> Iterator[tuple[str, ...]]:
        """Yield for each line the text for each output file.

        Args:
            lines: the lines; their numbers begin with ``lines.first`` if they have it.
        """

    def ending(self) -> str:
        """Text for the first output file after all lines."""
        return ""


class Answered(NamedTuple):
    """The answers to a chunk.

    Attributes:
        part, digest: as of the chunk.
        lines: number of its lines.
        texts: text for each output file; empty if there are no lines.
        totals: numbers for the summary.
    """

    part: str
    digest: str
    lines: int
    texts: list[str]
    totals: Counter


def check_paths(args: Namespace, *outputs: Path | None, inputs: Iterable[Path | None] = ()):
    """Check input, output and workers before anything heavy is imported.

    Args:
        args: the command line.
        outputs: further output files, beside ``--output``.
        inputs: further files that are read, beside the checkpoint and ``--input``.

    Raises:
        InputError: something does not exist, cannot be written, or does not go together.
    """
    check_devices(args)
    require(either=[args.input])
    require_room(args.output, *outputs, inputs=[args.checkpoint, args.input, *inputs])
    if args.input is not None and args.input.is_dir():
        files_of(args.input)
    if args.folder is not None:
        require(folders=[args.folder.parent, args.folder if args.folder.exists() else None])
        if args.input is not None and args.folder.resolve() in (
            args.input.resolve(), args.input.resolve().parent,
        ):  # fmt: skip
            raise InputError(f"--output {args.folder}: holds the input; name another folder")
    if args.input is not None and args.input.is_dir():
        own = args.input.resolve()
        for path in filter(None, (args.output, args.folder, *outputs)):
            if path.resolve().is_relative_to(own):  # it would be read as input
                raise InputError(f"{path}: lies in the folder of the input; name another place")


def in_one_piece(args: Namespace) -> bool:
    """Whether this process answers line by line, and writes no parts."""
    files = args.input is not None and args.input.is_dir()
    return len(devices_of(args)) == 1 and args.folder is None and not files


def require_one_piece(args: Namespace, option: str):
    """Check that an option that needs all lines at once is not used with several processes.

    Raises:
        InputError: there are several, or folders as input or output.
    """
    if not in_one_piece(args):
        raise InputError(f"{option} is for one process, without folders as --input or --output")


def answer(
    args: Namespace, verb: str, make: Callable[[Namespace], Answers], *outputs: Path,
    given: Iterable | None = None,
) -> Counter:  # fmt: skip
    """Answer the input, and return the numbers for the summary.

    Args:
        args: the command line.
        verb: the name of the verb.
        make: makes what answers, a class of a module.
        outputs: further output files, beside ``--output``.
        given: what is answered in place of the input, in this process.

    Raises:
        InputError: a line, the model or an option cannot be used; what stands on standard output or
            is a finished part stays.
    """
    if args.folder is None:
        # A reader that has seen enough of standard output ends no other file.
        with lasting_output() if outputs else nullcontext():
            if in_one_piece(args):
                return _line_by_line(args, make, outputs, given)
            return _in_chunks(args, make, outputs)
    place = PartsFolder(args.folder, identity_of(args, verb), partial(say, args))
    with closing(place):
        return _into_parts(args, make, place)


def _line_by_line(
    args: Namespace, make: Callable, outputs: Iterable[Path], given: Iterable | None
) -> Counter:
    answers = _Process(make, args).answers
    with ExitStack() as stack:
        if given is None:
            every = answers(stack.enter_context(opened(args.input)))
            seen = stack.enter_context(progress(args.quiet, args.output, partial(_ahead, args)))
        else:
            every, seen = answers(given), lambda lines: None
        writes = [stack.enter_context(written(path)) for path in (args.output, *outputs)]
        for texts in every:
            for write, text in zip(writes, texts, strict=True):
                write(text)
            seen(1)
        writes[0](answers.ending())
    return answers.totals


def _in_chunks(args: Namespace, make: Callable, outputs: Iterable[Path]) -> Counter:
    totals: Counter = Counter()
    with ExitStack() as stack:
        seen = stack.enter_context(progress(args.quiet, args.output, partial(_ahead, args)))
        chunks = (chunk for part in parts_of(args.input) for chunk in part.chunks())
        found = stack.enter_context(closing(_answered(args, make, chunks)))
        writes = [stack.enter_context(written(path)) for path in (args.output, *outputs)]
        for one in found:
            for write, text in zip(writes, one.texts, strict=bool(one.texts)):
                write(text)
            totals.update(one.totals)
            seen(one.lines)
    return totals


def _into_parts(args: Namespace, make: Callable, place: PartsFolder) -> Counter:
    totals, names = Counter(), []
    with progress(args.quiet, args.folder, partial(_ahead, args)) as seen:

        def chunks() -> Iterator[Chunk]:
            for part in parts_of(args.input):
                names.append(part.name)
                record = place.finished(part.name)
                if record is None:
                    yield from part.chunks()
                    continue
                _require_same_text(part, record, place)
                totals.update(record["totals"])
                seen(record["lines"])

        with closing(_answered(args, make, chunks())) as found:
            for one in found:
                totals.update(_write_part(place, one, found, seen))
    place.end(names)
    return totals


def _require_same_text(part: Part, record: dict, place: PartsFolder):
    for last in part.chunks():  # noqa: B007 - the last of them has the digest
        pass
    if last.digest != record.get("input"):
        raise InputError(
            f"{place.path / part.name}: was made of other text; name another folder"
        )


def _write_part(
    place: PartsFolder, one: Answered, found: Iterator[Answered], seen: Callable[[int], None]
) -> Counter:
    """Write the part that begins with an answered chunk, and return its numbers."""
    totals, lines, ended = Counter(), 0, False
    with place.writing(one.part) as (file, record):
        while not ended:
            file.write("".join(one.texts).encode())
            totals.update(one.totals)
            lines, ended = lines + one.lines, bool(one.digest)
            seen(one.lines)
            if not ended:
                one = next(found)
        record.update(input=one.digest, lines=lines, totals=totals)
    return totals


def _answered(args: Namespace, make: Callable, chunks: Iterator[Chunk]) -> Iterator[Answered]:
    """The answers to chunks, in order; no model is loaded if there is no chunk."""
    first = next(chunks, None)
    if first is None:
        return
    devices = devices_of(args)
    if len(devices) > 1 and set(devices) <= {None, "cpu"}:
        # Processes share what is imported here. A GPU must not be touched before they begin.
        from fairseq_struct.inference.loading import import_user_dir

        import_user_dir(args.user_dir)
    places = multiprocessing.SimpleQueue()
    for device in devices:
        places.put(device)
    yield from in_order(partial(_Process, make, args, places), chain([first], chunks), len(devices))


class _Process:
    """What answers chunks in one process.

    Args:
        make: makes it from the command line.
        args: the command line.
        places: the devices; each process takes one. None: that of the command line.
    """

    def __init__(self, make: Callable[[Namespace], Answers], args: Namespace, places=None):
        if args.workers is not None or len(devices_of(args)) > 1:
            import torch

            torch.set_num_threads(1)
        if places is not None:
            args = Namespace(**{**vars(args), "device": places.get()})
        self.answers = make(args)

    def __call__(self, chunk: Chunk) -> Answered:
        before = Counter(self.answers.totals)
        with named(chunk.source):
            every = list(self.answers(LinesFrom(chunk.lines, chunk.first)))
        totals = Counter(self.answers.totals)
        totals.subtract(before)
        texts = ["".join(some) for some in zip(*every, strict=True)]
        return Answered(chunk.part, chunk.digest, len(chunk.lines), texts, totals)


def _ahead(args: Namespace) -> int | None:
    """Number of unread lines of the input, if that can be counted without decompressing it."""
    if args.input is None:
        return lines_ahead(sys.stdin)
    total = 0
    for path in files_of(args.input) if args.input.is_dir() else [args.input]:
        if is_compressed(path):
            return None
        with open(path, "rb") as file:
            count = lines_ahead(file)
        if count is None:
            return None
        total += count
    return total
