"""``fairseq-struct report``: rebuilds the result tables from the records."""

import argparse
import sys
from pathlib import Path

from fairseq_struct.cli.shared.paths import require
from fairseq_struct.errors import InputError

NAME = "report"
HELP = "write the tables of results in Markdown files from recipes/*/results.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``report``."""
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        help="Markdown files with marked tables (default: README.md, the pages of docs, and "
        "README.md and every RESULTS.md of the recipes)",
    )
    parser.add_argument(
        "--recipes",
        type=Path,
        default=Path("recipes"),
        help="folder of SYSTEM/results.jsonl (default: recipes)",
    )
    parser.add_argument(
        "--show",
        metavar="SYSTEM/EXPERIMENT",
        help="print the table of one experiment and change nothing",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="change nothing; exit with 1 if a table disagrees with its records",
    )


def run(args: argparse.Namespace) -> int:
    """Rebuild or check the tables.

    Raises:
        InputError: a file is missing, there are no recipes, a table needs records that do not
            exist, or no experiment has the name to show.
    """
    require(files=[] if args.show else args.files)
    if not args.recipes.is_dir():
        raise InputError(
            f"{args.recipes}: no such folder; run this in a checkout, or give --recipes"
        )
    from fairseq_struct.files.text_files import read_text
    from fairseq_struct.files.whole_files import whole_file
    from fairseq_struct.records.marked_tables import fill_tables, known_table_of, marked_files

    if args.show:
        print(known_table_of(args.show, args.recipes), end="")
        return 0
    renewed = {}
    for path in args.files or marked_files(args.recipes):
        old = read_text(path)
        try:
            new = fill_tables(old, args.recipes)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        if new != old:
            renewed[path] = new
    for path, text in renewed.items():
        if args.check:
            print(f"{path}: its tables disagree with the records", file=sys.stderr)
            continue
        with whole_file(path) as file:
            file.write(text.encode())
        print(f"{path}: tables renewed")
    return 1 if args.check and renewed else 0
