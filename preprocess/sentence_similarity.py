"""Prepare the data sets of semantic textual similarity, for ``--task semantic_similarity``.

    python preprocess/sentence_similarity.py STS DICTIONARY OUT

STS is a folder of STSBenchmark, SICK and STS12-en-test to STS16-en-test; those that are missing are
left out, but for STSBenchmark, which is trained on. DICTIONARY is dict.txt of the data-bin that the
model was trained on. OUT gets that, train.tsv and valid.tsv, and as test sets STS-B.tsv, SICK-R.tsv
and STS12.tsv to STS16.tsv, each year's subsets together ("all"): score, sentence, sentence, with
words as those of the Penn Treebank's text: its tokens, no punctuation, lower case, numbers as N.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from fairseq_struct.data.atomic_folder import atomic_folder, require_free
from fairseq_struct.data.preparation_script import run_script
from fairseq_struct.data.sentence_pairs import (
    BENCHMARK,
    SICK,
    YEARS,
    read_benchmark,
    read_sick,
    read_year,
    share_of_known_words,
    write_pairs,
)

DICTIONARY = "dict.txt"


def main(argv: Sequence[str] | None = None) -> None:
    """Prepare what the command line names.

    Raises:
        InputError: a file is missing or malformed, or OUT holds something.
    """
    args = build_parser().parse_args(argv)
    require_free(args.out, DICTIONARY, args.overwrite, ("*.tsv",))
    benchmark = args.sts / BENCHMARK
    sets = {
        name: read_benchmark(benchmark / f"sts-{split}.csv")
        for name, split in (("train", "train"), ("valid", "dev"), ("STS-B", "test"))
    }
    if (args.sts / SICK).is_dir():
        sets["SICK-R"] = read_sick(args.sts / SICK / "SICK_test_annotated.txt")
    for year in YEARS:
        folder = args.sts / f"{year}-en-test"
        if folder.is_dir():
            subsets = read_year(folder)
            sets[year] = [pair for pairs in subsets.values() for pair in pairs]
            print(f"{year}: {', '.join(f'{name} {len(own)}' for name, own in subsets.items())}")
    every = (pair for pairs in sets.values() for pair in pairs)
    share = share_of_known_words(args.dictionary, every)
    with atomic_folder(args.out) as folder:
        shutil.copyfile(args.dictionary, folder / DICTIONARY)
        for name, pairs in sets.items():
            write_pairs(folder / f"{name}.tsv", pairs)
    for name, pairs in sets.items():
        print(f"{name}: {len(pairs)} pairs")
    print(f"{share:.1f} % of the words are in {args.dictionary}")


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sts", metavar="STS", type=Path, help="folder with the data sets")
    parser.add_argument("dictionary", metavar="DICTIONARY", type=Path, help="dict.txt")
    parser.add_argument("out", metavar="OUT", type=Path, help="folder to write")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT")
    return parser


if __name__ == "__main__":
    sys.exit(run_script(main))
