"""Generate a translation corpus with gold trees on both sides, ready for fairseq.

    fairseq-struct prepare synthetic_translation OUT --sentences 20000 500 500 --seed 1

OUT/trees holds constituency trees (brackets), dependency trees (CoNLL-U) and word alignments of
the sentences, in the order of the text.
"""

from __future__ import annotations

import argparse

from fairseq_struct.cli.shared.preparation import (
    add_folder_options,
    add_seed,
    add_workers,
    at_least,
    say,
    summary,
)
from fairseq_struct.data.generators.synthetic_translation import TEXT_OPTIONS, generate_corpus
from fairseq_struct.data.prepared.binarise import SPLITS
from fairseq_struct.data.prepared.translation_folder import write_translation_folder


def run(args: argparse.Namespace) -> None:
    """Generate the corpus that the command line describes."""
    sizes = dict(zip(SPLITS, args.sentences, strict=True))
    say(f"drawing {sum(sizes.values())} sentences with seed {args.seed}")
    corpus = generate_corpus(sizes, args.max_depth, args.seed)
    manifest = write_translation_folder(
        corpus, TEXT_OPTIONS, args.out, workers=args.workers, overwrite=args.overwrite, say=say
    )
    print(summary(manifest, args.out, "scheduled_sampling_transformer_tiny"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command line."""
    add_folder_options(parser)
    add_workers(parser)
    parser.add_argument(
        "--sentences",
        nargs=3,
        type=at_least(1),
        default=(20000, 500, 500),
        metavar=("TRAIN", "VALID", "TEST"),
        help="sentence pairs of each split (default: 20000 500 500)",
    )
    add_seed(parser, "the corpus")
    parser.add_argument(
        "--max-depth",
        type=at_least(1),
        default=3,
        help="maximum number of nested clauses and adpositional phrases (default: 3)",
    )
