"""Ctrl-C and other signals to stop, which end a training however deep it is in other code."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# Ctrl-C; `kill`, or a scheduler whose time is up; a terminal that was closed.
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
    """A signal to stop has come.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


@contextmanager
def stopping_whatever_comes_of_it() -> Iterator[None]:
    """Raise :class:`Stopped` for a signal to stop, and instead of every error after it.

    Ctrl-C also stops the workers that load data and the other processes; for the other signals,
    which come to this process alone, they get what Ctrl-C would give them. A signal may come while
    C++ code calls Python; then this process ends in the errors that those make of it. If it comes
    while an object is taken away, Python drops it, and the training would go on; then it comes
    again. Signals that are ignored, as under ``nohup``, or that somebody else handles, stay so.
    """
    pressed, again, own = None, None, os.getpid()

    def remember(number, frame):
        nonlocal pressed
        if os.getpid() != own:  # a worker, which was forked from this process
            signal.signal(number, usual[number])
            return signal.raise_signal(number)
        pressed = number
        if number != signal.SIGINT:
            for process in multiprocessing.active_children():
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGINT)
        raise Stopped(number)

    def repeat(dropped):
        nonlocal again
        if not issubclass(dropped.exc_type, Stopped):
            return usual_hook(dropped)
        # Later, because what is raised now would be dropped as well.
        main = threading.main_thread().ident
        again = threading.Timer(0.05, signal.pthread_kill, (main, pressed))
        again.start()

    usual_hook = sys.unraisablehook
    usual = {number: signal.getsignal(number) for number in NUMBERS}
    ours = [number for number in NUMBERS
            if usual[number] in (signal.SIG_DFL, signal.default_int_handler)]  # fmt: skip
    for number in ours:
        signal.signal(number, remember)
    sys.unraisablehook = repeat
    try:
        yield
    except Exception as error:
        if pressed is not None:
            raise Stopped(pressed) from error
        raise
    finally:
        if again is not None:
            again.cancel()
        sys.unraisablehook = usual_hook
        for number in ours:
            signal.signal(number, usual[number])
