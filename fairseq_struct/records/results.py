"""Records of experiments: one JSON object per line. Reported numbers come only from records."""

import fcntl
import json
import re
import shlex
from dataclasses import asdict, dataclass, field, fields
from itertools import takewhile
from pathlib import Path

from fairseq_struct import __version__
from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_lines
from fairseq_struct.files.whole_files import whole_file
from fairseq_struct.processor import own_instructions

SCALES = ("paper", "reduced")
RESULTS = "results.jsonl"  # name of a file of records
_VARIABLE = re.compile("[A-Z_]+=")
# Variables of recipes that say which of its runs are made.
_OF_ROWS = ("SEED", "SEEDS", "RATES", "EIGHTHS")


@dataclass(frozen=True)
class Result:
    """One run of one variant of an experiment.

    Attributes:
        experiment: corpus and direction or task, e.g. ``multi30k_en_de``.
        variant: row of the table in the paper (or thesis) that the recipe repeats, e.g. ``top_k``.
        metrics: name to value; percentages from 0 to 100.
        paper: the paper's values under the same names, if the paper gives them.
        scale: ``paper`` for the paper's setting, ``reduced`` for a smaller one.
        data: the data on which the numbers were measured.
        seed: fairseq's ``--seed``.
        updates: training updates.
        device: processor, its vector instructions (older records lack them) and threads; or
            accelerator.
        minutes: training time.
        command: command that produced the record.
        version: version of this package.
    """

    experiment: str
    variant: str
    metrics: dict[str, float]
    paper: dict[str, float] = field(default_factory=dict)
    scale: str = "reduced"
    data: str = ""
    seed: int = 1
    updates: int = 0
    device: str = ""
    minutes: float = 0.0
    command: str = ""
    version: str = __version__

    def __post_init__(self):
        if self.scale not in SCALES:
            raise ValueError(f"scale must be one of {SCALES}, not {self.scale!r}")
        for values in (self.metrics, self.paper):
            if not isinstance(values, dict) or not all(
                isinstance(name, str) and isinstance(value, int | float)
                for name, value in values.items()
            ):
                raise ValueError("metrics and paper must be numbers by name")

    @property
    def settings(self) -> tuple[str, ...]:
        """The environment variables of the command, in order, but those that choose its rows."""
        try:
            words = takewhile(_VARIABLE.match, shlex.split(self.command))
        except ValueError:  # no command of a shell
            return ()
        return tuple(sorted(word for word in words if word.partition("=")[0] not in _OF_ROWS))


def benchmark_name(what: str, threads: int) -> str:
    """Name of a benchmark as an experiment, so that each kind of processor has its own table.

    Args:
        what: what is measured, e.g. ``on_lstm``.
        threads: number of CPU threads.

    Returns:
        The name, e.g. ``on_lstm_1_thread_avx2``.
    """
    count = f"{threads}_thread{'s' if threads > 1 else ''}"
    return "_".join(filter(None, (what, count, own_instructions())))


def append_result(path: str | Path, result: Result):
    """Append a record to a file; a record of the same run is replaced.

    Two records are of the same run if experiment, variant, seed, updates, scale, data and the
    settings of the command agree.
    Programs that append at the same time wait for each other.

    Args:
        path: the file; created if it does not exist.
        result: the record.

    Raises:
        InputError: the file holds anything else than records.
    """
    path = Path(path)
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        results = read_results(path) if path.exists() else []
        keys = [_run_of(old) for old in results]
        if _run_of(result) in keys:
            results[keys.index(_run_of(result))] = result
        else:
            results.append(result)
        lines = [json.dumps(asdict(item), ensure_ascii=False) + "\n" for item in results]
        with whole_file(path) as file:
            file.write("".join(lines).encode())


def _run_of(item: Result) -> tuple:
    named = item.experiment, item.variant, item.seed
    return *named, item.updates, item.scale, item.data, item.settings


def read_results(path: str | Path) -> list[Result]:
    """Read a file of records.

    Raises:
        InputError: a line is not a record; the message names file and line.
    """
    names = {item.name for item in fields(Result)}
    results = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            entry = json.loads(line)
            if not isinstance(entry, dict) or not set(entry) <= names:
                raise ValueError("unknown fields, or not a JSON object")
            results.append(Result(**entry))
        except (ValueError, TypeError, RecursionError) as error:
            raise InputError(f"{path}:{number}: not a result record ({error})") from None
    return results


def results_of(system: str, experiment: str, recipes: str | Path) -> list[Result]:
    """Records of one experiment in ``RECIPES/SYSTEM/results.jsonl``; empty without this file."""
    path = Path(recipes) / system / RESULTS
    results = read_results(path) if path.is_file() else []
    return [item for item in results if item.experiment == experiment]
