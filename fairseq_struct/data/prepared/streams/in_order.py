"""Work on a stream of items in several processes, its results in the order of the items."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing import Pipe, parent_process
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from fairseq_struct.errors import Interrupted

Item = TypeVar("Item")
Result = TypeVar("Result")

_prepare: Callable[[], Callable[[Any], Any]]
_work: Callable[[Any], Any] | None = None


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
    stop, stopped = Pipe(duplex=False)
    with (
        stop, stopped,
        ProcessPoolExecutor(workers, initializer=_begin, initargs=(prepare, stop)) as pool,
    ):  # fmt: skip
        waiting = deque()
        try:
            for item in items:
                waiting.append(pool.submit(_do, item))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise Interrupted(
                "a working process was killed (not enough memory? see --workers)"
            ) from None
        except BaseException:
            stopped.send(None)  # nobody receives it, so that every process sees it
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(prepare: Callable[[], Callable[[Any], Any]], stop: Connection) -> None:
    global _prepare
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that reads
    threading.Thread(target=_end_early, args=(stop,), daemon=True).start()
    _prepare = prepare


def _end_early(stop: Connection) -> None:
    """End this process when it is told to stop, or if the one that reads is killed."""
    wait([parent_process().sentinel, stop])
    os._exit(1)


def _do(item: Any) -> Any:
    global _work
    if _work is None:  # not in _begin, whose errors would not be told
        _work = _prepare()
    return _work(item)
