"""Parsing of files of growing size with a small trained model: sentences per second, peak memory.

The sentences are those that the model was trained on, repeated: generated, 4 to 20 words. Each
file is parsed by ``fairseq-struct parse --input FILE --output FILE`` with one worker and with two;
the outputs must be the same bytes. Time is by the clock, memory the sum over all processes.

    python recipes/benchmarks/scale/parsing.py [--sizes 10000 100000] [--append]
"""

import functools
import itertools
import subprocess
import tempfile
from hashlib import file_digest
from pathlib import Path

from measuring import by_size, measured, rates_and_peaks, record, sizes_of

from fairseq_struct.records.results import benchmark_name

UPDATES = 20  # the weights do not matter to speed


def trained(folder: Path) -> Path:
    """A checkpoint of a small model, and the text it was trained on beside it."""
    for command in (
        ["fairseq-struct", "prepare", "dependency_treebank", "generated", folder / "trees"],
        ["fairseq-struct", "train", folder / "trees", "--preset", "udgn_tiny", "--cpu",
         f"--save-dir={folder / 'run'}", f"--max-update={UPDATES}"],
    ):  # fmt: skip
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return folder / "run" / "checkpoint_last.pt"


def of_size(checkpoint: Path, count: int, folder: Path) -> dict[str, tuple[float, float]]:
    """Seconds and peak memory with each number of workers."""
    given = checkpoint.parents[1] / "trees" / "text" / "train.txt"
    lines = given.read_text().splitlines(keepends=True)
    text = folder / f"{count}.txt"
    with open(text, "w") as out:
        out.writelines(itertools.islice(itertools.cycle(lines), count))
    found, digests = {}, set()
    for workers in (1, 2):
        trees = folder / f"{count}.{workers}.conllu"
        found[f"workers_{workers}"] = measured([
            "fairseq-struct", "parse", checkpoint, "--input", text, "--output", trees,
            f"--workers={workers}",
        ])  # fmt: skip
        with open(trees, "rb") as made:
            digests.add(file_digest(made, "sha256").hexdigest())
        trees.unlink()
    if len(digests) > 1:
        raise SystemExit(f"{count} sentences: the number of workers changed the output")
    return found


def main():
    setting = sizes_of(__doc__, "sentences", 1, [10_000, 100_000])
    with tempfile.TemporaryDirectory() as scratch:
        checkpoint = trained(Path(scratch))
        points = by_size(setting.sizes, functools.partial(of_size, checkpoint))
    speed, memory = rates_and_peaks("sentences", setting.sizes, points)
    rows = {way: speed[way] | memory[way] for way in points}
    sizes = " ".join(map(str, setting.sizes))
    record(
        benchmark_name("parsing_of_files", 2), rows, "generated sentences, preset udgn_tiny",
        f"python recipes/benchmarks/scale/parsing.py --sizes {sizes} --append", 2, setting.append,
    )  # fmt: skip


if __name__ == "__main__":
    main()
