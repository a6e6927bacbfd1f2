"""Ctrl-C, which ends a training however deep it is in other processes and in C++."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ctrl_c_whatever_comes_of_it() -> Iterator[None]:
    """Turn every error after Ctrl-C into KeyboardInterrupt.

    Ctrl-C also stops the workers that load data and the other processes, and it may come while C++
    code calls Python; then this process ends in the errors that those make of it. If it comes while
    an object is taken away, Python drops it, and the training would go on; then it comes again.
    """
    pressed, again = False, None

    def remember(number, frame):
        nonlocal pressed
        pressed = True
        signal.default_int_handler(number, frame)

    def repeat(dropped):
        nonlocal again
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            return usual_hook(dropped)
        # Later, because what is raised now would be dropped as well.
        main = threading.main_thread().ident
        again = threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGINT))
        again.start()

    usual_hook = sys.unraisablehook
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler:  # somebody else's, or ignored, as under nohup
        yield
        return
    signal.signal(signal.SIGINT, remember)
    sys.unraisablehook = repeat
    try:
        yield
    except Exception as error:
        if pressed:
            raise KeyboardInterrupt from error
        raise
    finally:
        if again is not None:
            again.cancel()
        sys.unraisablehook = usual_hook
        signal.signal(signal.SIGINT, usual)
