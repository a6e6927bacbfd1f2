"""``fairseq-struct draw``: pictures of memories and attention, and trees of several models."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from fairseq_struct.cli.paths import require, require_room
from fairseq_struct.cli.trained_models import add_tool_options, load_tools
from fairseq_struct.data.readers.formula_trees import KINDS, constituents, leaves
from fairseq_struct.errors import InputError

NAME = "draw"
HELP = "draw the memory or attention of models step by step, or trees of several models"
# What --what draws: the abilities that it needs.
ABILITIES = {"memory": ["draw"], "attention": ["draw"], "trees": ["parse"]}
# The method of tools that it needs, beside that of trees.
METHODS = {"memory": "memories", "attention": "attentions"}
ATTENTION = "Attention weights"
MEMORY = "Slots by steps: blue, in use (π→); red, the head of the stack (p)"
FORMATS = (".html", ".png")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``draw``."""
    parser.add_argument(
        "checkpoints", nargs="+", type=Path, metavar="CHECKPOINT",
        help="models with constituency trees, with a memory, or with undirected attention",
    )  # fmt: skip
    parser.add_argument(
        "--what", choices=list(ABILITIES),
        help="memory: slots by steps, below the induced tree (figure 4 of Shen's thesis); trees: "
        "those of all checkpoints side by side (figure 6), without the round brackets of formulas; "
        "attention: its weights in each pass of an undirected network (figure 5.4 of Mihaylova's "
        "thesis) (default: memory or attention if all models have one, else trees)",
    )  # fmt: skip
    parser.add_argument(
        "--gold-trees", choices=KINDS,
        help="the sentences are formulas of this kind; draw their own trees first",
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
    """Draw what models do with the sentences of standard input, one per line.

    Spaces separate the words. The output is one self-contained HTML page, or a PNG.

    Raises:
        InputError: a sentence, an option or a checkpoint cannot be used.
    """
    what, folders = _checked(args)
    from fairseq_struct.inference import read_lines
    from fairseq_struct.pages.gallery import Row, gallery_page, write_gallery

    sentences = list(read_lines(sys.stdin))
    if not sentences:
        raise InputError("there is no sentence to draw; sentences come from standard input")
    first = _gold(sentences, args.gold_trees) if args.gold_trees else []
    tools = load_tools(args, args.checkpoints, folders, ABILITIES.get(what, ["parse", "draw"]))
    if what is None:
        what = next((name for name, method in METHODS.items()
                     if all(hasattr(tool, method) for tool in tools)), "trees")  # fmt: skip
    draw, title, note = _way(what)
    columns = [*first, *map(draw, args.checkpoints, tools, [sentences] * len(tools))]
    rows = [
        Row(text, [picture for pictures in row for picture in pictures])
        for text, *row in zip(sentences, *columns, strict=True)
    ]
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
    if args.gold_trees and args.what in METHODS:
        raise InputError(
            f"--gold-trees does not apply to --what {args.what}; it is for --what trees"
        )
    folders = args.data or [None]
    if len(folders) == 1:
        folders = folders * len(args.checkpoints)
    if len(folders) != len(args.checkpoints):
        raise InputError(
            f"--data is given {len(folders)} times for {len(args.checkpoints)} checkpoints; once "
            "is for all"
        )
    require(files=args.checkpoints, folders=folders)
    return "trees" if args.gold_trees else args.what, folders


def _way(what: str) -> tuple[Callable, str, str]:
    """The function that draws it, and title and note of the page."""
    from fairseq_struct.pages import attention_grid, memory_grid

    return {
        "memory": (_memories, MEMORY, memory_grid.LEGEND),
        "attention": (_attentions, ATTENTION, attention_grid.LEGEND),
        "trees": (_trees, "Trees", ""),
    }[what]


def _memories(checkpoint: Path, tool, sentences: Sequence[str]) -> list[list[tuple]]:
    """For each sentence, a caption and a picture."""
    from fairseq_struct.pages.memory_grid import memory_grid

    _require(checkpoint, tool, "memory")
    return [
        [(str(checkpoint), memory_grid(one.words, one.pointers.tolist(), one.spans))]
        for one in tool.memories(sentences)
    ]


def _attentions(checkpoint: Path, tool, sentences: Sequence[str]) -> list[list[tuple]]:
    """For each sentence, a caption and a picture of each value of the attention weights."""
    from fairseq_struct.pages.attention_grid import attention_grid

    _require(checkpoint, tool, "attention")
    return [
        [
            (f"{checkpoint}: pass {number}{half}", attention_grid(one.symbols, weights.tolist()))
            for number, steps in enumerate(one.weights, 1)
            for half, weights in zip(
                (", forward", ", backward") if len(steps) > 1 else ("",), steps, strict=True
            )
        ]
        for one in tool.attentions(sentences)
    ]


def _require(checkpoint: Path, tool, what: str):
    if not hasattr(tool, METHODS[what]):
        raise InputError(f"{checkpoint}: has no {what} to draw")


def _trees(checkpoint: Path, tool, sentences: Sequence[str]) -> list[list[tuple]]:
    kind = getattr(tool, "tree_kind", None)
    if kind != "constituents":
        kind = kind or "no trees"
        raise InputError(f"{checkpoint}: infers {kind}; constituents can be drawn")
    return [[(str(checkpoint), _tree(one.words, one.spans))] for one in tool.trees(sentences)]


def _gold(sentences: Sequence[str], kind: str) -> list[list[list[tuple]]]:
    """One column, of the formulas' own trees."""
    column = []
    for number, sentence in enumerate(sentences, 1):
        words = sentence.split()
        try:
            column.append([("gold", _tree(words, constituents(words, kind)))])
        except ValueError as error:
            raise InputError(f"line {number}: no tree of --gold-trees {kind}: {error}") from None
    return [column]


def _tree(words: Sequence[str], spans: Sequence[tuple[int, int]]):
    from fairseq_struct.pages.bracket_page import bracket_picture
    from fairseq_struct.structure.spans import without_words

    kept = leaves(words)
    return bracket_picture([words[place] for place in kept], without_words(spans, kept))
