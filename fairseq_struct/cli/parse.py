"""``fairseq-struct parse``: the latent trees of sentences."""

import argparse
import sys
from pathlib import Path

NAME = "parse"
HELP = "write the latent trees of raw sentences as CoNLL-U or as a page of pictures"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``parse``."""
    parser.add_argument("checkpoint", type=Path, help="a model with latent trees")
    parser.add_argument(
        "--format",
        choices=("conllu", "html"),
        default="conllu",
        help="what to write to standard output (default: conllu)",
    )
    parser.add_argument(
        "--data", type=Path, help="data-bin with the dictionaries, if it was moved since training"
    )
    parser.add_argument(
        "--truncate", action="store_true", help="cut sentences that are too long for the model"
    )


def run(args: argparse.Namespace) -> int:
    """Parse standard input, a sentence per line, words separated by spaces.

    The mean depth of the trees goes to standard error: the most arcs between root and a word.

    Raises:
        InputError: a sentence or the checkpoint cannot be used.
    """
    from fairseq_struct.data.conllu import to_conllu
    from fairseq_struct.data.tree_page import tree_page
    from fairseq_struct.inference import load, read_lines

    classifier = load(args.checkpoint, args.data, args.truncate)
    found = list(classifier.trees(read_lines(sys.stdin)))
    trees = [(one.sentences[0], one.heads[0]) for one in found]
    if args.format == "html":
        labels = [f"{one.label} · " if one.label else "" for one in found]
        captions = [
            f"{label}depth {one.depths[0]}" for label, one in zip(labels, found, strict=True)
        ]
        rows = [(*tree, caption) for tree, caption in zip(trees, captions, strict=True)]
        print(tree_page(rows, f"Latent trees of {args.checkpoint.name}"), end="")
    else:
        for number, (words, heads) in enumerate(trees, 1):
            comments = (f"sent_id = {number}", f"text = {' '.join(words)}")
            print(to_conllu(words, heads, comments), end="")
    if found:
        depth = sum(one.depths[0] for one in found) / len(found)
        print(f"{len(found)} trees, mean depth {depth:.2f}", file=sys.stderr)
    return 0
