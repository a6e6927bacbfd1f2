"""``fairseq-struct parse``: the latent trees of sentences."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from fairseq_struct.cli.pictures.trees import GoldTree, check_kind, explain, read_gold, row_of
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
        "--gold", type=Path, metavar="FILE",
        help="with --format html: parse the sentences of this file of gold trees (CoNLL-U or "
        "bracketed), not standard input; what differs from them is red and counted",
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
    _check(args)
    gold = read_gold(args.gold) if args.gold else []
    model = load_tool(args, NAME)
    check_kind(str(args.checkpoint), model, gold)
    trees = _trees(args, model, gold)
    writer = WRITERS[model.tree_kind]()
    if args.format not in (None, "html", writer.lines):
        raise InputError(
            f"--format {args.format} cannot show trees of this model; {writer.lines} can"
        )
    if args.known is None and args.gold is None:
        trees = with_progress(trees, args.quiet, args.output)
    with written(args.output) as write:
        depths = _write(args, trees, gold, writer, write)
    if depths:
        count = f"{len(depths)} tree{'s' * (len(depths) != 1)}"
        say(args, f"{count}, mean depth {sum(depths) / len(depths):.2f}")
    return 0


def _check(args: argparse.Namespace):
    """Check the files, and which options go together, before anything is loaded."""
    require([args.known, args.gold], [args.data], models=[args.checkpoint])
    require_room(args.output)
    if args.json and args.format:
        raise InputError(f"--json is a format of its own, so --format {args.format} does not apply")
    if args.gold and args.format != "html":
        raise InputError("--gold is for --format html; fairseq-struct evaluate scores trees")
    if args.gold and args.known:
        raise InputError("--gold and --known both name the sentences; give one of them")


def _write(
    args: argparse.Namespace, trees: Iterable, gold: Sequence[GoldTree], writer: "Writer",
    write: Callable,
) -> list[float]:  # fmt: skip
    """Write trees, and return their depths."""
    from fairseq_struct.inference.results.of_tools import parse_of

    depths, rows = [], []
    pairs = zip(trees, gold or repeat(None), strict=bool(gold))
    for number, (tree, right) in enumerate(pairs, 1):
        parse = parse_of(tree)
        if args.probabilities and writer.probabilities(parse) is None:
            raise InputError(
                f"--probabilities: {args.checkpoint} gives neither probabilities of arcs nor "
                "distances"
            )
        depths.append(writer.depth(tree))
        if args.format == "html":
            rows.append(row_of(tree, writer.kind, args.probabilities, right))
        elif args.json:
            found = parse.to_dict(args.probabilities)
            write(json.dumps(found, ensure_ascii=False) + "\n")
        else:
            write(writer.line(number, parse, args.probabilities))
    if args.format == "html":
        from fairseq_struct.pages.html.gallery import gallery_page

        note = explain(bool(gold), args.probabilities and writer.kind == "dependencies")
        write(gallery_page(rows, f"Latent trees of {args.checkpoint.name}", note))
    return depths


def _trees(args: argparse.Namespace, model, gold: Sequence[GoldTree]) -> Iterator:
    """The trees of standard input, or of the sentences of a file."""
    if gold:
        return model.trees([" ".join(tree.words) for tree in gold])
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
