"""Work on a stream of items in several processes, its results in the order of the items."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from multiprocessing import Pipe, Process, parent_process
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from fairseq_struct.errors import Interrupted

Item = TypeVar("Item")
Result = TypeVar("Result")

_AT_ONCE = 2  # items that a process is given: one to work on, and the next


def in_order(
    prepare: Callable[[], Callable[[Item], Result]], items: Iterable[Item], workers: int = 1
) -> Iterator[Result]:
    """Yield the result of every item, in order; the results do not depend on ``workers``.

    Items are taken only a little ahead of their results, so that memory does not grow. Processes
    end at once after an error, Ctrl-C, or when the results are no longer wanted.

    Args:
        prepare: makes the function that does the work; called once in each process. It, the items
            and the results are sent to processes and back.
        items: what to work on.
        workers: maximum number of processes; with 1 or one item, this one does all.

    Raises:
        Interrupted: a process was killed, for example because there is not enough memory.
        Exception: what the work raises for an item, or what taking an item raises, after the
            results of the items before it.
    """
    failed: list[Exception] = []
    yield from _results(prepare, _before_error(items, failed), workers)
    if failed:
        raise failed[0]


def _before_error(items: Iterable[Item], failed: list[Exception]) -> Iterator[Item]:
    try:
        yield from items
    except Exception as error:
        failed.append(error)


def _results(
    prepare: Callable[[], Callable[[Item], Result]], items: Iterator[Item], workers: int
) -> Iterator[Result]:
    first = list(islice(items, workers))
    workers, items = min(workers, len(first)), chain(first, items)
    if workers <= 1:
        yield from map(prepare(), items)
        return
    found: list[_Worker] = []
    try:
        for _ in range(workers):
            found.append(_Worker(prepare))
        yield from _in_turn(found, items)
    finally:
        for worker in found:
            worker.end()


def _in_turn(workers: list[_Worker], items: Iterator[Item]) -> Iterator[Any]:
    """Give the items to the workers, and yield their results in order."""
    done: dict[int, _Answer] = {}
    taken = wanted = 0  # numbers of the next item and of the next result
    more = True
    while more or wanted < taken:
        if wanted in done:
            yield done.pop(wanted).result()
            wanted += 1
            continue
        freest = min(workers, key=lambda worker: len(worker.given))
        free = len(freest.given) < _AT_ONCE and taken < wanted + _AT_ONCE * len(workers)
        if more and free:
            for item in islice(items, 1):
                freest.give(taken, item)
                taken += 1
                break
            else:
                more = False
        busy = {worker.pipe: worker for worker in workers if worker.given}
        for pipe in wait(busy, timeout=0 if more and free else None) if busy else ():
            number, answer = busy[pipe].answer()
            done[number] = answer


class _Answer(NamedTuple):
    """What a process sends: a result, or an error and where it arose."""

    value: Any
    error: Exception | None = None
    place: str = ""

    def result(self) -> Any:
        if self.error is not None:
            raise self.error from _InProcess(self.place)
        return self.value


class _InProcess(Exception):
    """Where an error arose in another process, as text."""


class _Worker:
    """A process with a pipe of its own, so that its death blocks no other and is seen at once.

    Attributes:
        pipe: to the process.
        given: numbers of the items that it has not answered.
    """

    def __init__(self, prepare: Callable[[], Callable[[Any], Any]]):
        self.given: deque[int] = deque()
        self.pipe, its_end = Pipe()
        with its_end:  # closed here, so that reading ends if the process dies
            ends = its_end, self.pipe
            self._process = Process(target=_serve, args=(prepare, *ends), daemon=True)
            self._process.start()

    def give(self, number: int, item: Any) -> None:
        try:
            self.pipe.send(item)
        except OSError:
            raise _killed() from None
        self.given.append(number)

    def answer(self) -> tuple[int, _Answer]:
        try:
            found = self.pipe.recv()
        except (EOFError, OSError):
            raise _killed() from None
        return self.given.popleft(), found

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _killed() -> Interrupted:
    return Interrupted("a working process was killed (not enough memory? see --workers)")


def _serve(
    prepare: Callable[[], Callable[[Any], Any]], pipe: Connection, other_end: Connection
) -> None:
    """What a process does: answer items until it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that reads
    other_end.close()  # else reading would not end if the other process dies
    given: SimpleQueue = SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, given), daemon=True).start()
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    work = None
    while True:
        item = given.get()
        try:
            if work is None:
                work = prepare()
            answer = _Answer(work(item))
        except Exception as error:
            answer = _Answer(None, error, traceback.format_exc())
        try:
            pipe.send(answer)
        except OSError:  # nobody reads any more
            os._exit(1)
        except Exception as error:  # it cannot be sent
            said = f"{type(error).__name__}: {error}"
            pipe.send(_Answer(None, RuntimeError(said), traceback.format_exc()))


def _receive(pipe: Connection, given: SimpleQueue) -> None:
    """Receive items all the time, so that sending one never waits."""
    while True:
        try:
            given.put(pipe.recv())
        except (EOFError, OSError):
            os._exit(1)


def _end_with_parent(parent: int) -> None:
    """End when the process that gives the items has died, even in the middle of sending one.

    Processes begun later hold copies of what would tell it, so the number of the parent is looked
    at, too.
    """
    sentinel = parent_process().sentinel
    while not wait([sentinel], timeout=1) and os.getppid() == parent:
        pass
    os._exit(1)
