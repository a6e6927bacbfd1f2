"""Run Python programs in children forked from a process that has imported fairseq and torch.

    python warm_server.py FOLDER

listens on ``FOLDER/socket`` until its standard input ends, then removes FOLDER. A program finds
its own arguments, folder, environment, limits and standard streams, logging as in a new
interpreter, new seeds of ``random`` and numpy, and a fairseq without plugins. So no program sees
what an earlier one did. All programs share the values drawn or read once: the seed of Python's
hashes and the variables of :data:`AT_START`. Programs that need other values run in a separate
process.

The server keeps to one thread, because a fork copies one thread only.
"""

import array
import atexit
import importlib
import logging
import marshal
import os
import pickle
import pkgutil
import random
import re
import resource
import runpy
import selectors
import shutil
import signal
import socket
import sys
import threading
import types
import warnings
from pathlib import Path

# Read by the interpreter and by libraries when they start. OMP_NUM_THREADS can be changed later.
# How threads wait, numpy's number of threads, PATH and the settings of the C library's allocator
# do not change the results of a program.
AT_START = re.compile(
    r"(PYTHON|LD_|LC_|LANG|OMP_|KMP_|GOMP_|MKL_|OPENBLAS_|DNNL_|ONEDNN_|ATEN_|TORCH|NUMBA_|CUDA_"
    r"|MPL|XDG_|HOME$|TMPDIR$)"
)
CHANGEABLE = {"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OPENBLAS_NUM_THREADS"}
# Rooms that register nothing with fairseq; each program imports the others if it needs them.
ROOMS = ("structure", "modules", "metrics", "records", "pages", "data", "evaluation")
LIBRARIES = (
    "fairseq", "torch", "numba", "scipy.stats", "sklearn.metrics", "matplotlib.figure", "nltk",
    "entmax", "sacrebleu", "sacremoses", "sentencepiece", "subword_nmt.apply_bpe",
    "subword_nmt.learn_bpe", "torch.distributed", "torch._dynamo",  # imported by optimizers
)  # fmt: skip


class Warm:
    """The imported libraries, and the state that their import left behind.

    Raises:
        RuntimeError: an import started a thread.
    """

    def __init__(self):
        import gc

        root = logging.getLogger()
        level = root.level
        self.environment = dict(os.environ)
        for name in (*LIBRARIES, *_modules_of_rooms()):
            importlib.import_module(name)
        _warm_parser_of_options()
        # One of fairseq's modules configures logging unless the program did so before.
        self.handlers, self.level = root.handlers[:], root.level
        root.handlers[:] = []
        root.setLevel(level)
        self.added = {k: v for k, v in os.environ.items() if self.environment.get(k) != v}
        threads = len(os.listdir("/proc/self/task"))
        if threads != 1:
            raise RuntimeError(f"{threads} threads after imports; a fork would lose all but one")
        gc.collect()
        gc.freeze()

    def why_cold(self, argv: list[str], environment: dict[str, str]) -> str | None:
        """Why a program needs a separate interpreter, or None."""
        for name in sorted(environment.keys() | self.environment.keys()):
            value, ours = environment.get(name), self.environment.get(name)
            known = (ours, self.added.get(name, ours))
            if name not in CHANGEABLE and AT_START.match(name) and value not in known:
                return f"{name} is read at start"
        first = argv[1] if len(argv) > 1 else ""
        if not _is_python(argv[0]):
            return None
        if first in ("", "-") or (first.startswith("-") and first not in ("-c", "-m")):
            return f"python {first}"
        if first == "-c" and "multiprocessing" in "".join(argv[2:]):
            return "multiprocessing hands over further files"
        return None

    def become(self, argv: list[str]) -> None:
        """Run a program as ``__main__``, in this process."""
        os.environ.update(self.added)
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        main.__builtins__ = __builtins__
        if not _is_python(argv[0]):
            sys.argv = list(argv)
            sys.path.insert(0, os.path.dirname(os.path.realpath(argv[0])))
            command = os.path.basename(argv[0]).removeprefix("fairseq-").replace("-", "_")
            if command != "struct":
                importlib.import_module(f"fairseq_cli.{command}")
                self._log_as_fairseq()
            _execute(argv[0], main)
        elif argv[1] == "-c":
            sys.argv = ["-c", *argv[3:]]
            sys.path.insert(0, "")
            exec(compile(argv[2], "<string>", "exec"), main.__dict__)
        elif argv[1] == "-m":
            sys.argv = ["-m", *argv[3:]]
            sys.path.insert(0, os.getcwd())
            runpy.run_module(argv[2], run_name="__main__", alter_sys=True)
        else:
            sys.argv = argv[1:]
            sys.path.insert(0, os.path.dirname(os.path.realpath(argv[1])))
            _execute(argv[1], main)

    def _log_as_fairseq(self):
        root = logging.getLogger()
        if not root.handlers:
            root.handlers[:] = self.handlers
            root.setLevel(self.level)


def _modules_of_rooms() -> list[str]:
    import fairseq_struct

    folder = Path(fairseq_struct.__file__).parent
    return [
        module.name
        for room in ROOMS
        for module in pkgutil.walk_packages([str(folder / room)], f"fairseq_struct.{room}.")
    ]


def _warm_parser_of_options() -> None:
    """Warm the parser of hydra's language, which fairseq uses for options: it builds up a cache."""
    from fairseq import options
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    with warnings.catch_warnings():  # they are shown again afterwards
        warnings.simplefilter("ignore")
        parser = options.get_training_parser()
        line = ["data", "--arch=transformer", "--optimizer=adam", "--save-dir=/tmp/a_b-c.d/e"]
        convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, line))


def _is_python(program: str) -> bool:
    return os.path.basename(program).startswith("python")


def _execute(path: str, main: types.ModuleType) -> None:
    main.__file__ = path
    exec(compile(Path(path).read_bytes(), path, "exec"), main.__dict__)


class Server:
    """Accepts requests, forks, and reports how each program ended.

    Args:
        folder: where the socket is made.
        warm: the state that children start from.
    """

    def __init__(self, folder: Path, warm: Warm):
        self.warm = warm
        self.python = str(folder / "bin" / "python")  # children of programs start warm, too
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / "socket"))
        self.listener.listen(64)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        self.selector.register(0, selectors.EVENT_READ, self.stop)
        self.children: dict[int, tuple[int, socket.socket]] = {}  # by pid
        self.going = True

    def serve(self):
        """Serve requests until standard input ends."""
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
        """Close the server's files in a child."""
        self.selector.close()
        self.listener.close()
        connection.close()
        for watch, other in self.children.values():
            os.close(watch)
            other.close()

    def told(self, child):
        """Handle a signal to pass on, or the end of the client, which also ends the program."""
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
    """Give this process the state of the program that it becomes."""
    import numpy as np
    import torch

    for target, source in enumerate(descriptors[:3]):
        os.dup2(source, target)
    for source in descriptors[:3]:
        os.close(source)
    signal.signal(signal.SIGINT, signal.default_int_handler)
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


def main():
    folder = Path(sys.argv[1])
    del sys.path[0]  # this script's folder, which is not on the path of other programs
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        server = Server(folder, Warm())
        print("ready", flush=True)
        server.serve()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
