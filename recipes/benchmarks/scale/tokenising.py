"""The Moses tokeniser beside that of sacremoses: lines per second, and lines of other tokens.

The lines are those of files whose names end in their language, then mixtures: pieces of two lines
of a language, joined, with punctuation at the edges of some words. ``ours`` remembers words
(``fairseq_struct.data.readers.moses_words``); its memory begins empty. ``different`` counts lines.

    python recipes/benchmarks/scale/tokenising.py DATA/multi30k/train.{en,de,fr} [--append]
"""

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from measuring import record
from sacremoses import MosesTokenizer

from fairseq_struct.data.readers.moses_words import MosesWords
from fairseq_struct.records.results import benchmark_name

MARKS = [
    *".,'\"?!:;()-&%/«»„“’|[]<>\u00a0\u00ad", "...", "--", "'s", "n't", ".5", "1.", "A.", "e.g.",
]  # fmt: skip
CHUNK = 10_000
LINES = 1_000_000


def mixed(lines: Sequence[str], chosen: random.Random) -> str:
    """Pieces of two lines, with marks at the edges of some words."""
    words = []
    for line in chosen.choices(lines, k=2):
        own = line.split(" ")
        first = chosen.randrange(len(own))
        words += own[first : first + chosen.randint(1, 12)]
    for place in range(len(words)):
        draw = chosen.random()
        if draw < 0.1:
            words[place] += chosen.choice(MARKS)
        elif draw < 0.15:
            words[place] = chosen.choice(MARKS) + words[place]
        elif draw < 0.2:
            words[place] = chosen.choice(MARKS)
    return " ".join(words)


def text(files: Sequence[Path], count: int) -> Iterator[tuple[str, str]]:
    """``count`` languages and lines."""
    read = {path: path.read_text(encoding="utf-8").splitlines() for path in files}
    chosen = random.Random(1)
    found = [(path.suffix[1:], line) for path, lines in read.items() for line in lines]
    yield from found[:count]
    for _ in range(count - len(found)):
        path = chosen.choice(files)
        yield path.suffix[1:], mixed(read[path], chosen)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("files", nargs="+", type=Path, metavar="FILE.LANG", help="raw text")
    options.add_argument("--lines", type=int, default=LINES, help="number of lines")
    options.add_argument("--append", action="store_true", help="append to results.jsonl")
    setting = options.parse_args()
    languages = {path.suffix[1:] for path in setting.files}
    ours = {language: MosesWords(language) for language in languages}
    theirs = {language: MosesTokenizer(language) for language in languages}
    took, different, lines = [0.0, 0.0], 0, text(setting.files, setting.lines)
    while some := list(islice(lines, CHUNK)):
        began = time.perf_counter()
        one = [ours[language](line) for language, line in some]
        between = time.perf_counter()
        two = [theirs[language].tokenize(line, return_str=True, escape=False)
               for language, line in some]  # fmt: skip
        took[0] += between - began
        took[1] += time.perf_counter() - between
        different += sum(a != b for a, b in zip(one, two, strict=True))
    speeds = [round(setting.lines / seconds) for seconds in took]
    rows = {
        "ours": {"lines_per_second": speeds[0], "different": different},
        "sacremoses": {"lines_per_second": speeds[1]},
    }
    data = f"{setting.lines} lines: raw text ({' '.join(sorted(languages))}), then mixtures"
    command = "python recipes/benchmarks/scale/tokenising.py DATA/multi30k/train.{en,de,fr}"
    if setting.lines != LINES:
        command += f" --lines {setting.lines}"
    record(
        benchmark_name("tokenising", 1), rows, data, f"{command} --append", 1, setting.append
    )


if __name__ == "__main__":
    main()
