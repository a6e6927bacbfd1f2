"""Work in several processes."""

import itertools
import multiprocessing
import os
import select
import signal
import struct
from functools import partial

import pytest

from fairseq_struct.data.prepared.streams import in_order as in_order_module
from fairseq_struct.data.prepared.streams.in_order import in_order
from fairseq_struct.errors import InputError


class Square:
    """Squares numbers, and fails where told to."""

    def __init__(self, fails=None, dies=None):
        self.fails, self.dies = fails, dies

    def __call__(self, number):
        if number == self.fails:
            raise InputError(f"number {number}")
        if number == self.dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_are_in_the_order_of_items(workers):
    assert list(in_order(Square, range(40), workers)) == [n * n for n in range(40)]
    assert list(in_order(Square, [], workers)) == []


@pytest.mark.parametrize("workers", [1, 3])
def test_items_are_taken_when_they_are_needed(workers):
    taken = []
    endless = (taken.append(n) or n for n in itertools.count())
    found = in_order(Square, endless, workers)
    assert [next(found) for _ in range(5)] == [0, 1, 4, 9, 16]
    found.close()
    assert len(taken) <= 5 + 2 * workers


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_comes_after_the_results_before_it(workers):
    found = in_order(partial(Square, fails=7), range(20), workers)
    assert [next(found) for _ in range(7)] == [n * n for n in range(7)]
    with pytest.raises(InputError, match="number 7"):
        next(found)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("last", [0, 1, 5])
def test_an_item_that_cannot_be_taken_comes_after_the_results_before_it(workers, last):
    def items():
        yield from range(last)
        raise InputError("unreadable")

    found = in_order(Square, items(), workers)
    assert [next(found) for _ in range(last)] == [n * n for n in range(last)]
    with pytest.raises(InputError, match="unreadable"):
        next(found)


class Endless:
    """Fails for the first number; never ends with another one."""

    def __call__(self, number):
        if number == 0:
            raise InputError("number 0")
        signal.pause()


def test_processes_that_still_work_end_after_an_error():
    with pytest.raises(InputError, match="number 0"):
        list(in_order(Endless, range(4), 2))


def test_processes_that_still_work_end_when_nobody_wants_results():
    found = in_order(FirstOnly, range(4), 2)
    assert next(found) == 0
    found.close()


class FirstOnly:
    def __call__(self, number):
        return signal.pause() if number else number


def test_a_killed_process_is_told():
    with pytest.raises(InputError, match="a working process was killed"):
        list(in_order(partial(Square, dies=5), range(20), 2))


class Large:
    """Results that no pipe holds, so that a process waits within sending one."""

    def __call__(self, number):
        return bytes(1 << 22)


@pytest.mark.parametrize("stop", ["kill", "close", "error"])
def test_processes_that_wait_to_send_end(stop):
    def items():
        yield from range(6)
        if stop == "error":
            raise InputError("unreadable")
        yield from range(100)

    before = set(multiprocessing.active_children())
    found = in_order(Large, items(), 3)
    assert next(found) == bytes(1 << 22)
    workers = set(multiprocessing.active_children()) - before
    assert len(workers) == 3
    if stop == "close":
        found.close()
    else:
        if stop == "kill":
            min(workers, key=lambda worker: worker.pid).kill()
        with pytest.raises(InputError, match="was killed" if stop == "kill" else "unreadable"):
            list(found)
    assert not workers & set(multiprocessing.active_children())


def test_an_error_tells_where_it_arose():
    with pytest.raises(InputError, match="number 3") as told:
        list(in_order(partial(Square, fails=3), range(9), 2))
    assert "in __call__" in str(told.value.__cause__)


def test_a_result_that_cannot_be_sent_is_told():
    with pytest.raises(RuntimeError, match="pickle|local object"):
        list(in_order(Unsendable, range(3), 2))


class Unsendable:
    def __call__(self, number):
        return lambda: number


def refuse():
    raise InputError("no such language")


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_before_the_first_item(workers):
    with pytest.raises(InputError, match="no such language"):
        list(in_order(refuse, range(9), workers))


class Process:
    """Tells in which process it is."""

    def __call__(self, item):
        return os.getpid()


def test_no_more_processes_than_items():
    assert list(in_order(Process, ["one"], 4)) == [os.getpid()]
    assert os.getpid() not in set(in_order(Process, range(2), 1000))


def work_for_ever(told):
    found = in_order(Process, itertools.count(), 3)
    next(found)
    os.write(told, b"x")
    signal.pause()


def send_half(told):
    workers = [in_order_module._Worker(Process) for _ in range(3)]
    for worker in workers:
        worker.give(0, "an item")
        worker.answer()
        os.write(worker.pipe.fileno(), struct.pack("!i", 1000) + b"half of an item")
    os.write(told, b"x")
    signal.pause()


@pytest.mark.parametrize("killed_at", [work_for_ever, send_half])
def test_processes_end_with_a_killed_parent(killed_at):
    read, told = os.pipe()
    context = multiprocessing.get_context("fork")
    parent = context.Process(target=killed_at, args=(told,))
    parent.start()
    os.close(told)
    with os.fdopen(read, "rb", buffering=0) as pipe:
        assert pipe.read(1) == b"x"
        parent.kill()
        parent.join()
        assert select.select([pipe], [], [], 3600)[0], "a process still holds the pipe"
        assert pipe.read(1) == b""
