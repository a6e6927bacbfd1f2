"""``fairseq-struct presets``: the list of presets, or one of them in full."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from itertools import groupby

from fairseq_struct import presets
from fairseq_struct.errors import InputError
from fairseq_struct.presets import Preset
from fairseq_struct.user_dir import FOLDER

NAME = "presets"
HELP = "list the presets of train, or show one in full"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments.

    Args:
        parser: the verb's own parser.
    """
    parser.add_argument("name", metavar="NAME", nargs="?", help="show this preset in full")
    parser.add_argument(
        "--arguments", nargs=argparse.REMAINDER, metavar="…",
        help="print the preset's arguments of fairseq-train, one in a line, and these further "
        "ones, which replace its own",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Show what ``fairseq-struct train`` can train, and with which settings.

    Args:
        args: the parsed arguments.

    Returns:
        0.

    Raises:
        InputError: there is no such preset, or none is named.
    """
    if args.name is None:
        if args.arguments is not None:
            raise InputError("--arguments needs the NAME of a preset before it")
        print(_list())
        return 0
    preset = presets.preset(args.name)
    if args.arguments is not None:
        print(*presets.arguments_of(preset, args.arguments), sep="\n")
    else:
        print(_in_full(preset))
    return 0


def _list() -> str:
    every = [presets.preset(name) for name in presets.names()]
    lines = []
    for system, members in groupby(every, lambda preset: preset.system):
        lines += ["", system.replace("_", " ")]
        for one in members:
            lines += [f"  {one.name}", f"      {one.what}", f"      {one.source}"]
            lines += [f"      data: {one.preparation}"] if one.prepare else []
    lines += ["", "fairseq-struct presets NAME shows one in full;",
              "fairseq-struct train DATA --preset NAME trains it"]  # fmt: skip
    return "\n".join(lines[1:])


def _in_full(preset: Preset) -> str:
    data = f"{preset.data}, made by {preset.preparation}" if preset.data else "none"
    needs = {name: f"--{name}: {what}" for name, what in (preset.needs or {}).items()}
    entries = {
        "what": preset.what,
        "source": preset.source,
        "data": data,
        "needs": "; ".join(needs.values()),
        "remarks": preset.remarks,
        "afterwards": preset.next.replace("{save-dir}", f"runs/{preset.name}"),
    }
    width = max(60, min(100, shutil.get_terminal_size().columns))
    lines = [preset.name]
    for key, value in entries.items():
        if value:
            lines += textwrap.wrap(f"{key:12}{value}", width, subsequent_indent=" " * 12,
                                   break_long_words=False, break_on_hyphens=False)  # fmt: skip
    given = [word for name in needs for word in (f"--{name}", name.upper().replace("-", "_"))]
    head = ["DATA"] if preset.data else []
    arguments = presets.training_arguments(preset, head, given, FOLDER)
    train = ["train", *head, "--preset", preset.name, *given]
    lines += ["", presets.command("fairseq-struct", train), "", "which is", ""]
    return "\n".join([*lines, presets.command("fairseq-train", arguments)])
