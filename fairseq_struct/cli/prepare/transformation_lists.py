"""Prepare the steps that build constituency trees, for --task grammar_induction.

    fairseq-struct prepare transformation_lists TREES OUT
    fairseq-struct prepare transformation_lists TREES OUT --punctuation remove --shortest 5
    fairseq-struct prepare transformation_lists generated OUT --sentences 1000 --seed 1

TREES is a file of bracketed trees with parts of speech, or a folder with .mrg files, such as the
Penn Treebank. The steps go from right to left and bottom up. Every word becomes its part of speech
by a step of one word, and a phrase is formed when its leftmost child is ready. Null elements are
removed, NP-SBJ becomes NP, and sentences of one word are left out. The help of each option gives
the numbers of the sample of the Penn Treebank that comes with NLTK (3,914 sentences).

"generated" draws trees of an invented phrase-structure grammar instead (./generated is a folder).

It writes OUT/trees, OUT/text and OUT/tagged, one sentence a line, and OUT/data-bin.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from fairseq_struct.cli.shared.preparation import (
    add_folder_options,
    add_seed,
    at_least,
    how_to_train,
    say,
)
from fairseq_struct.data.generators.phrase_structures import GENERATED, generate_lists
from fairseq_struct.data.prepared.list_folder import TEST_SHARE, VALID_SHARE, write_list_folder
from fairseq_struct.data.readers.transformation_lists import UNARY, ListOptions, read_lists
from fairseq_struct.errors import InputError

SENTENCES = 1000


def run(args: argparse.Namespace) -> None:
    """Prepare the trees that the command line names.

    Raises:
        InputError: there are no trees, one is malformed, a part is empty, or OUT holds something
            else.
    """
    options = ListOptions(args.punctuation == "keep", args.unary, args.shortest, args.longest)
    if args.trees != GENERATED and args.sentences is not None:
        raise InputError(f"--sentences is for {GENERATED} trees only")
    number = args.sentences or SENTENCES
    drawn = {"sentences": number} if args.trees == GENERATED else {}
    trees = generate_lists(number, args.seed, options) if drawn else read_lists(args.trees, options)
    manifest = write_list_folder(
        trees, args.out, options, test_share=args.test_share, valid_share=args.valid_share,
        seed=args.seed, least_count=args.least_count, lower=not args.no_lower, drawn=drawn,
        generator=generate_lists.__module__ if drawn else "", overwrite=args.overwrite, say=say,
    )  # fmt: skip
    tell(manifest, args.out)


def tell(manifest: dict, out: Path) -> None:
    """Print the counts of a folder, and the command that trains on it."""
    unknown = manifest["steps_of_unknown_category"]
    for part, count in manifest["sentences"].items():
        more = f", {unknown[part]} of unknown categories" if unknown.get(part) else ""
        print(f"{part}: {count} sentences, {manifest['steps'][part]} steps{more}")
    print(f"sentences of one word, left out: {manifest['one_word_sentences_left_out']}")
    print(f"steps that take a single symbol: {manifest['single_word_steps']} %")
    print(f"tags: {manifest['tags']}, categories in training: {manifest['categories']}")
    print(how_to_train(out, "rim_parser_cpu"))


def share(text: str) -> float:
    """An argparse type for shares, which are above 0 and below 1."""
    number = at_least(0, float)(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command line."""
    parser.add_argument("trees", metavar="TREES", help=f"file or folder with trees, or {GENERATED}")
    _add_options_of_trees(parser)
    _add_options_of_parts(parser)
    parser.add_argument(
        "--sentences", type=at_least(1), metavar="N",
        help=f"with {GENERATED} trees: how many to draw (default: {SENTENCES})",
    )  # fmt: skip
    add_seed(parser, f"the division into parts, and of {GENERATED} trees")
    add_folder_options(parser)


def _add_options_of_trees(parser: argparse.ArgumentParser) -> None:
    default = ListOptions()
    parser.add_argument(
        "--punctuation", choices=("keep", "remove"), default="keep",
        help="keep: 71 tags, 61 %% of the steps take a single word, 1 sentence of one word; "
        "remove: 64 tags, 59 %%, 13 sentences of one word (default: keep)",
    )  # fmt: skip
    parser.add_argument(
        "--unary", choices=UNARY, default=default.unary,
        help="what becomes of a phrase with one child; merge: one step with its child, whose "
        "category names both, such as NP+NNP; own: a step over one symbol, so that 65 %% of the "
        f"steps take a single symbol (62 %% without punctuation) (default: {default.unary})",
    )  # fmt: skip
    parser.add_argument(
        "--shortest", type=at_least(1), default=default.shortest, metavar="N",
        help="leave out sentences of fewer words; 5 to 59 words without punctuation leave 3,794 "
        "sentences (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "--longest", type=at_least(1), metavar="N",
        help="leave out sentences of more words; up to 47 words leave 3,793 sentences (default: no "
        "limit; the longest has 249)",
    )  # fmt: skip


def _add_options_of_parts(parser: argparse.ArgumentParser) -> None:
    numbers: tuple[tuple[str, Callable, float, str], ...] = (
        ("--test-share", share, TEST_SHARE, "share of the sentences, at random, in the test part"),
        ("--valid-share", share, VALID_SHARE, "share of the others in the validation part"),
        ("--least-count", at_least(1), 2, "words rarer than this in training are unknown"),
    )
    for name, kind, value, text in numbers:
        parser.add_argument(
            name, type=kind, default=value, metavar="X", help=f"{text} (default: {value})"
        )
    parser.add_argument(
        "--no-lower", action="store_true",
        help="keep the case of words; otherwise data-bin has them in lower case",
    )  # fmt: skip
