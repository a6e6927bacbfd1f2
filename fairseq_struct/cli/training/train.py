"""``fairseq-struct train``: a preset, trained by fairseq, with a screen that can be read."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from fairseq_struct import presets
from fairseq_struct.errors import InputError
from fairseq_struct.presets import Preset
from fairseq_struct.user_dir import FOLDER

NAME = "train"
HELP = "train a preset, with any options of fairseq-train beside it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments.

    Args:
        parser: the verb's own parser.
    """
    parser.usage = "%(prog)s [DATA] --preset NAME [options of fairseq-train]"
    parser.epilog = (
        "Options replace those of the preset. --no-OPTION takes one of the preset away, such as\n"
        "--no-maximize-best-checkpoint-metric; --epoch-checkpoints keeps those of all epochs.\n\n"
        "fairseq-struct presets lists the presets. The options that an architecture, a task and a\n"
        "criterion have are shown by\n"
        '  fairseq-train --user-dir "$(fairseq-struct user-dir)" --arch … --task … --criterion … '
        "--help"
    )
    parser.add_argument(
        "data", metavar="DATA", nargs="?", type=Path,
        help="the prepared folder, or data-bin inside it, or several of text (parallel, plain or "
        "labelled), joined by colons, of which each epoch reads one",
    )  # fmt: skip
    parser.add_argument("--preset", required=True, metavar="NAME", help="what to train")
    parser.divide = divide


def divide(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Divide a command line into this verb's own words, and those for fairseq-train."""
    own, further = [], []
    for number, (name, group) in enumerate(presets.options_in(words)):
        if name == "preset":
            take = 1 if "=" in group[0] else 2
            own += group[:take]
            # In "--preset NAME DATA" the folder is this verb's, too.
            (own if number == 0 else further).extend(group[take:])
        elif name in ("", "h", "help"):
            own += group
        else:
            further += group
    return own, further


def run(args: argparse.Namespace) -> int:
    """Train a preset; options after it replace its own.

    The first line printed is the whole command of fairseq-train, which does the same. Its output
    goes to train.log in the folder of checkpoints, by default runs/NAME. The same command again
    goes on from the last checkpoint there.

    Args:
        args: the parsed arguments.

    Returns:
        The exit status of fairseq-train; 130 after Ctrl-C.

    Raises:
        InputError: the preset, the data or an option cannot be used.
    """
    preset = presets.preset(args.preset)
    arguments = _arguments(preset, args.data, args.further)
    from fairseq_struct.cli.training.running import Training

    return Training(preset, arguments).run()


def _arguments(preset: Preset, data: Path | None, further: Sequence[str]) -> list[str]:
    """All arguments of fairseq-train."""
    if {"log-format", "log-file"} & {name for name, _ in presets.options_in(further)}:
        raise InputError("train shows a bar of its own; other formats are for fairseq-train itself")
    if presets.value_of("save-dir", further) == "":
        raise InputError("--save-dir: names no folder")
    head: tuple[str, ...] = ()
    if preset.data:
        if data is None:
            data, further = _data_among(preset, further)
        if data is None:
            raise InputError(
                f"{preset.name} needs data, before all options: fairseq-struct train DATA --preset "
                f"{preset.name}; to make them: {preset.preparation}"
            )
        if str(data).startswith("-"):  # "./-folder", of which a Path forgets the first two
            data = data.absolute()
        folder = presets.data_folder(preset, data)
        head = (str(folder.path), *folder.options)
    elif data is not None:
        raise InputError(f"{preset.name} takes no folder of data, but {data} is named")
    return presets.training_arguments(preset, head, further, FOLDER)


def _data_among(preset: Preset, further: Sequence[str]) -> tuple[Path | None, list[str]]:
    """The folder of data that is named behind an option, and the words without it.

    Only fairseq knows how many words an option takes. But a folder of the kind of data that the
    preset takes is the data, if it is the only one; if it was the value of an option, fairseq
    misses that and refuses the command.
    """
    groups = [(name, list(words)) for name, words in presets.options_in(further)]
    last = [words for name, words in groups if len(words) > (1 if name else 0)]
    found = [words for words in last if presets.is_data_folder(preset, Path(words[-1]))]
    data = Path(found[0].pop()) if len(found) == 1 else None
    return data, [word for _, words in groups for word in words]
