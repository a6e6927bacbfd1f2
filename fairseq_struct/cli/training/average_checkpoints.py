"""Average the parameters of several checkpoints of one training run into a new checkpoint."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairseq_struct.cli.shared.paths import require, require_room
from fairseq_struct.errors import InputError
from fairseq_struct.files.checkpoint_file import write_checkpoint
from fairseq_struct.inference.averaging import average_checkpoints, checkpoints_of

NAME = "average-checkpoints"
HELP = "average the parameters of several checkpoints"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments.

    Args:
        parser: the verb's own parser.
    """
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--inputs", nargs="+", type=Path, metavar="FILE", help="checkpoints to average"
    )
    which.add_argument("--last", type=int, metavar="N", help="the newest N files of --directory")
    which.add_argument(
        "--best",
        type=int,
        metavar="N",
        help="the best N files of --directory by --best-checkpoint-metric of the training",
    )
    parser.add_argument(
        "--directory", type=Path, metavar="DIR", help="the --save-dir of the training"
    )
    parser.add_argument(
        "--by",
        choices=("epochs", "updates"),
        help="with --last: count checkpointE.pt, or checkpoint_E_U.pt (default: epochs)",
    )
    parser.add_argument(
        "--upper-bound",
        type=int,
        metavar="N",
        help="with --last: leave out checkpoints newer than this epoch or update",
    )
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FILE", help="checkpoint to write"
    )


def run(args: argparse.Namespace) -> int:
    """Select the checkpoints, average them and write the result.

    Args:
        args: the parsed arguments.

    Returns:
        0.

    Raises:
        InputError: no suitable checkpoints are found, or the output cannot be written.
    """
    paths = _selected(args)
    require(files=paths)
    require_room(args.output, inputs=paths)
    mean = average_checkpoints(paths, progress=True)
    write_checkpoint(mean, args.output)
    print(f"{args.output}: mean of {len(paths)} checkpoints: {', '.join(map(str, paths))}")
    return 0


def _selected(args: argparse.Namespace) -> list[Path]:
    for option, value in (("--by", args.by), ("--upper-bound", args.upper_bound)):
        if value is not None and args.last is None:
            raise InputError(f"{option} works only with --last")
    if args.inputs:
        if args.directory is not None:
            raise InputError("--directory works only with --last and --best, not with --inputs")
        return args.inputs
    if args.directory is None:
        raise InputError("--last and --best need --directory, the --save-dir of the training")
    if args.best is not None:
        return checkpoints_of(args.directory, args.best, "best")
    return checkpoints_of(args.directory, args.last, args.by or "epochs", args.upper_bound)
