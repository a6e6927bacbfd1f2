"""``fairseq-struct parse``: the latent trees of sentences."""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from fairseq_struct.cli.pictures.trees import GoldTree, check_kind, explain, read_gold, row_of
from fairseq_struct.cli.shared.answering import Answers, answer, check_paths, require_one_piece
from fairseq_struct.cli.shared.output import add_output_options, say
from fairseq_struct.cli.shared.paths import require
from fairseq_struct.cli.shared.trained_models import add_data_option, add_tool_options, load_tool
from fairseq_struct.cli.shared.workers import add_input_options
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
    add_data_option(parser)
    parser.add_argument(
        "--known", type=Path, metavar="FILE",
        help="parse the sentences of this CoNLL-U file, not standard input; its heads are kept, "
        "and those given as _ are found; for supervised dependency parsers",
    )  # fmt: skip
    add_input_options(parser)
    add_output_options(parser, "words and heads, or words, tree, spans and distances")
    add_tool_options(parser, NAME)


def run(args: argparse.Namespace) -> int:
    """Parse standard input, or --input, one sentence per line; spaces separate the words.

    With ``--known``, the sentences and some of their heads come from a file.

    The mean depth of the trees goes to standard error. The depth of a dependency tree is the
    maximum number of arcs from the root to a word. The depth of a constituency tree is the mean
    number of constituents around a word.

    The probability of an arc is its marginal: that a tree drawn in proportion to
    exp(sum of its arcs' scores), of the trees that the model searches, has the arc.

    Output appears as soon as no more input is waiting; with several workers, 2,000 lines at a time.

    Raises:
        InputError: a sentence, an option or the checkpoint cannot be used.
    """
    _check(args)
    gold, given = [], None
    if args.gold:
        gold = read_gold(args.gold)
        given = [" ".join(tree.words) for tree in gold]
    elif args.known:
        from fairseq_struct.data.readers.conllu import read_conllu

        given = list(read_conllu(args.known, partial=True))
        if not given:
            raise InputError(f"{args.known}: contains no sentence")
    totals = answer(args, NAME, partial(Trees, gold=gold), given=given)
    if count := totals["trees"]:
        mean = totals["depth"] / count
        say(args, f"{count} tree{'s' * (count != 1)}, mean depth {mean:.2f}")
    return 0


def _check(args: argparse.Namespace):
    """Check the files, and which options go together, before anything is loaded."""
    require([args.known, args.gold], [args.data], models=[args.checkpoint])
    check_paths(args, inputs=[args.known, args.gold])
    if args.json and args.format:
        raise InputError(f"--json is a format of its own, so --format {args.format} does not apply")
    if args.gold and args.format != "html":
        raise InputError("--gold is for --format html; fairseq-struct evaluate scores trees")
    named = [name for name in ("gold", "known", "input") if getattr(args, name)]
    if len(named) > 1:
        raise InputError(f"--{named[0]} and --{named[1]} both name the sentences; give one of them")
    for name in ("gold", "known"):
        if getattr(args, name):
            require_one_piece(args, f"--{name}")
    if args.format == "html":
        require_one_piece(args, "--format html")


class Trees(Answers):
    """Writes the trees of sentences.

    Args:
        args: the command line.
        gold: the gold trees of all sentences; empty if there are none.

    Raises:
        InputError: the checkpoint or an option cannot be used.
    """

    def __init__(self, args: argparse.Namespace, gold: Sequence[GoldTree] = ()):
        self.args, self.gold, self.rows = args, gold, []
        self.model = load_tool(args, NAME)
        self.totals = Counter(trees=0)
        check_kind(str(args.checkpoint), self.model, gold)
        if args.known and not hasattr(self.model, "trees_given"):
            raise InputError(f"{args.checkpoint}: --known is for supervised dependency parsers")
        self.writer = WRITERS[self.model.tree_kind]()
        if args.format not in (None, "html", self.writer.lines):
            raise InputError(
                f"--format {args.format} cannot show trees of this model; {self.writer.lines} can"
            )

    def __call__(self, lines: Iterable) -> Iterator[tuple[str]]:
        """Yield the text of each tree; "" of those on a page.

        Raises:
            InputError: a sentence cannot be read, or there are no probabilities.
        """
        from fairseq_struct.inference.results.of_tools import parse_of

        if self.args.known:
            self.model.refuse_given(lines)
        trees = (self.model.trees_given if self.args.known else self.model.trees)(lines)
        pairs = zip(trees, self.gold or repeat(None), strict=bool(self.gold))
        for number, (tree, right) in enumerate(pairs, getattr(lines, "first", 1)):
            parse = parse_of(tree)
            if self.args.probabilities and self.writer.probabilities(parse) is None:
                raise InputError(
                    f"--probabilities: {self.args.checkpoint} gives neither probabilities of arcs "
                    "nor distances"
                )
            self.totals.update(trees=1, depth=self.writer.depth(tree))
            yield (self._text(number, tree, parse, right),)

    def _text(self, number: int, tree, parse, right: GoldTree | None) -> str:
        probabilities = self.args.probabilities
        if self.args.format == "html":
            self.rows.append(row_of(tree, self.writer.kind, probabilities, right))
            return ""
        if self.args.json:
            return json.dumps(parse.to_dict(probabilities), ensure_ascii=False) + "\n"
        return self.writer.line(number, parse, probabilities)

    def ending(self) -> str:
        """The page of pictures."""
        if self.args.format != "html":
            return ""
        from fairseq_struct.pages.html.gallery import gallery_page

        arcs = self.args.probabilities and self.writer.kind == "dependencies"
        title = f"Latent trees of {self.args.checkpoint.name}"
        return gallery_page(self.rows, title, explain(bool(self.gold), arcs))


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
