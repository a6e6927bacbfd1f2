"""Train as ``fairseq-hydra-train`` does, with the config groups of this package."""

from __future__ import annotations

import argparse
import os
import sys

from fairseq_struct.errors import InputError, suggestion

NAME = "hydra-train"
HELP = "fairseq-hydra-train, with this package's models, tasks and criterions as config groups"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments.

    Args:
        parser: the verb's own parser.
    """
    parser.add_argument(
        "overrides", metavar="…", nargs=argparse.REMAINDER, help="arguments of fairseq-hydra-train"
    )


def run(args: argparse.Namespace) -> int:
    """Train from a config with the models, tasks and criterions of this package.

    fairseq-hydra-train reads its command line before its user directory. So with that command, only
    a config file can name parts of this package, such as ``criterion: {_name: …}``. Here,
    ``model=udgn_tiny task=structured_masked_lm criterion=structured_masked_lm`` also works.

    Args:
        args: the parsed arguments.

    Returns:
        0.

    Raises:
        DependencyError: fairseq is missing or broken.
        InputError: the training cannot begin, or the configuration has no such part.
    """
    from fairseq_struct import plugin
    from fairseq_struct.user_dir import FOLDER

    plugin.load()
    from fairseq_cli.hydra_train import cli_main
    from hydra.errors import CompactHydraException

    # Worker processes of the training load the package through this folder.
    overrides = args.overrides
    if not any(one.lstrip("+").startswith("common.user_dir=") for one in overrides):
        overrides = [*overrides, f"common.user_dir={FOLDER}"]
    # hydra then raises errors; by default it prints its own traceback of bad input, too.
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    sys.argv[:] = ["fairseq-hydra-train", *overrides]
    try:
        cli_main()
    except CompactHydraException as error:  # an override that does not fit the configuration
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        if len(lines) > 1 and lines[1].endswith(":"):  # the names that exist, one in a line
            wrong = lines[0].strip("'").rpartition("/")[2]
            raise InputError(f"{lines[0]}{suggestion(wrong, lines[2:])}") from error
        raise InputError(" ".join(lines[:2])) from error
    return 0
