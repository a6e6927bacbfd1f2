"""``fairseq-struct parse``: the latent trees of sentences."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from fairseq_struct.cli.pictures.trees import row_of
from fairseq_struct.cli.shared.output import add_output_options, say, with_progress, written
from fairseq_struct.cli.shared.paths import require, require_room
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
        "--probabilities", action="store_true",
        help="add the marginal probability of each arc (CoNLL-U: Prob=0.93 in the last column; "
        "pictures: the fainter, the less likely), or, of models with syntactic distances, those "
        "of the words (after a tab)",
    )  # fmt: skip
    parser.add_argument(
        "--data", type=Path, help="data-bin with the dictionaries, if it was moved since training"
    )
    parser.add_argument(
        "--known", type=Path, metavar="FILE",
        help="parse the sentences of this CoNLL-U file, not standard input; its heads are kept, "
        "and those given as _ are found; for supervised dependency parsers",
    )  # fmt: skip
    add_output_options(parser, "words and heads, or words, tree, spans and distances")
    add_tool_options(parser, NAME)


def run(args: argparse.Namespace) -> int:
    """Parse standard input, one sentence per line; spaces separate the words.

    With ``--known``, the sentences and some of their heads come from a file.

    The mean depth of the trees goes to standard error. The depth of a dependency tree is the
    maximum number of arcs from the root to a word. The depth of a constituency tree is the mean
    number of constituents around a word.

    The probability of an arc is its marginal: that a tree drawn in proportion to
    exp(sum of its arcs' scores), of the trees that the model searches, has the arc.

    Output appears as soon as no more input is waiting.

    Raises:
        InputError: a sentence, an option or the checkpoint cannot be used.
    """
    require(files=[args.known])
    require_room(args.output)
    if args.json and args.format:
        raise InputError(f"--json is a format of its own, so --format {args.format} does not apply")
    model = load_tool(args, NAME)
    trees = _trees(args, model)
    if model.tree_kind not in WRITERS:
        raise InputError(f"{args.checkpoint}: infers no trees")
    writer = WRITERS[model.tree_kind]()
    if args.format not in (None, "html", writer.lines):
        raise InputError(
            f"--format {args.format} cannot show trees of this model; {writer.lines} can"
        )
    if args.known is None:
        trees = with_progress(trees, args.quiet, args.output)
    with written(args.output) as write:
        depths = _write(args, trees, writer, write)
    if depths:
        say(args, f"{len(depths)} trees, mean depth {sum(depths) / len(depths):.2f}")
    return 0


def _write(args: argparse.Namespace, trees, writer: "Writer", write: Callable) -> list[float]:
    """Write trees, and return their depths."""
    from fairseq_struct.inference.results.of_tools import parse_of

    depths, rows = [], []
    for number, tree in enumerate(trees, 1):
        parse = parse_of(tree)
        if args.probabilities and writer.probabilities(parse) is None:
            raise InputError(
                f"--probabilities: {args.checkpoint} gives neither probabilities of arcs nor "
                "distances"
            )
        depths.append(writer.depth(tree))
        if args.format == "html":
            faint = writer.probabilities(parse) if args.probabilities else None
            rows.append(row_of(tree, writer.kind, faint))
        elif args.json:
            found = parse.to_dict(args.probabilities)
            write(json.dumps(found, ensure_ascii=False) + "\n")
        else:
            write(writer.line(number, parse, args.probabilities))
    if args.format == "html":
        from fairseq_struct.pages.html.gallery import gallery_page

        write(gallery_page(rows, f"Latent trees of {args.checkpoint.name}"))
    return depths


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
    """How one kind of trees is written.

    Args:
        kind: the ``tree_kind`` of the tools.
        lines: the format other than ``html``.
        line: maps a tree's number, from 1, its result, and whether to add probabilities or
            distances, to this format, line end included.
        probabilities: maps a result to what ``--probabilities`` adds; None if there is none.
        depth: maps a tree to its depth.
    """

    kind: str
    lines: str
    line: Callable
    probabilities: Callable
    depth: Callable


def _constituents() -> Writer:
    from fairseq_struct.structure.spans import mean_depth

    def line(number: int, parse, distances: bool) -> str:
        added = "\t" + " ".join(f"{one:.4f}" for one in parse.distances) if distances else ""
        return f"{parse.to_brackets()}{added}\n"

    return Writer(
        "constituents", "brackets", line, lambda parse: parse.distances,
        lambda tree: mean_depth(tree.spans, len(tree.words)),
    )  # fmt: skip


def _dependencies() -> Writer:
    def line(number: int, parse, probabilities: bool) -> str:
        comments = (f"sent_id = {number}", f"text = {' '.join(parse.words)}")
        return parse.to_conllu(comments, probabilities)

    return Writer(
        "dependencies", "conllu", line, lambda parse: parse.probabilities,
        lambda tree: tree.depths[0],
    )  # fmt: skip


# Writers by ``tree_kind`` of the tools.
WRITERS = {"constituents": _constituents, "dependencies": _dependencies}
