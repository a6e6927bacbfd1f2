"""``fairseq-struct draw``: pictures of memories, and of the trees of several models."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from fairseq_struct.cli.paths import require, require_room
from fairseq_struct.cli.trained_models import add_tool_options, load_tools
from fairseq_struct.data.readers.conllu import Sentence as TreeOfFile
from fairseq_struct.data.readers.formula_trees import KINDS, constituents, leaves
from fairseq_struct.errors import InputError

NAME = "draw"
HELP = "draw memories step by step, or trees or marginals of several models side by side"
# What --what draws: the abilities that it needs.
ABILITIES = {"memory": ["draw"], "trees": ["parse"], "marginals": ["draw"]}
MEMORY = "Slots by steps: blue, in use (π→); red, the head of the stack (p)"
FORMATS = (".html", ".png")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``draw``."""
    parser.add_argument(
        "checkpoints", nargs="+", type=Path, metavar="CHECKPOINT",
        help="models with trees or with a memory",
    )  # fmt: skip
    parser.add_argument(
        "--what", choices=list(ABILITIES),
        help="memory: slots by steps, below the induced tree (figure 4 of Shen's thesis); trees: "
        "those of all checkpoints side by side (figure 6), without the round brackets of formulas; "
        "marginals: probabilities of arcs (figure 5.7 of Mihaylova's thesis) "
        "(default: memory if all models have one, else trees)",
    )  # fmt: skip
    parser.add_argument(
        "--gold-trees", choices=KINDS,
        help="the sentences are formulas of this kind; draw their own trees first",
    )  # fmt: skip
    parser.add_argument(
        "--gold", type=Path, metavar="FILE",
        help="dependency trees: draw the sentences of this CoNLL-U file, not of standard input, "
        "and its trees first; wrong arcs are red",
    )  # fmt: skip
    parser.add_argument(
        "--output", type=Path, metavar="FILE",
        help="write to FILE, a page (.html) or a picture (.png) (default: a page, to standard "
        "output)",
    )  # fmt: skip
    parser.add_argument(
        "--data", type=Path, action="append", metavar="FOLDER",
        help="data-bin with the dictionaries, if it was moved since training; once for all "
        "checkpoints, or once for each",
    )  # fmt: skip
    add_tool_options(parser, "parse", "draw")


def run(args: argparse.Namespace) -> int:
    """Draw what models do with the sentences of standard input, one per line, or of ``--gold``.

    Spaces separate the words. The output is one self-contained HTML page, or a PNG.

    Raises:
        InputError: a sentence, an option or a checkpoint cannot be used.
    """
    what, folders = _checked(args)
    from fairseq_struct.inference import read_lines
    from fairseq_struct.pages import packed_matrix
    from fairseq_struct.pages.gallery import Row, gallery_page, write_gallery
    from fairseq_struct.pages.memory_grid import LEGEND

    gold = _read_gold(args.gold)
    sentences = [" ".join(tree.words) for tree in gold] or list(read_lines(sys.stdin))
    if not sentences:
        raise InputError("there is no sentence to draw; sentences come from standard input")
    first = _gold(sentences, args.gold_trees) if args.gold_trees else []
    tools = load_tools(args, args.checkpoints, folders, ABILITIES.get(what, ["parse", "draw"]))
    if what is None:
        what = "memory" if all(hasattr(tool, "memories") for tool in tools) else "trees"
    draw = {"memory": _memories, "trees": _trees, "marginals": _marginals}[what]
    if gold:
        draw, first = partial(draw, gold=gold), [_gold_trees(gold, what)]
    columns = [*first, *map(draw, args.checkpoints, tools, [sentences] * len(tools))]
    rows = [Row(text, row) for text, *row in zip(sentences, *columns, strict=True)]
    title, note = {
        "memory": (MEMORY, LEGEND), "trees": ("Trees", ""),
        "marginals": ("Marginals of arcs", packed_matrix.LEGEND),
    }[what]  # fmt: skip
    if args.output is None:
        print(gallery_page(rows, title, note), end="")
        return 0
    from fairseq_struct.files.whole_files import whole_file

    with whole_file(args.output) as file:
        if args.output.suffix.lower() == ".html":
            file.write(gallery_page(rows, title, note).encode())
        else:
            try:
                write_gallery(file, rows, title)
            except ValueError as error:
                raise InputError(f"{args.output}: {error}; .html has no such bound") from None
    return 0


def _checked(args: argparse.Namespace) -> tuple[str | None, list[Path | None]]:
    """What to draw, and the folder of each checkpoint's dictionaries, before anything is loaded."""
    require_room(args.output)
    if args.output and args.output.suffix.lower() not in FORMATS:
        raise InputError(f"{args.output}: --output ends in {' or '.join(FORMATS)}")
    if args.gold_trees and args.what not in (None, "trees"):
        raise InputError(
            f"--gold-trees does not apply to --what {args.what}; it is for --what trees"
        )
    if args.gold and (args.gold_trees or args.what not in ("trees", "marginals")):
        raise InputError("--gold is for --what trees or marginals, without --gold-trees")
    folders = args.data or [None]
    if len(folders) == 1:
        folders = folders * len(args.checkpoints)
    if len(folders) != len(args.checkpoints):
        raise InputError(
            f"--data is given {len(folders)} times for {len(args.checkpoints)} checkpoints; once "
            "is for all"
        )
    require(files=[*args.checkpoints, args.gold], folders=folders)
    return "trees" if args.gold_trees else args.what, folders


def _memories(checkpoint: Path, tool, sentences: Sequence[str]) -> list[tuple]:
    """A caption and a picture of each sentence."""
    from fairseq_struct.pages.memory_grid import memory_grid

    _require(checkpoint, tool, "memories", "memory of slots")
    return [
        (str(checkpoint), memory_grid(one.words, one.pointers.tolist(), one.spans))
        for one in tool.memories(sentences)
    ]


def _trees(
    checkpoint: Path, tool, sentences: Sequence[str], gold: Sequence[TreeOfFile] = ()
) -> list[tuple]:  # fmt: skip
    kind = getattr(tool, "tree_kind", None)
    if kind == "dependencies":
        from fairseq_struct.pages.tree_page import tree_picture

        right = [tree.heads for tree in gold] or [None] * len(sentences)
        found = (
            (one.sentences[0], one.heads[0], heads)
            for one, heads in zip(tool.trees(sentences), right, strict=True)
        )
        return [(str(checkpoint), tree_picture(*one)) for one in found]
    if kind != "constituents":
        raise InputError(f"{checkpoint}: infers no trees that can be drawn")
    if gold:
        raise InputError(f"{checkpoint}: infers {kind}; --gold is for dependency trees")
    return [(str(checkpoint), _tree(one.words, one.spans)) for one in tool.trees(sentences)]


def _marginals(
    checkpoint: Path, tool, sentences: Sequence[str], gold: Sequence[TreeOfFile] = ()
) -> list[tuple]:  # fmt: skip
    from fairseq_struct.pages.packed_matrix import packed_matrix

    _require(checkpoint, tool, "marginals", "marginals of arcs")
    return [
        (str(checkpoint), packed_matrix(one.words, one.marginals.tolist()))
        for one in tool.marginals(sentences)
    ]


def _require(checkpoint: Path, tool, method: str, what: str):
    if not hasattr(tool, method):
        raise InputError(f"{checkpoint}: has no {what} to draw")


def _read_gold(path: Path | None) -> list[TreeOfFile]:
    from fairseq_struct.data.readers.dependency_treebank import read_treebank

    return [] if path is None else read_treebank(path)


def _gold_trees(gold: Sequence[TreeOfFile], what: str) -> list[tuple]:
    """The trees of a file, as pictures of this kind."""
    if what == "trees":
        from fairseq_struct.pages.tree_page import tree_picture

        return [("gold", tree_picture(tree.words, tree.heads, tree.heads)) for tree in gold]
    from fairseq_struct.pages.packed_matrix import packed_matrix

    column = []
    for tree in gold:
        arcs = [[0.0] * len(tree.words) for _ in tree.words]
        for modifier, head in enumerate(tree.heads):
            arcs[head - 1 if head else modifier][modifier] = 1.0
        column.append(("gold", packed_matrix(tree.words, arcs)))
    return column


def _gold(sentences: Sequence[str], kind: str) -> list[list[tuple]]:
    """One column, of the formulas' own trees."""
    column = []
    for number, sentence in enumerate(sentences, 1):
        words = sentence.split()
        try:
            column.append(("gold", _tree(words, constituents(words, kind))))
        except ValueError as error:
            raise InputError(f"line {number}: no tree of --gold-trees {kind}: {error}") from None
    return [column]


def _tree(words: Sequence[str], spans: Sequence[tuple[int, int]]):
    from fairseq_struct.pages.bracket_page import bracket_picture
    from fairseq_struct.structure.spans import without_words

    kept = leaves(words)
    return bracket_picture([words[place] for place in kept], without_words(spans, kept))
