"""What a verb for trained models reads, in how many processes, and on which devices."""

from __future__ import annotations

import argparse
from argparse import Namespace
from pathlib import Path

from fairseq_struct.errors import InputError, first_line


def add_input_option(parser: argparse.ArgumentParser):
    """Add ``--input``."""
    parser.add_argument(
        "--input", action=_Input, metavar="PATH",
        help="read this file, or the files of this folder in the order of their names; .gz, .xz "
        "and .zst are decompressed (default, and for -: standard input)",
    )  # fmt: skip


def add_input_options(parser: argparse.ArgumentParser):
    """Add ``--input`` and ``--workers``."""
    add_input_option(parser)
    parser.add_argument(
        "--workers", type=int, metavar="N",
        help="work in N processes, each with the model and one thread, on 2,000 lines at a time; "
        "the output does not depend on N; --device cuda:0,1 starts one on each (default: this "
        "process, with all of torch's threads)",
    )  # fmt: skip


class _Input(argparse.Action):
    """Stores a path, None for ``-``; refuses a second one."""

    given = False

    def __call__(self, parser, namespace, values, option_string=None):
        if not values:
            raise InputError("--input '': name a file or a folder, or - for standard input")
        if self.given:
            raise InputError(
                f"--input {values}: is a second --input; of several files, name their folder, or "
                "write them to standard input"
            )
        self.given, namespace.input = True, None if values == "-" else Path(values)


def devices_of(args: Namespace) -> list[str | None]:
    """The device of each process: ``--device cuda:0,1`` and ``--workers``.

    Raises:
        InputError: the number of processes is below 1 or not that of the devices, or a device has
            no name.
    """
    if args.workers is not None and args.workers < 1:
        raise InputError(f"--workers must be 1 or more, not {args.workers}")
    names, kind = [], ""
    for name in map(str.strip, (args.device or "").split(",")):
        if name.isdigit() and kind:  # the 1 of cuda:0,1
            name = f"{kind}:{name}"
        names.append(name)
        kind = name.rpartition(":")[0]
    if len(names) == 1:
        return [args.device] * (args.workers or 1)
    if not all(names):
        raise InputError(f"--device {args.device}: a device has no name; write cuda:0,1")
    if args.workers not in (None, len(names)):
        raise InputError(
            f"--workers {args.workers} with {len(names)} devices: each device has one process"
        )
    return names


def check_devices(args: Namespace):
    """Check that all of several devices exist, before any process begins.

    Raises:
        InputError: as for :func:`devices_of`, or one of several devices does not exist.
    """
    names = set(devices_of(args))
    if len(names) == 1:
        return  # found out when the model is loaded
    import torch

    for name in sorted(names):
        try:
            device = torch.device(name)
        except RuntimeError as error:
            raise InputError(f"--device {name}: {first_line(error)}") from None
        # Counting does not touch a GPU, which a process must not do before it divides.
        if device.type == "cuda" and (device.index or 0) >= (count := torch.cuda.device_count()):
            raise InputError(f"--device {name}: this machine has {count} GPUs that torch can use")
