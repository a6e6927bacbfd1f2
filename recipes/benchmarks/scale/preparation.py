"""Preparation of parallel text of growing size: pairs per second and peak memory.

The pairs are generated: sentences of 4 to 30 words of a vocabulary of 50,000 that are drawn by
Zipf's law, on the target side in reverse. Each size is prepared with one worker and with two;
``sentencepiece`` is its own trainer (byte pairs, of as many symbols, on at most a million lines)
and encoder over both sides, and ``fairseq_preprocess`` makes binarised data alone, of the segmented
text.

``pairs_per_second`` is by the clock, ``peak_mib`` the largest sum of the processes' own memory
(proportional set size, looked at ten times a second). ``growth`` are the exponents of time and
memory over the sizes, by least squares of their logarithms: 1 is linear, 0 constant.

    python recipes/benchmarks/scale/preparation.py [--sizes 10000 100000] [--append]
"""

import argparse
import math
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import linear_regression

from fairseq_struct.records.results import Result, append_result, benchmark_name, device_name

RESULTS = Path(__file__).parents[1] / "results.jsonl"
VOCABULARY, SUBWORDS, SAMPLE = 50000, 8000, 1_000_000
HELD_OUT = 500


def write_pairs(folder: Path, pairs: int) -> None:
    """Generated parallel text, with small validation and test parts."""
    chosen = random.Random(1)
    letters = "abcdefghijklmnoprstuvz"
    words = ["".join(chosen.choices(letters, k=chosen.randint(2, 9))) for _ in range(VOCABULARY)]
    weights = [1 / rank for rank in range(1, VOCABULARY + 1)]
    stream: list[str] = []
    for split, count in (("train", pairs), ("valid", HELD_OUT), ("test", HELD_OUT)):
        sides = folder / f"{split}.aa", folder / f"{split}.bb"
        with open(sides[0], "w") as source, open(sides[1], "w") as target:
            for _ in range(count):
                length = chosen.randint(4, 30)
                if len(stream) < length:
                    stream = chosen.choices(words, weights, k=100_000)
                sentence = [stream.pop() for _ in range(length)]
                source.write(" ".join(sentence) + " .\n")
                target.write(" ".join(reversed(sentence)) + " .\n")


def measured(command: list) -> tuple[float, float]:
    """Seconds and peak memory in MiB of a command and all that it starts."""
    began, peak = time.monotonic(), 0.0
    words = list(map(str, command))
    with tempfile.TemporaryFile("w+") as said:
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=said) as one:
            while one.poll() is None:
                peak = max(peak, sum(map(_own_memory, _family(one.pid))))
                time.sleep(0.1)
        if one.returncode:
            said.seek(0)
            raise SystemExit(f"{' '.join(words)} failed: {said.read()[-2000:]}")
    return time.monotonic() - began, peak / 1024


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


def of_size(pairs: int, folder: Path) -> dict[str, tuple[float, float]]:
    """Seconds and peak memory of each way."""
    text = folder / "text"
    text.mkdir()
    write_pairs(text, pairs)
    found = {}
    for workers in (1, 2):
        out = folder / f"workers_{workers}"
        found[f"workers_{workers}"] = measured([
            "fairseq-struct", "prepare", "parallel", "plain", out,
            *[f"--{split}-pref={text / split}" for split in ("train", "valid", "test")],
            "--source-lang=aa", "--target-lang=bb", f"--subwords={SUBWORDS}",
            f"--workers={workers}", f"--learn-on={SAMPLE}",
        ])  # fmt: skip
    segmented = sorted((folder / "workers_1").rglob("train*.aa"))
    if segmented:
        prefix = str(segmented[-1])[: -len(".aa")]
        found["fairseq_preprocess"] = measured([
            "fairseq-preprocess", f"--trainpref={prefix}", "--source-lang=aa", "--target-lang=bb",
            f"--destdir={folder / 'binarised'}", "--joined-dictionary", "--workers=2",
        ])  # fmt: skip
    found["sentencepiece"] = measured([sys.executable, "-c", _SENTENCEPIECE, text, folder / "sp"])
    return found


_SENTENCEPIECE = f"""
import sys, sentencepiece
text, model = sys.argv[1:]
sides = [text + "/train.aa", text + "/train.bb"]
sentencepiece.SentencePieceTrainer.train(
    input=",".join(sides), model_prefix=model, vocab_size={SUBWORDS}, model_type="bpe",
    input_sentence_size={SAMPLE}, num_threads=2)
segmenter = sentencepiece.SentencePieceProcessor(model_file=model + ".model")
for side in sides:
    with open(side) as lines, open(side + ".segmented", "w") as out:
        for line in lines:
            out.write(" ".join(segmenter.encode(line.strip(), out_type=str)) + chr(10))
"""


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000],
                         help="numbers of pairs")  # fmt: skip
    options.add_argument("--append", action="store_true", help=f"append to {RESULTS.name}")
    setting = options.parse_args()
    if min(setting.sizes) < 1:
        options.error("all numbers must be 1 or more")
    rows: dict[str, dict[str, float]] = {}
    points: dict[str, list[tuple[float, float, float]]] = {}
    for pairs in setting.sizes:
        with tempfile.TemporaryDirectory() as folder:
            for way, (seconds, peak) in of_size(pairs, Path(folder)).items():
                row = rows.setdefault(way, {})
                row[f"pairs_per_second_{pairs}"] = round(pairs / seconds)
                row[f"peak_mib_{pairs}"] = round(peak)
                points.setdefault(way, []).append((pairs, seconds, peak))
                print(pairs, way, f"{seconds:.1f} s, {peak:.0f} MiB", flush=True)
    for way, found in points.items():
        if len(found) > 1:
            logs = [[math.log(value) for value in column] for column in zip(*found, strict=True)]
            rows[way]["growth_time"] = round(linear_regression(logs[0], logs[1]).slope, 2)
            rows[way]["growth_memory"] = round(linear_regression(logs[0], logs[2]).slope, 2)
    sizes = " ".join(map(str, setting.sizes))
    for way, metrics in rows.items():
        print(way, metrics, flush=True)
        if setting.append:
            append_result(RESULTS, Result(
                experiment=benchmark_name("preparation", 2), variant=way, metrics=metrics,
                data=f"generated pairs of 4 to 30 words, {SUBWORDS} merges",
                device=device_name(2, on_cpu=True),
                command=f"python recipes/benchmarks/scale/preparation.py --sizes {sizes} --append",
            ))  # fmt: skip


if __name__ == "__main__":
    main()
