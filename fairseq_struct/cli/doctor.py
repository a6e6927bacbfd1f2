"""Check whether this machine has everything that training needs, and report how to fix it."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import importlib.metadata
import json
import logging
import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from fairseq_struct import __version__, compat, plugin
from fairseq_struct.cli.shared.kernels import compile_kernels
from fairseq_struct.cli.shared.paths import require
from fairseq_struct.errors import DependencyError, InputError

NAME = "doctor"
HELP = "check whether this machine can train, and say how to fix what is missing"

# Requirements of setup.cfg, except torch and fairseq, which have separate checks.
PACKAGES = (
    "numpy",
    "sentencepiece",
    "sacrebleu",
    "sacremoses",
    "subword-nmt",
    "nltk",
    "entmax",
    "numba",
    "scikit-learn",
    "scipy",
    "tqdm",
    "matplotlib",
    "safetensors",
)
OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 13)
# Corpora that fairseq-struct prepare parallel can read, and their usual folders.
CORPORA = {
    "multi30k": ("multi30k",),
    "iwslt17_de_en": ("iwslt17_de_en", "de-en"),
    "kftt_ja_en": ("kftt_ja_en", "kftt-data-1.0"),
    "tanaka_ja_en": ("tanaka_ja_en", "tanaka_enja", "tanaka"),
}
ROOMY_DISK_GB = 5


@dataclasses.dataclass(frozen=True)
class Check:
    """One check and its result.

    Attributes:
        name: name of the check.
        finding: result of the check.
        status: ``ok``, ``note`` (training works, but see the finding) or ``fail`` (it does not).
        remedy: command or advice that fixes the problem, if there is one.
    """

    name: str
    finding: str
    status: str = "ok"
    remedy: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments.

    Args:
        parser: the verb's own parser.
    """
    parser.add_argument(
        "--data",
        metavar="DIR",
        default=os.environ.get("DATA") or None,
        help="folder to search for corpora (default: the environment variable DATA)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, for programs")
    parser.add_argument(
        "--compile", nargs="?", const="", metavar="USE",
        help="compile all kernels for this processor, so that later runs do not wait for them, "
        "print the seconds of each use, and check nothing else; with USE, compile only uses with "
        "this text in their names, for example 'best projective trees'",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Print all checks.

    Args:
        args: the parsed arguments.

    Returns:
        0 when training would work, 1 otherwise.

    Raises:
        InputError: the folder of corpora or a writable folder for kernels does not exist, or
            options do not go together.
    """
    require(folders=[args.data])
    if args.compile is not None:
        if args.json:
            raise InputError("--json prints checks, and --compile checks nothing; give one of them")
        compile_kernels(args.compile)
        return 0
    # fairseq logs messages while it is imported; the report should have only the checks.
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    checks = examine(args.data)
    healthy = all(check.status != "fail" for check in checks)
    if args.json:
        print(json.dumps({"ok": healthy, "checks": [dataclasses.asdict(c) for c in checks]}))
    else:
        _print_table(checks)
    return 0 if healthy else 1


def examine(data: str | Path | None = None) -> list[Check]:
    """Run all checks.

    Args:
        data: folder to search for corpora.

    Returns:
        The checks in the order of the report.

    Raises:
        InputError: ``data`` is given and is not a folder.
    """
    if data is not None and not Path(data).is_dir():
        raise InputError(f"{data}: no such folder")
    return [
        *_check_python(),
        *_check_torch(),
        *(_check_package(name) for name in PACKAGES),
        _check_fairseq(),
        *_check_plugin(),
        *_check_compilers(),
        _check_disk(),
        *_check_data(data),
    ]


def _check_python() -> Iterator[Check]:
    yield Check("fairseq-struct", __version__)
    version = platform.python_version()
    remedy = "make clean; make PYTHON=python3.12 install"
    if sys.version_info[:2] < OLDEST_PYTHON:
        yield Check("python", f"{version}, too old", "fail", remedy)
    elif sys.version_info[:2] > NEWEST_PYTHON:
        yield Check("python", f"{version}, newer than any tested version", "note", remedy)
    else:
        yield Check("python", version)


def _check_torch() -> Iterator[Check]:
    try:
        compat.allow_checkpoint_types()
    except DependencyError as error:
        yield Check("torch", error.problem, "fail", error.remedy)
        return
    torch = importlib.import_module("torch")
    yield Check("torch", torch.__version__)
    yield _check_devices(torch)


def _check_devices(torch: ModuleType) -> Check:
    if torch.cuda.is_available():
        devices = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
        return Check("devices", f"CUDA {torch.version.cuda}: {', '.join(devices)}")
    cores, threads = os.cpu_count(), torch.get_num_threads()
    processor = f"processor, {cores} core{'s' * (cores != 1)}, "
    processor += f"{threads} thread{'s' * (threads != 1)}"
    if not os.path.exists("/dev/nvidiactl"):
        return Check("devices", processor)
    if torch.version.cuda is None:
        why = "the GPU here is unused: this torch was built for the CPU"
        return Check("devices", f"{processor}; {why}", "note", "make clean install")
    why = f"the GPU here is unused: its driver does not support CUDA {torch.version.cuda}"
    return Check("devices", f"{processor}; {why}", "note", "update the driver (see nvidia-smi)")


def _check_package(name: str) -> Check:
    try:
        return Check(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Check(name, "not installed", "fail", f"pip install {name}")


def _check_fairseq() -> Check:
    try:
        compat.prepare()
    except DependencyError as error:
        return Check("fairseq", error.problem, "fail", error.remedy)
    found = compat.installed_fairseq()
    if len(found) > 1:
        finding = f"{' and '.join(found)}, which overwrite each other's files"
        return Check("fairseq", finding, "note", compat.REINSTALL_LINE)
    return Check("fairseq", found[0] if found else "imported from a checkout")


def _check_plugin() -> Iterator[Check]:
    try:
        names = plugin.registered()
    except DependencyError:
        return  # the check of fairseq has reported this already
    except Exception as error:  # any module may fail in any way; report it here
        yield Check("plugin", f"{type(error).__name__}: {error}", "fail", "reinstall: make install")
        return
    for kind, found in names.items():
        yield Check(kind, ", ".join(found) or "none")


def _check_compilers() -> Iterator[Check]:
    # The compiler is needed only to build fairseq, so its absence is a note, not a failure.
    if compat.fairseq_requirement() == compat.FAIRSEQ_BUILDS["ve-fairseq"]:
        return  # this build has wheels here
    compiler = shutil.which(os.environ.get("CXX", "g++")) or shutil.which("c++")
    if compiler:
        yield Check("C++ compiler", compiler)
    else:
        yield Check("C++ compiler", "none", "note", "apt install g++")
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    if header.exists():
        yield Check("Python.h", str(header))
    else:
        python = f"python{sys.version_info.major}.{sys.version_info.minor}"
        yield Check("Python.h", "none", "note", f"apt install {python}-dev")


def _check_disk() -> Check:
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    finding = f"{free:.1f} GB free in {Path.cwd()}"
    if free >= ROOMY_DISK_GB:
        return Check("disk", finding)
    return Check("disk", finding, "note", "checkpoints fill disks: use --keep-last-epochs 5")


def _check_data(data: str | Path | None) -> Iterator[Check]:
    if data is None:
        yield Check("data", "not checked; give --data DIR or set the environment variable DATA")
        return
    filled = {
        entry.name for entry in Path(data).iterdir() if entry.is_dir() and any(entry.iterdir())
    }
    found = [name for name, folders in CORPORA.items() if filled.intersection(folders)]
    yield Check("data", f"{data}: {', '.join(found) or 'none of the known corpora'}")
    for name, folders in CORPORA.items():
        if name not in found:
            how = f"fairseq-struct prepare parallel {name} --help"
            where = f"put it into {Path(data) / folders[-1]}; {how}"
            yield Check(f"data: {name}", "not found", "note", where)


def _print_table(checks: list[Check]) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        print(f"{check.status:4}  {check.name:{width}}  {check.finding}")
        if check.remedy:
            print(f"{'':4}  {'':{width}}  -> {check.remedy}")
    failed = [check.name for check in checks if check.status == "fail"]
    print()
    if failed:
        print(f"training does not work here yet: {', '.join(failed)}")
    else:
        print("training works here")
