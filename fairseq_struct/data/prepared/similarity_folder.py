"""The prepared folder for ``--task semantic_similarity``.

::

    OUT/dict.txt                                  the dictionary of the model
    OUT/train.tsv, valid.tsv                      STS Benchmark: score, sentence, sentence
    OUT/STS-B.tsv, SICK-R.tsv, STS12.tsv, …       test sets
    OUT/manifest.json                             counts
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from fairseq_struct.data.prepared.manifest import digest
from fairseq_struct.data.prepared.prepared_folder import write_prepared_folder
from fairseq_struct.data.prepared.vocabulary.dictionary_file import check_dictionary
from fairseq_struct.data.readers.scored_pairs import (
    BENCHMARK,
    SICK,
    YEARS,
    Pair,
    as_language_model_words,
    read_benchmark,
    read_sick,
    read_year,
    write_pairs,
)
from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_lines

DICTIONARY = "dict.txt"


def write_similarity_folder(
    sts: Path, dictionary: Path, out: str | Path, *, overwrite: bool = False,
    say: Callable[[str], None] = lambda message: None,
) -> dict:  # fmt: skip
    """Write the data sets found below ``sts``, and return the folder's manifest.

    Args:
        sts: folder of STSBenchmark, SICK and STS12-en-test to STS16-en-test; only STSBenchmark is
            required.
        dictionary: dict.txt of the model's data-bin.
        out: folder to make; it appears complete or not at all.
        overwrite: replace a folder made from other data; it must have no other files.
        say: called with progress messages.

    Raises:
        InputError: a file is missing or malformed, or ``out`` holds something else.
    """
    known_words = read_lines(dictionary)
    sets, subsets = _read(sts)
    share = share_of_known_words(dictionary, (pair for pairs in sets.values() for pair in pairs))

    def fill(folder: Path) -> dict:
        shutil.copyfile(dictionary, folder / DICTIONARY)
        for name, pairs in sets.items():
            write_pairs(folder / f"{name}.tsv", pairs)
        sizes = {name: len(pairs) for name, pairs in sets.items()}
        return {"pairs": sizes, "subsets": subsets, "known_words": round(share, 1)}

    identity = {
        "preparation": "semantic similarity",
        "text_sha256": {DICTIONARY: digest(known_words)}
        | {
            name: digest(f"{pair.score}\t{pair.first}\t{pair.second}" for pair in pairs)
            for name, pairs in sets.items()
        },
    }
    return write_prepared_folder(out, identity, fill, overwrite=overwrite, say=say)


def share_of_known_words(dictionary: Path, pairs: Iterable[Pair]) -> float:
    """Share of the words of sentence pairs that are in a model's dictionary, 0 to 100.

    Args:
        dictionary: ``dict.txt``, a word and its count per line.
        pairs: sentence pairs.

    Raises:
        InputError: as for :func:`.check_dictionary`, or the file has none of the words.
    """
    known = check_dictionary(dictionary)
    sentences = (sentence for pair in pairs for sentence in (pair.first, pair.second))
    words = [word for sentence in sentences for word in as_language_model_words(sentence)]
    found = sum(word in known for word in words)
    if not found:
        raise InputError(f"{dictionary}: contains no word of these sentences")
    return 100 * found / len(words)


def _read(sts: Path) -> tuple[dict[str, list[Pair]], dict[str, dict[str, int]]]:
    """Read every data set, and the subset sizes of the yearly test sets."""
    sets = {
        name: read_benchmark(sts / BENCHMARK / f"sts-{split}.csv")
        for name, split in (("train", "train"), ("valid", "dev"), ("STS-B", "test"))
    }
    if (sts / SICK).is_dir():
        sets["SICK-R"] = read_sick(sts / SICK / "SICK_test_annotated.txt")
    sizes = {}
    for year in YEARS:
        folder = sts / f"{year}-en-test"
        if folder.is_dir():
            subsets = read_year(folder)
            sets[year] = [pair for pairs in subsets.values() for pair in pairs]
            sizes[year] = {name: len(own) for name, own in subsets.items()}
    return sets, sizes
