"""Shared parts of the verbs for trained models: the options of tools, and loading."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

from fairseq_struct.cli.shared.paths import require
from fairseq_struct.errors import InputError
from fairseq_struct.inference.registry import COMMON, NoTool, Option, options_for

# The verbs for each ability, where they are not the verb of its name.
VERBS = {"parse": ("parse", "draw"), "score": ("score", "syneval"), "images": ("draw",)}


def add_data_option(parser: argparse.ArgumentParser, which: str = "with the dictionaries"):
    """Add the option for the folder of the data.

    Args:
        parser: the verb's own parser.
        which: what the model needs of this folder, for the help.
    """
    parser.add_argument(
        "--data", type=Path, help=f"data-bin {which}, if it was moved since training"
    )


def add_tool_options(parser: argparse.ArgumentParser, *abilities: str):
    """Add the options of all tools with one of the abilities, and the common options of tools.

    The folder of ``--user-dir`` is imported first; it may register tools with more options.
    """
    parser.add_argument(
        "--user-dir", type=Path, metavar="FOLDER",
        help="import this folder first, as fairseq-train does, for its models, tasks and tools",
    )  # fmt: skip
    known = [*options_for(abilities), *COMMON]
    _add(parser, known)

    def add_those_of_a_folder(words: Sequence[str]):
        early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        early.add_argument("--user-dir", type=Path)
        folder = early.parse_known_args(words)[0].user_dir
        if folder is not None:
            from fairseq_struct.inference.loading import import_user_dir

            import_user_dir(folder)
            _add(parser, (one for one in options_for(abilities) if one not in known))

    parser.before_parsing = add_those_of_a_folder


def _add(parser: argparse.ArgumentParser, options: Iterable[Option]):
    for option in options:
        if option.type is bool:
            kind = {"action": "store_true"}
        else:
            kind = {"type": option.type, "default": option.default, "choices": option.choices,
                    "metavar": option.metavar}  # fmt: skip
        parser.add_argument(option.on_command_line, dest=option.name, help=option.help, **kind)


def load_tool(args: argparse.Namespace, ability: str):
    """Load the tool for the model of ``args.checkpoint``, with the options of the command line.

    Raises:
        InputError: as for :func:`fairseq_struct.inference.load`.
    """
    (tool,) = load_tools(args, [args.checkpoint], [args.data], [ability])
    return tool


def load_tools(
    args: argparse.Namespace,
    checkpoints: Sequence[Path],
    data: Sequence[Path | None],
    abilities: Sequence[str],
) -> list:
    """Load tools for the models of several checkpoints, with the options of the command line.

    Args:
        args: the command line.
        checkpoints: the files.
        data: for each checkpoint the folder with its dictionaries, or None.
        abilities: any of which will do.

    Raises:
        InputError: as for :func:`fairseq_struct.inference.load`.
    """
    require(models=checkpoints, folders=data)
    # fairseq's Transformers give torch masks of two kinds; there is nothing that a user can do.
    warnings.filterwarnings("ignore", "Support for mismatched key_padding_mask and attn_mask")
    from fairseq_struct.inference import load

    names = [option.name for option in (*options_for(abilities), *COMMON)]
    options = {name: getattr(args, name) for name in names}
    try:
        return [
            load(checkpoint, folder, ability=abilities, user_dir=args.user_dir, **options)
            for checkpoint, folder in zip(checkpoints, data, strict=True)
        ]
    except NoTool as error:
        verbs = [verb for one in error.abilities for verb in VERBS.get(one, (one,))]
        raise InputError(error.told(dict.fromkeys(verbs))) from None
