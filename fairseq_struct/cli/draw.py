"""``fairseq-struct draw``: pictures of memories, of the trees of several models, of images."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from fairseq_struct.cli.paths import require, require_room
from fairseq_struct.cli.trained_models import add_tool_options, load_tools
from fairseq_struct.data.readers.formula_trees import KINDS, constituents, leaves
from fairseq_struct.errors import InputError

NAME = "draw"
HELP = "draw the memory of a model, the trees of several models side by side, or inferred images"
# What --what draws: the abilities that it needs.
ABILITIES = {
    "memory": ["draw"], "trees": ["parse"], "prototypes": ["images"], "completions": ["images"],
}  # fmt: skip
# Those that read no sentences, with their titles.
IMAGES = {
    "prototypes": "Prototypes by passes: images inferred from labels",
    "completions": "Images with their lower half hidden, and inferred by passes",
}
MEMORY = "Slots by steps: blue, in use (π→); red, the head of the stack (p)"
FORMATS = (".html", ".png")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``draw``."""
    parser.add_argument(
        "checkpoints", nargs="+", type=Path, metavar="CHECKPOINT",
        help="models with constituency trees or with a memory, or undirected networks of images",
    )  # fmt: skip
    parser.add_argument(
        "--what", choices=list(ABILITIES),
        help="memory: slots by steps, below the induced tree (figure 4 of Shen's thesis); trees: "
        "those of all checkpoints side by side (figure 6), without the round brackets of formulas; "
        "prototypes: an image of each label, after 1, 2, … passes (figure 5.3 of Mihaylova's "
        "thesis); completions: images whose lower half is hidden (default: memory if all models "
        "have one, else trees)",
    )  # fmt: skip
    parser.add_argument(
        "--images", type=Path, metavar="FILE",
        help="--what completions: idx file of images, gzipped or not",
    )  # fmt: skip
    parser.add_argument(
        "--count", type=int, default=10, metavar="N",
        help="--what completions: draw the first N images (default: 10)",
    )  # fmt: skip
    parser.add_argument(
        "--most-passes", type=int, default=5, metavar="N",
        help="--what prototypes, completions: draw images after 1 to N passes (default: 5)",
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
    add_tool_options(parser, "parse", "draw", "images")


def run(args: argparse.Namespace) -> int:
    """Draw what models do with the sentences of standard input, one per line.

    Spaces separate the words. The output is one self-contained HTML page, or a PNG.

    Raises:
        InputError: a sentence, an option or a checkpoint cannot be used.
    """
    what, folders = _checked(args)
    if what in IMAGES:
        return _write(args.output, _images(args, what, folders), IMAGES[what], "")
    from fairseq_struct.inference import read_lines
    from fairseq_struct.pages.gallery import Row
    from fairseq_struct.pages.memory_grid import LEGEND

    sentences = list(read_lines(sys.stdin))
    if not sentences:
        raise InputError("there is no sentence to draw; sentences come from standard input")
    first = _gold(sentences, args.gold_trees) if args.gold_trees else []
    tools = load_tools(args, args.checkpoints, folders, ABILITIES.get(what, ["parse", "draw"]))
    if what is None:
        what = "memory" if all(hasattr(tool, "memories") for tool in tools) else "trees"
    draw = _memories if what == "memory" else _trees
    columns = [*first, *map(draw, args.checkpoints, tools, [sentences] * len(tools))]
    rows = [Row(text, row) for text, *row in zip(sentences, *columns, strict=True)]
    title, note = (MEMORY, LEGEND) if what == "memory" else ("Trees", "")
    return _write(args.output, rows, title, note)


def _write(output: Path | None, rows: list, title: str, note: str) -> int:
    """Write rows of pictures to a file, or a page to standard output."""
    from fairseq_struct.pages.gallery import gallery_page, write_gallery

    if output is None:
        print(gallery_page(rows, title, note), end="")
        return 0
    from fairseq_struct.files.whole_files import whole_file

    with whole_file(output) as file:
        if output.suffix.lower() == ".html":
            file.write(gallery_page(rows, title, note).encode())
        else:
            try:
                write_gallery(file, rows, title)
            except ValueError as error:
                raise InputError(f"{output}: {error}; .html has no such bound") from None
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
    if (args.what == "completions") != (args.images is not None):
        raise InputError("--what completions and --images FILE go together")
    if min(args.count, args.most_passes) < 1:
        raise InputError("--count and --most-passes must be 1 or more")
    folders = args.data or [None]
    if len(folders) == 1:
        folders = folders * len(args.checkpoints)
    if len(folders) != len(args.checkpoints):
        raise InputError(
            f"--data is given {len(folders)} times for {len(args.checkpoints)} checkpoints; once "
            "is for all"
        )
    require(files=[*args.checkpoints, args.images], folders=folders)
    return "trees" if args.gold_trees else args.what, folders


def _images(args: argparse.Namespace, what: str, folders: Sequence[Path | None]) -> list:
    """A row of pictures for each checkpoint, by passes."""
    from fairseq_struct.data.readers.idx import read_idx
    from fairseq_struct.pages.gallery import Row
    from fairseq_struct.pages.image_grid import image_grid

    given = read_idx(args.images, 3)[: args.count] if args.images else None
    found = []
    for checkpoint, tool in zip(
        args.checkpoints, load_tools(args, args.checkpoints, folders, ABILITIES[what]), strict=True
    ):
        every = range(1, args.most_passes + 1)
        try:
            if given is None:
                grid = [(str(passes), tool.prototypes(passes).numpy()) for passes in every]
                picture = image_grid(grid, list(map(str, range(len(grid[0][1])))))
            else:
                picture = image_grid(_completions(tool, given, every))
        except InputError as error:
            raise InputError(f"{checkpoint}: {error}") from None
        found.append(Row(str(checkpoint), [("", picture)]))
    return found


def _completions(tool, images, every: Iterable[int]) -> list[tuple]:
    """Rows of a grid: images, what is given of them, and what is inferred by passes."""
    import numpy as np

    hidden = np.zeros(images.shape[1:], dtype=bool)
    hidden[images.shape[1] // 2 :] = True
    whole = images / 255
    inferred = [(str(n), tool.complete(images, hidden, n).numpy()) for n in every]
    return [("image", whole), ("given", np.where(hidden, 0.5, whole)), *inferred]


def _memories(checkpoint: Path, tool, sentences: Sequence[str]) -> list[tuple]:
    """A caption and a picture of each sentence."""
    from fairseq_struct.pages.memory_grid import memory_grid

    return [
        (str(checkpoint), memory_grid(one.words, one.pointers.tolist(), one.spans))
        for one in tool.memories(sentences)
    ]


def _trees(checkpoint: Path, tool, sentences: Sequence[str]) -> list[tuple]:
    if tool.tree_kind != "constituents":
        kind = tool.tree_kind or "no trees"
        raise InputError(f"{checkpoint}: infers {kind}; constituents can be drawn")
    return [(str(checkpoint), _tree(one.words, one.spans)) for one in tool.trees(sentences)]


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
