"""A split of the data that does not exist, told with those that do."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairseq_struct.errors import InputError, suggestion


def explained(error: Exception, args: argparse.Namespace) -> Exception:
    """The error of a training; bad input that lists the splits, if one of validation is missing.

    Each task has files of its own, whose names begin with that of the split. So what is there is
    compared with the files of the training split, whatever they are.

    Args:
        error: what ended the training before its first update.
        args: fairseq's.
    """
    data = str(getattr(args, "data", None) or "").split(":")[0]
    missing = [one for one in args.valid_subset.split(",") if one and one in str(error)]
    if not missing or not data or not isinstance(error, FileNotFoundError | InputError):
        return error
    names = sorted(path.name for path in Path(data).glob("*"))
    begin = f"{args.train_subset}."
    ends = {name.removeprefix(args.train_subset) for name in names if name.startswith(begin)}
    splits = dict.fromkeys(name.removesuffix(end) for name in names for end in ends
                           if name.endswith(end))  # fmt: skip
    known = [split for split in splits if split != "dict" and "." not in split]
    split = missing[0]
    if not known or any(name.startswith(f"{split}.") for name in names):
        return error
    told = f"--valid-subset {split}: {data} has no such split, but {', '.join(known)}"
    return InputError(f"{told}{suggestion(split, known)}")
