"""Train as ``fairseq-hydra-train`` does, with the groups of this package to choose from."""

from __future__ import annotations

import argparse
import sys

NAME = "hydra-train"
HELP = "fairseq-hydra-train, with this package's models, tasks and criterions as config groups"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments.

    Args:
        parser: the verb's own parser.
    """
    parser.add_argument(
        "overrides", metavar="…", nargs=argparse.REMAINDER, help="what fairseq-hydra-train takes"
    )


def run(args: argparse.Namespace) -> int:
    """Train from a config: fairseq-hydra-train reads its command line before its user directory.

    So that there only a config file can name what this package adds, as ``criterion: {_name: …}``.
    Here ``model=udgn_tiny task=structured_masked_lm criterion=structured_masked_lm`` works, too.

    Args:
        args: the parsed arguments.

    Returns:
        0.

    Raises:
        DependencyError: fairseq is missing or broken.
    """
    from fairseq_struct import plugin
    from fairseq_struct.user_dir import FOLDER

    plugin.load()
    from fairseq_cli.hydra_train import cli_main

    # Other processes that training starts load the package themselves.
    overrides = args.overrides
    if not any(one.lstrip("+").startswith("common.user_dir=") for one in overrides):
        overrides = [*overrides, f"common.user_dir={FOLDER}"]
    sys.argv[:] = ["fairseq-hydra-train", *overrides]
    cli_main()
    return 0
