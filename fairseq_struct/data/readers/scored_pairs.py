"""Sentence pairs with a similarity score, in the formats of STS and SICK."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nltk.tokenize import TreebankWordTokenizer

from fairseq_struct.data.readers.penn_treebank import normalised
from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import files_of, read_lines, write_lines

YEARS = ("STS12", "STS13", "STS14", "STS15", "STS16")
BENCHMARK, SICK = "STSBenchmark", "SICK"
# Highest score of all data sets; the lowest is 1 in SICK, 0 in the others.
HIGHEST = 5.0
INPUT, GOLD = "STS.input.", "STS.gs."


@dataclass(frozen=True)
class Pair:
    """Two sentences and their score, from 0 to 5."""

    first: str
    second: str
    score: float


def read_benchmark(path: str | Path) -> list[Pair]:
    """Read the pairs of an STS Benchmark file.

    Raises:
        InputError: the file is missing or malformed, with the line.
    """
    path = Path(path)
    rows = ((number, line.split("\t")) for number, line in _lines(path))
    return [_pair(path, number, row[4:7]) for number, row in rows]


def read_sick(path: str | Path) -> list[Pair]:
    """Read the pairs of a SICK file, with the relatedness as score.

    Raises:
        InputError: the file is missing or malformed, with the line.
    """
    path = Path(path)
    pairs = []
    for number, line in _lines(path):
        row = line.split("\t")
        if number > 1:  # the first line has the names of the columns
            pairs.append(_pair(path, number, [row[3] if len(row) > 3 else "", *row[1:3]]))
    return pairs


def read_year(folder: str | Path) -> dict[str, list[Pair]]:
    """Read the pairs of every subset of a yearly test set; pairs without a score are left out.

    Raises:
        InputError: no subset has both files, or a file is malformed, with the line.
    """
    folder, subsets = Path(folder), {}
    for path in files_of(folder, f"{INPUT}*.txt"):
        gold = folder / path.name.replace(INPUT, GOLD)
        if not gold.is_file():
            continue
        sentences, scores = list(_lines(path)), list(_lines(gold))
        if len(sentences) != len(scores):
            raise InputError(f"{gold}: {len(scores)} lines, but {path} has {len(sentences)}")
        subsets[path.name[len(INPUT) : -len(".txt")]] = [
            _pair(path, number, [score, *line.split("\t")[:2]])
            for (number, line), (_, score) in zip(sentences, scores, strict=True)
            if score.strip()
        ]
    if not subsets:
        raise InputError(f"{folder}: no {INPUT}*.txt with its {GOLD}*.txt in this folder")
    return subsets


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    yield from enumerate(read_lines(path) or [""], 1)  # an empty file counts as one empty line


def _pair(path: Path, number: int, row: list[str]) -> Pair:
    if len(row) != 3 or not row[1].strip() or not row[2].strip():
        raise InputError(f"{path}:{number}: expected a score and two sentences")
    try:
        score = float(row[0])
    except ValueError:
        raise InputError(f"{path}:{number}: {row[0]!r} is not a score") from None
    if not 0 <= score <= HIGHEST:
        raise InputError(f"{path}:{number}: score {row[0]} is outside 0 to {HIGHEST:.0f}")
    return Pair(row[1], row[2], score)


@functools.cache
def _tokenizer() -> TreebankWordTokenizer:
    return TreebankWordTokenizer()


def as_language_model_words(sentence: str) -> list[str]:
    """Tokenise as the Penn Treebank, remove punctuation, lower-case, and replace numbers by N.

    A sentence of only punctuation keeps all its tokens.
    """
    tokens = _tokenizer().tokenize(sentence)
    words = [token for token in tokens if any(map(str.isalnum, token))]
    return [normalised(word) for word in words or tokens]


def read_pairs(path: str | Path) -> list[Pair]:
    """Read lines ``score<TAB>sentence<TAB>sentence``; spaces separate the words.

    Raises:
        InputError: the file is missing, empty or malformed, with the line.
    """
    path = Path(path)
    pairs = [_pair(path, number, line.split("\t")) for number, line in _lines(path)]
    return pairs


def write_pairs(path: Path, pairs: list[Pair]):
    """Write pairs in the format of :func:`read_pairs`."""
    rows = (
        "\t".join([f"{pair.score:g}", *(" ".join(as_language_model_words(sentence))
                                        for sentence in (pair.first, pair.second))])
        for pair in pairs
    )  # fmt: skip
    write_lines(path, rows)
