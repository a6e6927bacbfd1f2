"""``fairseq-struct parse``: the latent trees of sentences."""

import argparse
import sys
from pathlib import Path

from fairseq_struct.cli.paths import require
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
    parser.add_argument(
        "--truncate", action="store_true", help="cut sentences that are too long for the model"
    )
    parser.add_argument(
        "--layer", type=int, help="ON-LSTM: whose distances make the trees, from 1 (default: 2)"
    )
    parser.add_argument(
        "--split",
        choices=("word", "gap"),
        help="ON-LSTM: split at the largest distance into ((before) (word (after))), as the paper "
        "does (default), or into ((before) (word and after))",
    )
    parser.add_argument(
        "--multiple-roots", action="store_true",
        help="masked language models: not only trees whose root has one modifier",
    )  # fmt: skip
    parser.add_argument(
        "--bfloat16", action="store_true",
        help="masked language models: half the time on processors that have it, less exact scores",
    )  # fmt: skip
    parser.add_argument(
        "--longest-sentence", type=int, default=2000, metavar="N",
        help="refuse longer ones, if the model takes any (default: 2000 words; memory grows with "
        "the square)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Parse standard input, a sentence per line, words separated by spaces.

    The mean depth of the trees goes to standard error: of dependency trees the most arcs between
    root and a word, of constituency trees the mean number of constituents that a word is in.

    Trees are written as soon as there is nothing more to read at the moment.

    Raises:
        InputError: a sentence, an option or the checkpoint cannot be used.
    """
    require(files=[args.checkpoint], folders=[args.data])
    from fairseq_struct.inference import ConstituencyParser, load, read_lines

    model = load(
        args.checkpoint, args.data, truncate=args.truncate, layer=args.layer, split=args.split,
        multiple_roots=args.multiple_roots, bfloat16=args.bfloat16, longest=args.longest_sentence,
    )  # fmt: skip
    constituents = isinstance(model, ConstituencyParser)
    kind = args.format or ("brackets" if constituents else "conllu")
    if kind == ("conllu" if constituents else "brackets"):
        other = "brackets" if constituents else "conllu"
        raise InputError(f"--format {kind} cannot show trees of this model; {other} can")
    depths = (_constituents if constituents else _dependencies)(
        model.trees(read_lines(sys.stdin)), kind, f"Latent trees of {args.checkpoint.name}"
    )
    if depths:
        mean = sum(depths) / len(depths)
        print(f"{len(depths)} trees, mean depth {mean:.2f}", file=sys.stderr)
    return 0


def _constituents(trees, kind: str, title: str) -> list[float]:
    from fairseq_struct.data.readers.bracket_trees import line_of
    from fairseq_struct.pages.bracket_page import bracket_page
    from fairseq_struct.structure.spans import mean_depth

    depths, rows = [], []
    for one in trees:
        depths.append(mean_depth(one.spans, len(one.words)))
        if kind == "html":
            rows.append((one.words, one.spans, one.distances))
        else:
            print(line_of(one.words, one.spans), flush=True)
    if kind == "html":
        print(bracket_page(rows, title), end="")
    return depths


def _dependencies(trees, kind: str, title: str) -> list[float]:
    from fairseq_struct.data.readers.conllu import to_conllu
    from fairseq_struct.pages.tree_page import tree_page

    depths, rows = [], []
    for number, one in enumerate(trees, 1):
        words, heads, depth = one.sentences[0], one.heads[0], one.depths[0]
        depths.append(depth)
        if kind == "html":
            label = f"{one.label} · " if one.label else ""
            rows.append((words, heads, f"{label}depth {depth}"))
        else:
            comments = (f"sent_id = {number}", f"text = {' '.join(words)}")
            print(to_conllu(words, heads, comments), end="", flush=True)
    if kind == "html":
        print(tree_page(rows, title), end="")
    return depths
