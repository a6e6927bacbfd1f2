"""Fairseq's command-line programs, run as a user runs them, without a new import of fairseq.

Importing fairseq takes longer than most programs that tests run. Programs are therefore children
of a process that has imported fairseq (``warm_server.py``), one for each process of pytest.
"""

import atexit
import contextlib
import functools
import importlib
import io
import logging
import os
import pickle
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import warm_client

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
USER_DIR = Path(warm_client.USER_DIR)
# A fork keeps one thread only, so libraries must start no others on import.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
REAL = Path(sys.executable).parent  # programs installed beside python
LOG_PREFIX = re.compile(
    r"^(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \| [A-Z]+ \| [\w.]+ \| |(?:DEBUG|INFO|WARNING):[\w.]+:)",
    re.MULTILINE,
)

SMALL = [
    "--encoder-layers=2",
    "--decoder-layers=2",
    "--encoder-embed-dim=32",
    "--encoder-ffn-embed-dim=64",
    "--encoder-attention-heads=2",
    "--decoder-attention-heads=2",
    "--share-all-embeddings",
    "--optimizer=adam",
    "--lr=0.003",
    "--criterion=label_smoothed_cross_entropy",
    "--label-smoothing=0.1",
    "--source-lang=src",
    "--target-lang=tgt",
    "--no-epoch-checkpoints",
    "--no-progress-bar",
    "--log-format=json",
    # fairseq kills the workers of an unfinished epoch; each of them leaves a folder.
    "--num-workers=0",
]


def write_data_bin(folder: Path, train: int = 64, held_out: int = 8) -> Path:
    """A miniature corpus of numbers read backwards, binarised by fairseq-preprocess."""
    words = "zero one two three four five six seven eight nine".split()
    for number, (split, count) in enumerate((("train", train), ("valid", held_out))):
        sentences = []
        for index in range(count):
            digits = str((index + 7 * number + 3) ** 3 * 7919)[:7]
            sentences.append([words[int(digit)] for digit in digits[: 3 + index % 5]])
        (folder / f"{split}.src").write_text("".join(" ".join(s) + "\n" for s in sentences))
        (folder / f"{split}.tgt").write_text("".join(" ".join(s[::-1]) + "\n" for s in sentences))
    run("preprocess", "--source-lang=src", "--target-lang=tgt", f"--trainpref={folder}/train",
        f"--validpref={folder}/valid", f"--testpref={folder}/valid", "--joined-dictionary",
        f"--destdir={folder}/data-bin")  # fmt: skip
    return folder / "data-bin"


@contextlib.contextmanager
def in_this_process() -> Iterator[None]:
    """Let :func:`run` run programs in this process, where a test has replaced some objects."""
    with mock.patch.object(sys.modules[__name__], "_here", True):
        yield


_here = False


def run(program: str, *arguments: object) -> str:
    """Run ``fairseq-PROGRAM ARGUMENTS`` and return what it prints and logs.

    Log lines come without their time and place.

    Within :func:`in_this_process` the program runs in this process.

    Raises:
        SystemExit: the program exited with an error, as argparse does; holds the whole output.
        Exception: whatever ended the program.
    """
    if _here:
        return _run_here(program, *map(str, arguments))
    command = [REAL / f"fairseq-{program.replace('_', '-')}", *map(str, arguments)]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as report:
        out = output.fileno()
        connection = warm_client.submit(
            _socket(), command, os.environ, [_nothing(), out, out, report.fileno()], warm_only=True
        )
        status = warm_client.outcome(connection)
        output.seek(0)
        text = LOG_PREFIX.sub("", output.read().decode("utf-8", errors="replace"))
        report.seek(0)
        if content := report.read():
            error = pickle.loads(content)
            raise SystemExit(text) if isinstance(error, SystemExit) else error
    if status != 0:
        raise RuntimeError(f"fairseq-{program} ended with status {status}: {text}")
    return text


def _run_here(program: str, *arguments: str) -> str:
    from fairseq.logging import metrics

    metrics.reset()  # a new process has no averages
    command = importlib.import_module(f"fairseq_cli.{program.replace('-', '_')}")
    output, root = io.StringIO(), logging.getLogger()
    handler = logging.StreamHandler(output)
    # Other tests may have silenced fairseq's loggers; the command must log as for users.
    levels = {logger: logger.level for logger in (root, logging.getLogger("fairseq"))}
    root.addHandler(handler)
    for logger in levels:
        logger.setLevel(logging.INFO)
    try:
        with (
            mock.patch.object(sys, "argv", [f"fairseq-{program}", *arguments]),
            contextlib.redirect_stdout(output), contextlib.redirect_stderr(output),
        ):  # fmt: skip
            command.cli_main()
    except SystemExit as stop:  # from argparse; its message would be lost
        raise SystemExit(output.getvalue()) from stop
    finally:
        root.removeHandler(handler)
        for logger, level in levels.items():
            logger.setLevel(level)
    return output.getvalue()


def train(data_bin: Path, save_dir: Path, *arguments: object, arch: str | None = None) -> str:
    """``fairseq-train`` with a small scheduled-sampling model and ``arguments``."""
    return run(
        "train",
        data_bin,
        f"--user-dir={USER_DIR}",
        f"--save-dir={save_dir}",
        f"--arch={arch or 'scheduled_sampling_transformer'}",
        *SMALL,
        *arguments,
    )


def start(*command: object, **environment: str) -> subprocess.Popen:
    """Start a program in the checkout; Python and fairseq's commands start warm.

    ``python``, ``fairseq-train`` and the like, and programs that call them, are children of the
    warm server. Signals reach them. ``SIGKILL`` ends the returned process a moment before its
    program. Where that matters, and to test from the first import on, use :func:`start_cold`.
    """
    command = [str(part) for part in command]
    if command[0] == sys.executable:
        command[0] = "python"
    path = os.pathsep.join([str(_programs()), str(REAL), os.environ["PATH"]])
    return _start(command, {"PATH": path, **environment})


def start_cold(*command: object, **environment: str) -> subprocess.Popen:
    """Start a program in the checkout, with this interpreter's directory first."""
    path = f"{REAL}{os.pathsep}{os.environ['PATH']}"
    return _start([str(part) for part in command], {"PATH": path, **environment})


@contextlib.contextmanager
def warm_python() -> Iterator[None]:
    """Let the programs that this process calls start ``sys.executable`` warm."""
    with (
        mock.patch.object(sys, "executable", str(_programs() / "python")),
        mock.patch.dict(os.environ, {**_own_environment(), "PYTHONPATH": str(ROOT)}, clear=True),
    ):
        yield


def _start(command: list[str], environment: dict[str, str]) -> subprocess.Popen:
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**_own_environment(), "PYTHONPATH": str(ROOT), **environment},
    )


def _own_environment() -> dict[str, str]:
    """The environment of this process without what fairseq's iterators with workers leave there.

    Read at start, it would keep every later program from starting warm.
    """
    left = {"PYTHONWARNINGS": "ignore:semaphore_tracker:UserWarning"}
    return {name: value for name, value in os.environ.items() if left.get(name) != value}


@functools.cache
def _nothing() -> int:
    return os.open(os.devnull, os.O_RDONLY)


def _socket() -> str:
    return str(_server() / "socket")


def _programs() -> Path:
    return _server() / "bin"


def _stop(server: subprocess.Popen) -> None:
    server.stdin.close()
    server.wait()


@functools.cache
def _server() -> Path:
    """The folder of the warm server; the server ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix="warm"))
    (folder / "bin").mkdir()
    names = [path.name for path in REAL.glob("fairseq-*")]
    client = f"{shlex.quote(sys.executable)} -I -S {shlex.quote(str(HERE / 'warm_client.py'))}"
    for name in ("python", "python3", *names):
        real = sys.executable if name.startswith("python") else REAL / name
        program = folder / "bin" / name
        call = f'{client} {shlex.quote(str(folder / "socket"))} {shlex.quote(str(real))} "$@"'
        program.write_text(f"#!/bin/sh\nexec {call}\n")
        program.chmod(0o755)
    with (folder / "log").open("w+b") as log:
        server = subprocess.Popen(
            [sys.executable, HERE / "warm_server.py", folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**_own_environment(), "PYTHONPATH": str(ROOT), **ONE_THREAD},
            start_new_session=True,  # Ctrl-C in a terminal is for pytest alone
        )
        atexit.register(_stop, server)
        if server.stdout.readline() != b"ready\n":
            log.seek(0)
            raise RuntimeError(f"the warm server did not start: {log.read().decode()}")
    return folder
