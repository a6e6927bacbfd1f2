"""What the benchmarks of this folder share: their options, calls that take turns, and records."""

import argparse
import math
import sys
import time
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from statistics import median
from typing import TypeVar

import torch

from fairseq_struct.files.text_files import read_lines
from fairseq_struct.processor import device_name
from fairseq_struct.records.results import Result, append_result, benchmark_name

RESULTS = Path(__file__).with_name("results.jsonl")
Kind = TypeVar("Kind", bound=Hashable)


def positive(text: str) -> int:
    """Parse an argument that must be a whole number above 0."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {text}")
    return number


def options_of(
    description: str, repeats: int, what: str = "timed calls of each", threads: int = 1
) -> argparse.ArgumentParser:
    """A parser of ``--repeats``, ``--threads`` and ``--append``.

    Args:
        description: what the benchmark measures, in its first line.
        repeats, threads: their defaults.
        what: what is repeated.
    """
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--repeats", type=positive, default=repeats, help=what)
    parser.add_argument("--threads", type=positive, default=threads, help="CPU threads")
    parser.add_argument("--append", action="store_true", help=f"append to {RESULTS.name}")
    return parser


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The options of this run, whose threads torch then uses."""
    setting = parser.parse_args()
    torch.set_num_threads(setting.threads)
    return setting


def milliseconds(
    calls: Mapping[Kind, Callable[[], object]], repeats: int, *, untimed: bool = True,
    dropped: int = 0, most: float = math.inf, clock: Callable[[], float] = time.perf_counter,
) -> dict[Kind, float]:
    """Median time of each call; all calls take turns.

    Args:
        calls: by their names.
        repeats: of each.
        untimed: make an untimed call before each timed one: the call before has filled the caches
            with its data, and the memory is then as a call of the same kind leaves it.
        dropped: first rounds that do not count: they compile kernels, for example.
        most: milliseconds after which a call is no longer repeated.
        clock: in seconds.
    """
    taken: dict[Kind, list[float]] = {name: [] for name in calls}
    for number in range(dropped + repeats):
        for name, call in calls.items():
            counts = number >= dropped
            if counts and sum(taken[name]) >= most:
                continue
            if counts and untimed:
                call()
            start = clock()
            call()
            took = clock() - start
            if counts:
                taken[name].append(1000 * took)
    return {name: median(values) for name, values in taken.items()}


def highest_memory() -> float:
    """Peak memory of this process so far, in MiB."""
    line = next(one for one in read_lines("/proc/self/status") if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def report(
    setting: argparse.Namespace, name: str, variant: str, metrics: dict[str, float], data: str,
    as_called: bool = False,
) -> None:  # fmt: skip
    """Print the metrics of a row, and append them to the records if asked.

    Args:
        setting: of :func:`parsed`.
        name: of the benchmark, which is that of its file.
        variant: the row.
        metrics: of the row.
        data: what was measured, in words.
        as_called: name the options as they were given, for a benchmark that has further ones.
    """
    print(variant, metrics, flush=True)
    if setting.append:
        options = [f"--threads {setting.threads} --repeats {setting.repeats} --append"]
        append_result(RESULTS, Result(
            experiment=benchmark_name(name, setting.threads), variant=variant, metrics=metrics,
            device=device_name(setting.threads, on_cpu=True), data=data,
            command=" ".join([
                f"python recipes/benchmarks/{name}.py", *(sys.argv[1:] if as_called else options)
            ]),
        ))  # fmt: skip
