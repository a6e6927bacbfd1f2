"""What the benchmarks of this folder share: time and memory of a command, growth, text."""

import math
import random
import re
import subprocess
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import linear_regression

from fairseq_struct.processor import device_name
from fairseq_struct.records.results import Result, append_result

RESULTS = Path(__file__).parents[1] / "results.jsonl"
VOCABULARY = 50_000
Points = dict[str, list[tuple[float, float]]]  # way: seconds and MiB, one pair a size
Rows = dict[str, dict[str, float]]


def sentences(count: int, least: int = 4, most: int = 30) -> Iterator[list[str]]:
    """``count`` sentences of ``least`` to ``most`` words, which are drawn by Zipf's law."""
    chosen = random.Random(1)
    letters = "abcdefghijklmnoprstuvz"
    words = ["".join(chosen.choices(letters, k=chosen.randint(2, 9))) for _ in range(VOCABULARY)]
    weights = [1 / rank for rank in range(1, VOCABULARY + 1)]
    stream: list[str] = []
    for _ in range(count):
        length = chosen.randint(least, most)
        if len(stream) < length:
            stream = chosen.choices(words, weights, k=100_000)
        yield [stream.pop() for _ in range(length)]


def measured(command: Sequence) -> tuple[float, float]:
    """Seconds and peak memory in MiB of a command and all that it starts.

    The memory is the largest sum of the processes' own memory (proportional set size), looked at
    ten times a second, and later once a second: to look takes time of a core.
    """
    began, peak = time.monotonic(), 0.0
    words = list(map(str, command))
    with tempfile.TemporaryFile("w+") as said:
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=said) as one:
            while one.poll() is None:
                peak = max(peak, sum(map(_own_memory, _family(one.pid))))
                with suppress(subprocess.TimeoutExpired):
                    one.wait(min(1.0, 0.1 + (time.monotonic() - began) / 100))
        if one.returncode:
            said.seek(0)
            raise SystemExit(f"{' '.join(words)} failed: {said.read()[-2000:]}")
    return time.monotonic() - began, peak / 1024


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """k of value = c size^k, by least squares of the logarithms: 1 is linear, 0 constant."""
    logs = [[math.log(value) for value in column] for column in (sizes, values)]
    return round(linear_regression(*logs).slope, 2)


def sizes_of(description: str, unit: str, least: int, default: Sequence[int],
             flags: Mapping[str, str] | None = None) -> Namespace:  # fmt: skip
    """The command line of a benchmark by size: ``sizes``, ``append`` and further flags."""
    options = ArgumentParser(description=description.split("\n")[0])
    options.add_argument("--sizes", type=int, nargs="+", default=default, help=f"numbers of {unit}")
    options.add_argument("--append", action="store_true", help="append to results.jsonl")
    for name, text in (flags or {}).items():
        options.add_argument(f"--{name}", action="store_true", help=text)
    setting = options.parse_args()
    if min(setting.sizes) < least:
        options.error(f"all numbers must be {least} or more")
    return setting


def by_size(sizes: Sequence[int], of_size: Callable[[int, Path], dict]) -> Points:
    """Seconds and MiB of every way at every size.

    Args:
        sizes: the sizes.
        of_size: measures all ways at a size, in an empty folder that is removed afterwards.
    """
    points: Points = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            for way, (seconds, peak) in of_size(size, Path(folder)).items():
                points.setdefault(way, []).append((seconds, peak))
                print(size, way, f"{seconds:.1f} s, {peak:.0f} MiB", flush=True)
    return points


def rates_and_peaks(unit: str, sizes: Sequence[int], points: Points) -> tuple[Rows, Rows]:
    """``{unit}_per_second_{size}`` and ``peak_mib_{size}`` of every way.

    If there are several sizes, also the exponents ``growth_time`` and ``growth_memory``.
    """
    speed: Rows = {}
    memory: Rows = {}
    for way, found in points.items():
        seconds, peaks = zip(*found, strict=True)
        speed[way] = {f"{unit}_per_second_{n}": round(n / took)
                      for n, took in zip(sizes, seconds, strict=True)}  # fmt: skip
        memory[way] = {f"peak_mib_{n}": round(peak) for n, peak in zip(sizes, peaks, strict=True)}
        if len(found) > 1:
            speed[way]["growth_time"] = exponent(sizes, seconds)
            memory[way]["growth_memory"] = exponent(sizes, peaks)
    return speed, memory


def record(experiment: str, rows: Rows, data: str, command: str,
           threads: int, append: bool) -> None:  # fmt: skip
    """Print the rows of an experiment, and append them to the records if asked."""
    for variant, metrics in rows.items():
        print(experiment, variant, metrics, flush=True)
        if append:
            append_result(RESULTS, Result(
                experiment=experiment, variant=variant, metrics=metrics, data=data,
                device=device_name(threads, on_cpu=True), command=command,
            ))  # fmt: skip


def _family(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        try:
            tasks = list(Path(f"/proc/{parent}/task").iterdir())
            found += [int(one) for task in tasks for one in (task / "children").read_text().split()]
        except OSError:  # it has ended
            continue
    return found


def _own_memory(pid: int) -> float:
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    found = re.search(r"^Pss:\s+(\d+) kB", rollup, re.M)
    return float(found[1]) if found else 0.0
