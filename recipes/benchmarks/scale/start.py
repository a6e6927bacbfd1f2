"""How long a training takes to begin, and what the data weigh, by the number of tokens.

Binarised data of random tokens are written directly, in sentences of about 21 tokens; a training
of two updates on them (``fairseq-train``, one worker for the batches) is compared with the same
training on 20,000 tokens. ``seconds_{tokens}`` and ``mib_{tokens}`` are what the larger one takes
more, by the clock and at the peak of memory, in which pages of the map that were read count, too.

    python recipes/benchmarks/scale/start.py [--sizes 1000000 100000000] [--append]
"""

import argparse
import struct
import tempfile
from pathlib import Path

import numpy as np
from fairseq.data.indexed_dataset import _dtype_header_code
from measuring import Rows, measured, record

from fairseq_struct.records.results import benchmark_name

VOCABULARY, EMPTY = 5000, 20_000  # tokens for two updates within an epoch
TASKS = {
    "recurrent_language_modeling": [
        "--arch=on_lstm_lm", "--criterion=recurrent_language_modeling", "--embed-dim=16",
        "--hidden-size=16", "--layers=1", "--chunk-size=4", "--batch-size=20",
    ],
    "structured_masked_lm": [
        "--arch=udgn_tiny", "--criterion=structured_masked_lm", "--max-tokens=1000",
    ],
    "structured_classification": [
        "--arch=recurrent_classifier", "--criterion=structured_classification", "--sides=1",
        "--cell=lstm", "--embed-dim=16", "--hidden-size=16", "--max-tokens=1000",
    ],
}  # fmt: skip


def write(path: Path, sizes: np.ndarray, tokens: np.ndarray) -> None:
    """An indexed data set in the format that fairseq maps into memory."""
    pointers = np.zeros(len(sizes), np.int64)
    pointers[1:] = np.cumsum(sizes[:-1], dtype=np.int64) * tokens.itemsize
    with open(f"{path}.idx", "wb") as file:
        file.write(b"MMIDIDX\x00\x00" + struct.pack("<Q", 1))
        file.write(struct.pack("<BQ", _dtype_header_code(tokens.dtype.type), len(sizes)))
        file.write(sizes.astype(np.int32).tobytes() + pointers.tobytes())
    tokens.tofile(f"{path}.bin")


def write_data(folder: Path, tokens: int) -> Path:
    """A folder that serves all three tasks."""
    folder.mkdir()
    words = (f"w{i} {VOCABULARY - i}\n" for i in range(VOCABULARY))
    (folder / "dict.txt").write_text("".join(words))
    (folder / "dict.label.txt").write_text("a 1\nb 1\n")
    chosen = np.random.default_rng(0)
    for split, total in (("train", tokens), ("valid", EMPTY)):
        sizes = np.clip(chosen.poisson(21, total // 20), 3, 60)
        sizes = sizes[: np.searchsorted(np.cumsum(sizes), total) + 1]
        drawn = chosen.integers(4, 4 + VOCABULARY, sizes.sum(), dtype=np.uint16)
        drawn[np.cumsum(sizes) - 1] = 2  # the end of a sentence
        for name in (split, f"{split}.sentence1"):
            write(folder / name, sizes, drawn)
        labels = chosen.integers(4, 6, len(sizes), dtype=np.uint16)
        write(folder / f"{split}.label", np.ones(len(sizes), int), labels)
    return folder


def started(task: str, data: Path) -> tuple[float, float]:
    """Seconds and MiB of a training of two updates."""
    return measured([
        "fairseq-train", data, "--user-dir=user_dir", "--cpu", f"--task={task}", *TASKS[task],
        "--optimizer=sgd", "--lr=0.1", "--max-update=2", "--disable-validation", "--no-save",
        "--num-workers=1", "--no-progress-bar",
    ])  # fmt: skip


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 100_000_000],
                         help="numbers of tokens")  # fmt: skip
    options.add_argument("--append", action="store_true", help="append to results.jsonl")
    setting = options.parse_args()
    if min(setting.sizes) < EMPTY:
        options.error(f"all numbers must be {EMPTY} or more")
    rows: Rows = {task: {} for task in TASKS}
    with tempfile.TemporaryDirectory() as scratch:
        least = write_data(Path(scratch) / "least", EMPTY)
        started(next(iter(TASKS)), least)  # the first one waits for the disk
        empty = {task: started(task, least) for task in TASKS}
        for size in setting.sizes:
            data = write_data(Path(scratch) / str(size), size)
            for task in TASKS:
                seconds, peak = started(task, data)
                rows[task][f"seconds_{size}"] = round(seconds - empty[task][0], 1)
                rows[task][f"mib_{size}"] = round(peak - empty[task][1])
                print(size, task, f"{seconds:.1f} s, {peak:.0f} MiB", flush=True)
    sizes = " ".join(map(str, setting.sizes))
    record(
        benchmark_name("start_of_training", 2), rows, "random tokens, two updates",
        f"python recipes/benchmarks/scale/start.py --sizes {sizes} --append", 2, setting.append,
    )  # fmt: skip


if __name__ == "__main__":
    main()
