"""``fairseq-struct draw``: pictures of what models do with sentences, and of inferred images."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from fairseq_struct.cli.pictures import trees
from fairseq_struct.cli.pictures.kinds import KINDS, Kind
from fairseq_struct.cli.pictures.names import short_names
from fairseq_struct.cli.shared.output import require_standard_output
from fairseq_struct.cli.shared.paths import require, require_ending, require_room
from fairseq_struct.cli.shared.text_input import parts_of
from fairseq_struct.cli.shared.trained_models import add_tool_options, load_tools
from fairseq_struct.cli.shared.workers import add_input_option
from fairseq_struct.data.readers.formulas.formula_trees import KINDS as FORMULAS
from fairseq_struct.errors import InputError
from fairseq_struct.option_checks import require_at_least
from fairseq_struct.pages.writing import FORMATS, write_pictures

NAME = "draw"
HELP = "draw memories, attention, trees or marginals of several models, or inferred images"
ABILITIES = ("parse", "draw", "images")
OF_IMAGES = " and ".join(name for name, kind in KINDS.items() if kind.row)
COUNT, MOST_PASSES = 10, 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``draw``."""
    of_sentences = [name for name, kind in KINDS.items() if kind.column]
    parser.add_argument(
        "checkpoints", nargs="+", type=Path, metavar="CHECKPOINT",
        help="models with trees, a memory, or undirected networks",
    )  # fmt: skip
    parser.add_argument(
        "--what",
        choices=list(KINDS),
        help="; ".join(f"{name}: {kind.help}" for name, kind in KINDS.items())
        + f" (default: the first of {', '.join(of_sentences)} that all models have)",
    )
    add_input_option(parser)
    parser.add_argument(
        "--gold-trees", choices=FORMULAS,
        help="the sentences are formulas of this kind; draw their own trees first",
    )  # fmt: skip
    parser.add_argument(
        "--gold", type=Path, metavar="FILE",
        help="draw the sentences of this file of gold trees, not of standard input; --what trees "
        "(the default then): CoNLL-U or bracketed; its trees come first, what differs is red and "
        "counted; --what marginals: CoNLL-U; --what steps and units: bracketed, with a part of "
        "speech above every word",
    )  # fmt: skip
    parser.add_argument(
        "--probabilities", action="store_true",
        help="--what trees: draw arcs as faint as they are unlikely, by their marginals",
    )  # fmt: skip
    parser.add_argument(
        "--images", type=Path, metavar="FILE",
        help="--what completions: idx file of images, gzipped or not",
    )  # fmt: skip
    parser.add_argument(
        "--count", type=int, metavar="N",
        help=f"--what completions: draw the first N images (default: {COUNT})",
    )  # fmt: skip
    parser.add_argument(
        "--most-passes", type=int, metavar="N",
        help=f"--what prototypes, completions: after 1 to N passes (default: {MOST_PASSES})",
    )  # fmt: skip
    parser.add_argument(
        "--output", type=Path, metavar="FILE",
        help="write to FILE: a page (.html), a picture (.svg, .png), or TikZ for papers (.tex) "
        "(default: a page, to standard output)",
    )  # fmt: skip
    parser.add_argument(
        "--data", type=Path, action="append", metavar="FOLDER",
        help="data-bin with the dictionaries, if it was moved since training; once for all "
        "checkpoints, or once for each",
    )  # fmt: skip
    add_tool_options(parser, *ABILITIES)


def run(args: argparse.Namespace) -> int:
    """Draw what models do with the sentences of standard input or --input, or with images.

    Sentences are one per line; spaces separate the words. The output is one self-contained HTML
    page, or with ``--output`` also SVG, PNG or TikZ.

    Raises:
        InputError: a sentence, an option or a checkpoint cannot be used.
    """
    folders = _checked(args)
    kind = KINDS.get(args.what)
    if kind is not None and kind.row:
        rows = _of_images(args, folders, kind)
    elif kind is not None and kind.of_treebank:
        rows = _of_treebank(args, folders, kind)
    else:
        kind, rows = _of_sentences(args, folders, kind)
    return _write(args.output, rows, kind.title, kind.explain(args))


def _checked(args: argparse.Namespace) -> list[Path | None]:
    """The folder of each checkpoint's dictionaries; options are checked before anything loads."""
    require_room(args.output, inputs=[*args.checkpoints, args.input, args.gold, args.images])
    if args.output is None:
        require_standard_output()
    require_ending(args.output, "--output", FORMATS)
    _check_what(args)
    _check_numbers(args)
    folders = args.data or [None]
    if len(folders) == 1:
        folders = folders * len(args.checkpoints)
    if len(folders) != len(args.checkpoints):
        raise InputError(
            f"--data is given {len(folders)} times for {len(args.checkpoints)} checkpoints; once "
            "is for all"
        )
    require([args.gold, args.images], folders, models=args.checkpoints)
    return folders


def _check_what(args: argparse.Namespace):
    """Check the options that go with ``--what``; gold trees go with trees, if it is not given."""
    if args.gold_trees:
        if args.what not in (None, "trees"):
            raise InputError(
                f"--gold-trees does not apply to --what {args.what}; it is for --what trees"
            )
        args.what = "trees"
    if args.gold and args.what is None:
        args.what = "trees"
    if args.probabilities and args.what not in (None, "trees"):
        raise InputError("--probabilities is for --what trees")
    if args.probabilities:
        args.what = "trees"
    with_gold = [name for name, kind in KINDS.items() if kind.gold]
    if args.gold and (args.gold_trees or args.what not in with_gold):
        raise InputError(f"--gold is for --what {' or '.join(with_gold)}, without --gold-trees")
    if args.gold and args.what in ("steps", "units"):
        for name, default in (("beam", 1), ("tags", "none")):
            if getattr(args, name) != default:
                raise InputError(f"--{name} does not apply to --gold, whose steps are followed")
    if not args.gold and args.what and KINDS[args.what].of_treebank:
        raise InputError(f"--what {args.what} needs --gold FILE")
    if args.input and (args.gold or (args.what and KINDS[args.what].row)):
        other = "--gold, which names the sentences" if args.gold else f"--what {args.what}"
        raise InputError(f"--input does not go with {other}")
    if (args.what == "completions") != (args.images is not None):
        raise InputError("--what completions and --images FILE go together")


def _check_numbers(args: argparse.Namespace):
    """Check the numbers of images and passes, and set their defaults."""
    of_images = args.what is not None and KINDS[args.what].row is not None
    if of_images and args.test_passes is not None:
        raise InputError(
            f"--test-passes does not apply to --what {args.what}, which has a row for each number "
            "of passes up to --most-passes"
        )
    if args.count is not None and args.what != "completions":
        raise InputError("--count is for --what completions")
    if args.most_passes is not None and not of_images:
        raise InputError("--most-passes is for --what prototypes or completions")
    args.count = COUNT if args.count is None else args.count
    args.most_passes = MOST_PASSES if args.most_passes is None else args.most_passes
    require_at_least(args, 1, "count", "most_passes")


def _tools(args: argparse.Namespace, folders: Sequence[Path | None], kind: Kind | None) -> list:
    """The tools of all checkpoints, which have what this kind of picture needs."""
    abilities = [kind.ability] if kind else ABILITIES
    tools = load_tools(args, args.checkpoints, folders, abilities)
    for checkpoint, tool in zip(args.checkpoints, tools, strict=True):
        if kind and not hasattr(tool, kind.method):
            raise InputError(f"{checkpoint}: has no {args.what} to draw")
    return tools


def _of_images(args: argparse.Namespace, folders: Sequence[Path | None], kind: Kind) -> list:
    """A row for each checkpoint."""
    from fairseq_struct.data.readers.idx import read_idx
    from fairseq_struct.pages.drawing.rows import Row

    images = None if args.images is None else read_idx(args.images, 3)[: args.count]
    rows = []
    for checkpoint, tool in zip(args.checkpoints, _tools(args, folders, kind), strict=True):
        try:
            rows.append(Row(str(checkpoint), [("", kind.row(tool, args.most_passes, images))]))
        except InputError as error:
            raise InputError(f"{checkpoint}: {error}") from None
    return rows


def _of_treebank(args: argparse.Namespace, folders: Sequence[Path | None], kind: Kind) -> list:
    """A row for each checkpoint, about all gold trees."""
    from fairseq_struct.pages.drawing.rows import Row

    gold, rows = kind.gold.read(args.gold), []
    for checkpoint, tool in zip(args.checkpoints, _tools(args, folders, kind), strict=True):
        try:
            rows.append(Row(str(checkpoint), [kind.of_treebank(tool, gold)]))
        except InputError as error:
            raise InputError(f"{checkpoint}: {error}") from None
    return rows


def _read(source: Path | None) -> list[str]:
    """The sentences of a file, of a folder's files, or of standard input."""
    return [line for part in parts_of(source) for chunk in part.chunks() for line in chunk.lines]


def _of_sentences(
    args: argparse.Namespace, folders: Sequence[Path | None], kind: Kind | None
) -> tuple[Kind, list]:
    """A row for each sentence, with the pictures of all checkpoints."""
    from fairseq_struct.pages.drawing.rows import Row

    gold = kind.gold.read(args.gold) if args.gold else []
    sentences = [" ".join(kind.gold.words(tree)) for tree in gold] or _read(args.input)
    if not sentences:
        raise InputError(
            "there is no sentence to draw; sentences come from standard input or --input, and "
            f"--what {OF_IMAGES} need none"
        )
    columns = [trees.of_formulas(sentences, args.gold_trees)] if args.gold_trees else []
    if gold and kind.gold.column:
        columns = [kind.gold.column(gold)]
    tools = _tools(args, folders, kind)
    kind = kind or _common(tools)
    options = {"faint": True} if args.probabilities else {}
    names = short_names(args.checkpoints)
    for checkpoint, name, tool in zip(args.checkpoints, names, tools, strict=True):
        found = kind.column(str(checkpoint), tool, sentences, gold, **options)
        columns.append(
            [[(told.replace(str(checkpoint), name, 1), one) for told, one in own] for own in found]
        )
    pictures = ([one for part in row for one in part] for row in zip(*columns, strict=True))
    rows = zip(sentences, pictures, strict=True)
    return kind, [Row(sentence, own, kind.stacked) for sentence, own in rows]


def _common(tools: list) -> Kind:
    """The first kind of picture that all tools have."""
    for kind in KINDS.values():
        if kind.column and all(hasattr(tool, kind.method) for tool in tools):
            return kind
    raise InputError(
        "no kind of picture of sentences serves all models; draw them one by one, and networks of "
        f"images with --what {OF_IMAGES}"
    )


def _write(output: Path | None, rows: list, title: str, note: str) -> int:
    """Write rows of pictures to a file, or a page to standard output."""
    if output is None:
        from fairseq_struct.pages.html.gallery import gallery_page

        print(gallery_page(rows, title, note), end="")
        return 0
    from fairseq_struct.files.whole_files import whole_file

    alone = all(one.stacked and len(one.pictures) == 1 for one in rows)
    if alone and output.suffix.lower() != ".html":
        # A tree tells its sentence; talks and papers have captions of their own.
        rows = [one._replace(heading="", pictures=[("", one.pictures[0][1])]) for one in rows]
        title = ""
    with whole_file(output) as file:
        try:
            write_pictures(file, output.suffix.lower(), rows, title, note)
        except ValueError as error:
            raise InputError(f"{output}: {error}; .html has no such bound") from None
    return 0
