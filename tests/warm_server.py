"""Runs Python programs in children forked from a process that has fairseq and torch imported.

    python warm_server.py FOLDER

listens on ``FOLDER/socket`` until its standard input ends, then removes FOLDER. A program finds
its own arguments, folder, environment, limits and standard streams, logging as a new interpreter
has it, new seeds of ``random`` and numpy, and a fairseq without plugins: nothing that one program
does is seen by the next. It shares with the others what was drawn or read once, the seed of
Python's hashes and the variables of :data:`warm_imports.AT_START`; programs that want those
otherwise are left to a process of their own.

Most programs are ``fairseq-train`` with this checkout's ``--user-dir``, which begin by importing
it. They are children of a second process, which has done this too (``FOLDER/socket_train``).

Both have one thread and keep it so: a fork copies no other.
"""

import array
import atexit
import marshal
import os
import pickle
import random
import resource
import selectors
import shutil
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path

from warm_client import OF_TRAININGS, USER_DIR
from warm_imports import Warm


class Server:
    """Accepts requests, forks, tells how each program ended.

    Args:
        address: the socket to make.
        warm: what children start from.
    """

    def __init__(self, address: Path, warm: Warm):
        self.warm = warm
        # What programs start is warm again.
        self.python = str(address.parent / "bin" / "python")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(address))
        self.listener.listen(64)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        self.selector.register(0, selectors.EVENT_READ, self.stop)
        self.children: dict[int, tuple[int, socket.socket]] = {}  # by pid
        self.going = True

    def serve(self):
        """Go on until standard input ends."""
        while self.going:
            for key, _ in self.selector.select():
                key.data()
        for child in self.children:
            os.kill(child, signal.SIGKILL)

    def stop(self):
        self.going = bool(os.read(0, 1))

    def accept(self):
        connection, _ = self.listener.accept()
        descriptors = array.array("i")
        try:
            self.answer(connection, descriptors)
        except (OSError, EOFError):  # whoever asked is gone
            connection.close()
        for descriptor in descriptors:
            os.close(descriptor)

    def answer(self, connection, descriptors):
        size, ancillary, *_ = connection.recvmsg(8, socket.CMSG_SPACE(16 * 4))
        for *_, data in ancillary:
            descriptors.frombytes(data)
        request = b""
        while len(request) < int.from_bytes(size, "big"):
            request += (part := connection.recv(1 << 16))
            if not part:
                raise EOFError
        request = marshal.loads(request)  # of nothing at all: EOFError
        warm_only = request.get("warm_only")
        if not warm_only and self.warm.why_cold(request["argv"], request["environment"]):
            connection.sendall(marshal.dumps(None))
            connection.close()
        else:
            self.fork(connection, list(descriptors), request)

    def fork(self, connection, descriptors, request):
        child = os.fork()
        if child == 0:
            status = 70
            try:
                self.let_go(connection)
                _prepare(request, descriptors)
                sys.executable = self.python
                status = _status_of(lambda: self.warm.become(request["argv"]), descriptors[3:])
            finally:
                os._exit(status)
        watch = os.pidfd_open(child)
        self.children[child] = (watch, connection)
        self.selector.register(watch, selectors.EVENT_READ, lambda: self.ended(child))
        self.selector.register(connection, selectors.EVENT_READ, lambda: self.told(child))

    def let_go(self, connection):
        """Close in a child what belongs to the server."""
        self.selector.close()
        self.listener.close()
        connection.close()
        for watch, other in self.children.values():
            os.close(watch)
            other.close()

    def told(self, child):
        """A signal to pass on, or the end of the client, which no program outlives."""
        if child in self.children:
            connection = self.children[child][1]
            for number in connection.recv(16) or [signal.SIGKILL]:
                os.kill(child, number)
                if number == signal.SIGKILL:
                    self.selector.unregister(connection)

    def ended(self, child):
        watch, connection = self.children.pop(child)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.selector.unregister(watch)
        os.close(watch)
        if connection in self.selector.get_map():
            self.selector.unregister(connection)
            try:
                connection.sendall(marshal.dumps(status))
            except OSError:
                pass  # whoever asked is gone
        connection.close()


def _prepare(request, descriptors):
    """Give this process what belongs to the program that it becomes."""
    import numpy as np
    import torch

    for target, source in enumerate(descriptors[:3]):
        os.dup2(source, target)
    for source in descriptors[:3]:
        os.close(source)
    # As from a terminal, whatever runs the tests: nohup ignores SIGHUP, and programs inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.chdir(request["cwd"])
    os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["environment"])
    threads = request["environment"].get("OMP_NUM_THREADS", "")
    threads = int(threads) if threads.isdecimal() else len(os.sched_getaffinity(0))
    if threads != torch.get_num_threads():
        torch.set_num_threads(threads)
    random.seed()
    np.random.seed()
    for which, limits in request["limits"]:
        if resource.getrlimit(which) != limits:
            resource.setrlimit(which, limits)


def _status_of(program, report) -> int:
    """Run ``program`` to the end of its exit handlers; its exit status."""
    status, interrupted = 0, False
    try:
        program()
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        if status != 0:
            _tell(stop, report)
        if not isinstance(stop.code, int | None):
            print(stop.code, file=sys.stderr)
    except KeyboardInterrupt:
        sys.excepthook(*sys.exc_info())
        interrupted = True
    except BaseException as error:
        _tell(error, report)
        sys.excepthook(*sys.exc_info())
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            status = 120
    if interrupted:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return status & 255


def _tell(error: BaseException, report: list[int]) -> None:
    """Write the exception for the process that asked."""
    for descriptor in report:
        try:
            content = pickle.dumps(error)
            pickle.loads(content)
        except Exception:
            content = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
        os.write(descriptor, content)


def _serve_trainings(address: Path, warm: Warm) -> None:
    """Start the second process; return when it listens."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            warm.begin_training(USER_DIR)
            server = Server(address, warm)
            os.write(writing, b"listening")
            os.close(writing)
            server.serve()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writing)
    if not os.read(reading, 1):
        raise RuntimeError("no server of trainings")
    os.close(reading)


def main():
    address = Path(sys.argv[1]) / "socket"
    del sys.path[0]  # this script's folder, which no program of ours would look in
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        warm = Warm()
        _serve_trainings(address.with_name(address.name + OF_TRAININGS), warm)
        server = Server(address, warm)
        print("ready", flush=True)
        server.serve()
    finally:
        shutil.rmtree(address.parent, ignore_errors=True)


if __name__ == "__main__":
    main()
