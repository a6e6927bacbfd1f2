"""Signals that stop a training: Ctrl-C whatever becomes of it, and those that end as it does."""

import multiprocessing
import signal
import sys
import time

import pytest

from fairseq_struct.cli.training.stopping_signals import stopping_whatever_comes_of_it


def test_an_error_that_ctrl_c_became_is_ctrl_c():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), stopping_whatever_comes_of_it():
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                raise RuntimeError("a worker exited") from None
        with pytest.raises(RuntimeError, match="a worker"), stopping_whatever_comes_of_it():
            raise RuntimeError("a worker exited")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_processes_stop_with_the_one_that_is_told(number):
    context = multiprocessing.get_context("fork")
    ready = context.Event()

    def work():
        ready.set()
        while True:
            time.sleep(0.1)  # a signal that comes before it stops the next one

    worker = context.Process(target=work, daemon=True)
    before = signal.signal(number, signal.SIG_DFL)  # nohup ignores SIGHUP
    try:
        with pytest.raises(KeyboardInterrupt), stopping_whatever_comes_of_it():
            worker.start()
            ready.wait()
            signal.raise_signal(number)
        worker.join()
        assert worker.exitcode != 0
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_is_ignored_stays_so(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with stopping_whatever_comes_of_it():
            signal.raise_signal(number)
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_ctrl_c_that_python_drops_comes_again():
    class Pressed:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    before, hook = signal.signal(signal.SIGINT, signal.default_int_handler), sys.unraisablehook
    try:
        with pytest.raises(KeyboardInterrupt), stopping_whatever_comes_of_it():
            Pressed()
            time.sleep(60)  # what it interrupts
        assert sys.unraisablehook is hook
    finally:
        signal.signal(signal.SIGINT, before)
