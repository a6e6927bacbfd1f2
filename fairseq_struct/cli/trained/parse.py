"""``fairseq-struct parse``: the latent trees of sentences."""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from fairseq_struct.cli.pictures.trees import row_of
from fairseq_struct.cli.shared.paths import require
from fairseq_struct.cli.shared.trained_models import add_tool_options, load_tool
from fairseq_struct.errors import InputError

NAME = "parse"
HELP = "write the latent trees of raw sentences as CoNLL-U, as brackets, or as a page of pictures"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``parse``."""
    parser.add_argument("checkpoint", type=Path, help="a model with latent trees")
    parser.add_argument(
        "--format",
        choices=("brackets", "conllu", "html"),
        help="output format (default: brackets for constituency trees, CoNLL-U for dependency "
        "trees)",
    )
    parser.add_argument(
        "--data", type=Path, help="data-bin with the dictionaries, if it was moved since training"
    )
    parser.add_argument(
        "--known", type=Path, metavar="FILE",
        help="parse the sentences of this CoNLL-U file, not standard input; its heads are kept, "
        "and those given as _ are found; for supervised dependency parsers",
    )  # fmt: skip
    add_tool_options(parser, NAME)


def run(args: argparse.Namespace) -> int:
    """Parse standard input, one sentence per line; spaces separate the words.

    With ``--known``, the sentences and some of their heads come from a file.

    The mean depth of the trees goes to standard error. The depth of a dependency tree is the
    maximum number of arcs from the root to a word. The depth of a constituency tree is the mean
    number of constituents around a word.

    Output appears as soon as no more input is waiting.

    Raises:
        InputError: a sentence, an option or the checkpoint cannot be used.
    """
    require(files=[args.known])
    model = load_tool(args, NAME)
    trees = _trees(args, model)
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


def _trees(args: argparse.Namespace, model) -> Iterator:
    """The trees of standard input, or of the file with known heads."""
    if args.known is None:
        from fairseq_struct.inference import read_lines

        return model.trees(read_lines(sys.stdin))
    if not hasattr(model, "trees_given"):
        raise InputError(f"{args.checkpoint}: --known is for supervised dependency parsers")
    from fairseq_struct.data.readers.conllu import read_conllu

    sentences = list(read_conllu(args.known, partial=True))
    if not sentences:
        raise InputError(f"{args.known}: contains no sentence")
    return model.trees_given(sentences)


class Writer(NamedTuple):
    """Functions that write one kind of trees.

    Args:
        lines: the format other than ``html``.
        line: maps a tree's number, from 1, and the tree to this format, line end included.
        row: maps a tree to a row of ``page``.
        page: maps all rows and a title to an HTML page.
        depth: maps a tree to its depth.
    """

    lines: str
    line: Callable
    row: Callable
    page: Callable
    depth: Callable


def _constituents() -> Writer:
    from fairseq_struct.data.readers.bracket_trees import to_line
    from fairseq_struct.pages.html.gallery import gallery_page
    from fairseq_struct.structure.spans import mean_depth

    return Writer(
        lines="brackets",
        line=lambda number, tree: f"{to_line(tree.tree())}\n",
        row=lambda tree: row_of(tree, "constituents"),
        page=gallery_page,
        depth=lambda tree: mean_depth(tree.spans, len(tree.words)),
    )


def _dependencies() -> Writer:
    from fairseq_struct.data.readers.conllu import to_conllu
    from fairseq_struct.pages.html.gallery import gallery_page

    def line(number: int, tree) -> str:
        comments = (f"sent_id = {number}", f"text = {' '.join(tree.sentences[0])}")
        return to_conllu(tree.sentences[0], tree.heads[0], comments)

    return Writer(
        "conllu", line, lambda tree: row_of(tree, "dependencies"), gallery_page,
        lambda tree: tree.depths[0],
    )  # fmt: skip


# Writers by ``tree_kind`` of the tools.
WRITERS = {"constituents": _constituents, "dependencies": _dependencies}
