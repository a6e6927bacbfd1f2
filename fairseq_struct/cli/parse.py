"""``fairseq-struct parse``: the latent trees of sentences."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from fairseq_struct.cli.trained_models import add_tool_options, load_tool
from fairseq_struct.errors import InputError

NAME = "parse"
HELP = "write the latent trees of raw sentences as CoNLL-U, as brackets, or as a page of pictures"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``parse``."""
    parser.add_argument("checkpoint", type=Path, help="a model with latent trees")
    parser.add_argument(
        "--format",
        choices=("brackets", "conllu", "html"),
        help="what to write to standard output (default: brackets of constituency trees, CoNLL-U "
        "of dependency trees)",
    )
    parser.add_argument(
        "--data", type=Path, help="data-bin with the dictionaries, if it was moved since training"
    )
    add_tool_options(parser, NAME)


def run(args: argparse.Namespace) -> int:
    """Parse standard input, a sentence per line, words separated by spaces.

    The mean depth of the trees goes to standard error: of dependency trees the most arcs between
    root and a word, of constituency trees the mean number of constituents that a word is in.

    Trees are written as soon as there is nothing more to read at the moment.

    Raises:
        InputError: a sentence, an option or the checkpoint cannot be used.
    """
    model = load_tool(args, NAME)
    from fairseq_struct.inference import read_lines

    trees = model.trees(read_lines(sys.stdin))
    if model.tree_kind not in WRITERS:
        raise InputError(f"{args.checkpoint}: infers no trees")
    writer = WRITERS[model.tree_kind]()
    if args.format not in (None, "html", writer.lines):
        raise InputError(
            f"--format {args.format} cannot show trees of this model; {writer.lines} can"
        )
    depths, rows = [], []
    for number, tree in enumerate(trees, 1):
        depths.append(writer.depth(tree))
        if args.format == "html":
            rows.append(writer.row(tree))
        else:
            print(writer.line(number, tree), end="", flush=True)
    if args.format == "html":
        print(writer.page(rows, f"Latent trees of {args.checkpoint.name}"), end="")
    if depths:
        mean = sum(depths) / len(depths)
        print(f"{len(depths)} trees, mean depth {mean:.2f}", file=sys.stderr)
    return 0


class Writer(NamedTuple):
    """How trees of a kind are written.

    Args:
        lines: the format other than ``html``.
        line: a tree's number, from 1, and the tree in that format, with the end of its last line.
        row: a tree as ``page`` takes it.
        page: all rows and a title as one page.
        depth: of a tree.
    """

    lines: str
    line: Callable
    row: Callable
    page: Callable
    depth: Callable


def _constituents() -> Writer:
    from fairseq_struct.data.readers.bracket_trees import line_of
    from fairseq_struct.pages.bracket_page import bracket_page
    from fairseq_struct.structure.spans import mean_depth

    return Writer(
        lines="brackets",
        line=lambda number, tree: f"{line_of(tree.words, tree.spans)}\n",
        row=lambda tree: (tree.words, tree.spans, tree.distances),
        page=bracket_page,
        depth=lambda tree: mean_depth(tree.spans, len(tree.words)),
    )


def _dependencies() -> Writer:
    from fairseq_struct.data.readers.conllu import to_conllu
    from fairseq_struct.pages.tree_page import tree_page

    def line(number: int, tree) -> str:
        comments = (f"sent_id = {number}", f"text = {' '.join(tree.sentences[0])}")
        return to_conllu(tree.sentences[0], tree.heads[0], comments)

    def row(tree) -> tuple:
        label = f"{tree.label} · " if tree.label else ""
        return tree.sentences[0], tree.heads[0], f"{label}depth {tree.depths[0]}"

    return Writer("conllu", line, row, tree_page, lambda tree: tree.depths[0])


# By the kinds of trees that tools say they give.
WRITERS = {"constituents": _constituents, "dependencies": _dependencies}
