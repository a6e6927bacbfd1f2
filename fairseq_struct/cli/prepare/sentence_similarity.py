"""Prepare the data sets of semantic textual similarity, for ``--task semantic_similarity``.

    fairseq-struct prepare sentence_similarity STS DICTIONARY OUT

STS is a folder of STSBenchmark, SICK and STS12-en-test to STS16-en-test. Only STSBenchmark is
required, because it is the training set; other missing sets are left out. DICTIONARY is dict.txt of
the data-bin that the model was trained on. OUT receives dict.txt, train.tsv, valid.tsv and the test
sets STS-B.tsv, SICK-R.tsv and STS12.tsv to STS16.tsv. A yearly set joins its subsets ("all"). The
columns are score, sentence, sentence. Words are as in the Penn Treebank's language model text: its
tokens, no punctuation, lower case, numbers as N.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from fairseq_struct.cli.shared.preparation import add_folder_options, say
from fairseq_struct.data.prepared.similarity_folder import write_similarity_folder


def run(args: argparse.Namespace) -> None:
    """Prepare the data sets that the command line names.

    Raises:
        InputError: a file is missing or malformed, or OUT holds something else.
    """
    manifest = write_similarity_folder(
        args.sts, args.dictionary, args.out, overwrite=args.overwrite, say=say
    )
    for year, subsets in manifest["subsets"].items():
        print(f"{year}: {', '.join(f'{name} {size}' for name, size in subsets.items())}")
    for name, size in manifest["pairs"].items():
        print(f"{name}: {size} pairs")
    print(f"{manifest['known_words']} % of the words are in {args.dictionary}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command line."""
    parser.add_argument("sts", metavar="STS", type=Path, help="folder with the data sets")
    parser.add_argument("dictionary", metavar="DICTIONARY", type=Path, help="dict.txt")
    add_folder_options(parser)
