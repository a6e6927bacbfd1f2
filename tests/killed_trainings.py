"""Run trainings and kill them in the middle of a chosen write, rename or removal of a file.

No clock is involved: the child process counts what it does to the files of its ``--save-dir`` and
sends itself SIGKILL at the n-th of these events, so the same n is always the same moment.
"""

import builtins
import io
import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import torch._dynamo  # noqa: F401, which the first optimizer imports; once here, for all children
from fairseq_commands import in_this_process

from fairseq_struct import compat

OF_RUNS_ALONE = ("previous_training_time", "metrics")  # hold wall-clock times


class Events:
    """Counts what this process does to files below a folder, and kills it at the n-th time.

    A write is killed when half of its bytes are in the file; renaming and removing are killed
    before and after.
    """

    def __init__(self, folder: Path, kill_at: int | None = None):
        self.folder, self.kill_at, self.names = os.path.abspath(folder), kill_at, []
        self.files: dict[int, str] = {}

    def watch(self) -> None:
        """Replace Python's functions that write, rename and remove files."""
        real_open, real_send = builtins.open, os.sendfile

        def watched_open(file, mode="r", *arguments, **options):
            if isinstance(file, int) or not self._own(file) or not set(mode) & set("wxa+"):
                return real_open(file, mode, *arguments, **options)
            if "b" not in mode:
                return real_open(file, mode, *arguments, **options)
            raw = _Counted(os.fspath(file), mode.replace("b", ""))
            raw.events = self
            self.files[raw.fileno()] = os.fspath(file)
            return io.BufferedWriter(raw)

        def watched_send(out, source, offset, count):
            name = self.files.get(out)
            if name is None:
                return real_send(out, source, offset, count)
            size = min(count, os.fstat(source).st_size - offset)
            if size <= 0:
                return real_send(out, source, offset, count)
            half = real_send(out, source, offset, max(1, size // 2))
            self.happened("copy", name)
            return half

        builtins.open = io.open = watched_open
        os.sendfile = watched_send
        for module_function in ("rename", "replace", "unlink", "remove"):
            setattr(os, module_function, self._twice(getattr(os, module_function)))

    def happened(self, kind: str, path: str) -> None:
        """Count one event; at the chosen one, kill this process."""
        self.names.append(f"{kind} {os.path.basename(path)}")
        if len(self.names) == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def _own(self, path) -> bool:
        return os.path.abspath(os.fspath(path)).startswith(self.folder + os.sep)

    def _twice(self, function: Callable) -> Callable:
        def watched(path, *arguments, **options):
            own = self._own(path)
            if own:
                self.happened(f"before {function.__name__}", path)
            result = function(path, *arguments, **options)
            if own:
                self.happened(f"after {function.__name__}", path)
            return result

        return watched


class _Counted(io.FileIO):
    """A file that counts each write when half of its bytes are written."""

    events: Events

    def write(self, data):
        data = memoryview(data).cast("B")
        written = super().write(data[: len(data) // 2])
        self.events.happened("write", self.name)
        return written + super().write(data[written:])


def in_child(train: Callable[[Path], object], save_dir: Path, kill_at: int | None = None):
    """Run ``train(save_dir)`` in a child process, which may be killed.

    Returns:
        The exit status, the events on files of ``save_dir``, and the error message.
    """
    reader, writer = multiprocessing.Pipe(duplex=False)

    def child():
        events = Events(save_dir, kill_at)
        events.watch()
        try:
            with in_this_process():
                train(save_dir)
            writer.send((events.names, ""))
        except BaseException:
            writer.send((events.names, traceback.format_exc()))
            sys.exit(1)

    # Forked, because importing fairseq takes longer than such a training.
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    writer.close()
    try:
        names, complaint = reader.recv()
    except EOFError:  # killed
        names, complaint = [], ""
    process.join()
    return process.exitcode, names, complaint


def state_of(path: Path) -> dict:
    """A checkpoint's content, without wall-clock times and options (they name its folder)."""
    state = compat.load_state(path)
    state["extra_state"] = {
        name: value for name, value in state["extra_state"].items() if name not in OF_RUNS_ALONE
    }
    state["optimizer_history"] = state["optimizer_history"][-1:]  # one for each start
    del state["cfg"]
    return state


def difference(first: object, second: object, where: str = "state") -> str | None:
    """The first place where two states differ in a bit; None if they are equal."""
    return next(_differences(first, second, where), None)


def _differences(first: object, second: object, where: str) -> Iterator[str]:
    if type(first) is not type(second):
        yield f"{where}: {type(first).__name__} and {type(second).__name__}"
    elif isinstance(first, torch.Tensor):
        if first.dtype != second.dtype or not torch.equal(first, second):
            yield where
    elif isinstance(first, dict):
        if first.keys() != second.keys():
            yield f"{where}: other names"
        else:
            for name in first:
                yield from _differences(first[name], second[name], f"{where}[{name!r}]")
    elif isinstance(first, (list, tuple)):
        if len(first) != len(second):
            yield f"{where}: other length"
        else:
            for index, pair in enumerate(zip(first, second, strict=True)):
                yield from _differences(*pair, f"{where}[{index}]")
    elif repr(first) != repr(second):
        yield f"{where}: {first!r} and {second!r}"
