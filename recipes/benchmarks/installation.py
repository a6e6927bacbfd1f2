"""Seconds and megabytes of an installation beside torch, for this package and its peers.

Every package gets virtual environments of its own, which hold the torch of this interpreter and
numpy; they may not exchange it (most requirements would bring CUDA's libraries otherwise).
The first installation downloads what is needed and builds what has no wheel, so its seconds depend
on the network; the second one takes everything from pip's cache. Then the package is imported. Of
what fails, the first line of pip's error or the last line of Python's is printed.

    python recipes/benchmarks/installation.py [NAME ...] [--append]
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import torch

from fairseq_struct.processor import device_name
from fairseq_struct.records.results import Result, append_result

RESULTS = Path(__file__).with_name("results.jsonl")
ROOT = Path(__file__).resolve().parents[2]


class Package(NamedTuple):
    """What pip is asked for, and the module that users import."""

    requirement: str
    module: str


PACKAGES = {
    "fairseq-struct": Package("", "fairseq_struct.inference"),  # "": the wheel of this repository
    "fairseq": Package("fairseq==0.12.2", "fairseq.models"),
    "OpenNMT-py": Package("OpenNMT-py==3.5.1", "onmt"),
    "joeynmt": Package("joeynmt==2.3.0", "joeynmt.model"),
    "supar": Package("supar==1.1.4", "supar"),
    "torch-struct": Package("torch-struct==0.5", "torch_struct"),
    "stanza": Package("stanza==1.15.0", "stanza"),
}


def run(*command: str | Path) -> tuple[str, str]:
    """Run a command in an environment without settings of Python; its error, or "", and its output.

    An error is the first line that pip calls one, or the last line.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    own |= {"OMP_NUM_THREADS": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONNOUSERSITE": "1"}
    done = subprocess.run(
        [str(part) for part in command], env=own, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    errors = [line for line in lines if re.match("(ERROR|error): ", line)]
    return ((errors or lines or ["no message"])[0 if errors else -1] if done.returncode else "",
            done.stdout)  # fmt: skip


def make_base(folder: Path) -> Path:
    """An environment that holds torch and numpy, as large as it was made."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    error, output = run(
        folder / "bin/python", "-m", "pip", "install", f"torch==={torch.__version__}", "numpy"
    )
    if error:
        raise SystemExit(f"torch {torch.__version__} cannot be installed:\n{output}")
    return folder


def wheel_of_this_repository(base: Path, folder: Path) -> str:
    """Build the wheel that is measured; the time that takes is not."""
    error, output = run(
        base / "bin/python", "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, ROOT
    )
    if error:
        raise SystemExit(output)
    return str(next(folder.glob("*.whl")))


def size(environment: Path) -> tuple[float, int]:
    """Megabytes of an environment, and how many packages it holds."""
    files = [path for path in environment.rglob("*") if path.is_file() and not path.is_symlink()]
    packages = list(environment.glob("lib/*/site-packages/*.dist-info"))
    return sum(path.stat().st_size for path in files) / 1e6, len(packages)


def install(base: Path, package: Package, folder: Path) -> dict[str, float]:
    """Install a package twice; its metrics.

    Args:
        base: an environment with torch.
        package: what to install.
        folder: an empty folder.
    """
    constraints = folder / "constraints.txt"
    constraints.write_text(f"torch==={torch.__version__}\n")
    before, found = size(base), {}
    for column in ("seconds", "seconds_from_cache"):
        # Hard links: pip replaces files and never writes into them.
        shutil.copytree(base, folder / column, symlinks=True, copy_function=os.link)
        python = folder / column / "bin/python"
        start = time.perf_counter()
        error, output = run(
            python, "-m", "pip", "install", "--cache-dir", folder / "cache",
            "--constraint", constraints, package.requirement,
        )  # fmt: skip
        found[column] = round(time.perf_counter() - start, 1)
        if error:
            print(f"  {error}\n  {last_reason(output)}")
            return {"installs": 0}
    after = size(folder / column)
    found |= {"megabytes": round(after[0] - before[0], 1), "packages": after[1] - before[1]}
    error, _ = run(python, "-c", f"import {package.module}")
    print(f"  {error}" if error else "  can be imported")
    return {"installs": 1, "imports": int(not error), **found}


def last_reason(output: str) -> str:
    """The last line of an output that names a Python error or a conflict."""
    lines = re.findall(r"^ *(\w*(?:Error|Conflict)\b.*|The conflict.*|.* depends on torch.*)$",
                       output, re.MULTILINE)  # fmt: skip
    return lines[-1].strip() if lines else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"of {', '.join(PACKAGES)}")
    parser.add_argument("--append", action="store_true", help=f"append to {RESULTS.name}")
    setting = parser.parse_args()
    if unknown := set(setting.names) - set(PACKAGES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(PACKAGES)}")
    with tempfile.TemporaryDirectory() as folder:
        base = make_base(Path(folder, "base"))
        pip = run(base / "bin/python", "-m", "pip", "--version")[1].split()[1]
        for name in setting.names or PACKAGES:
            own = Path(folder, name)
            own.mkdir()
            package = PACKAGES[name]
            if not package.requirement:
                package = package._replace(requirement=wheel_of_this_repository(base, own))
            print(name, flush=True)
            metrics = install(base, package, own)
            print(f"  {metrics}", flush=True)
            shutil.rmtree(own)
            if setting.append:
                append_result(RESULTS, Result(
                    experiment="installation", variant=name, metrics=metrics,
                    device=device_name(1, on_cpu=True),
                    data=f"beside torch {torch.__version__}, Python {platform.python_version()}, "
                    f"pip {pip}; "
                    + ", ".join(one.requirement for one in PACKAGES.values() if one.requirement),
                    command="python recipes/benchmarks/installation.py --append",
                ))  # fmt: skip


if __name__ == "__main__":
    main()
