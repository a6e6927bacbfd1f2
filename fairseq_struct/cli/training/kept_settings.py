"""What a training was begun with, kept beside its checkpoints, so that no other goes on there."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fairseq_struct.errors import InputError
from fairseq_struct.files.whole_files import whole_file

FILE = "settings.json"
DATA = "the data"
# Most settings that a refusal names.
MOST = 3


def settings_of(args: argparse.Namespace) -> dict[str, str]:
    """The data, and the options of model, task and criterion: what a training is about.

    Other options, of the trainer and the optimizer, may change when a training goes on.

    Args:
        args: fairseq's, with the defaults of the architecture.

    Returns:
        Values as text, by option. Paths of the data, and others with a slash, are absolute: a name
        alone may be something else, such as a language.
    """
    from fairseq.criterions import CRITERION_REGISTRY
    from fairseq.models import ARCH_MODEL_NAME_REGISTRY, ARCH_MODEL_REGISTRY
    from fairseq.tasks import TASK_REGISTRY

    found = {
        "the model": ARCH_MODEL_NAME_REGISTRY[args.arch],
        "--task": args.task, "--criterion": args.criterion,
    }  # fmt: skip
    for part in (
        ARCH_MODEL_REGISTRY[args.arch], TASK_REGISTRY[args.task], CRITERION_REGISTRY[args.criterion]
    ):  # fmt: skip
        parser = argparse.ArgumentParser(add_help=False)
        part.add_args(parser)
        for action in parser._actions:
            if hasattr(args, action.dest):
                name = max(action.option_strings, key=len, default=DATA)
                found[name] = _text(getattr(args, action.dest), name == DATA)
    return found


def keep(folder: Path, settings: dict[str, str]) -> None:
    """Write the settings of a training that begins into its folder."""
    with whole_file(folder / FILE) as file:
        file.write(json.dumps(settings, indent=1, ensure_ascii=False).encode() + b"\n")


def refuse_others(folder: Path, settings: dict[str, str]) -> None:
    """Refuse to go on with a training of other settings.

    Data that were moved since are the same. A folder of an older version has no settings, and
    one whose file of them is damaged is not kept from going on.

    Raises:
        InputError: a setting differs.
    """
    try:
        kept = dict(json.loads((folder / FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return
    differ = [
        f"{name} {kept[name] or 'not given'} (now {value or 'not given'})"
        for name, value in settings.items()
        if name in kept and not _same(kept[name], value)
    ]
    if differ:
        further = [f"{len(differ) - MOST} more"] if len(differ) > MOST else []
        raise InputError(
            f"{folder} holds a training with {', '.join([*differ[:MOST], *further])}: name another "
            "--save-dir"
        )


def _text(value: Any, path: bool = False) -> str:
    """A value as text, the same however it was written; with a slash, or if told, it is a path."""
    if value is None or value is False:
        return ""
    if isinstance(value, str) and value:
        return ":".join(str(Path(one).resolve()) if (path or "/" in one) and Path(one).exists()
                        else one for one in value.split(":"))  # fmt: skip
    if isinstance(value, Iterable) and not isinstance(value, str):
        return " ".join(map(_text, value))
    return str(value)


def _same(old: str, new: str) -> bool:
    """Whether values, or lists of paths, are equal but for paths that were moved since."""
    if old == new:
        return True
    pairs = list(zip(old.split(":"), new.split(":"), strict=False))
    return old.count(":") == new.count(":") and all(
        a == b or _moved(a, b) or _named(a, b) or _named(b, a) for a, b in pairs
    )


def _moved(old: str, new: str) -> bool:
    return Path(old).is_absolute() and Path(new).is_absolute() and not Path(old).exists()


def _named(path: str, name: str) -> bool:
    """Whether a name is that of a path, which earlier versions kept in its place."""
    return Path(path).is_absolute() and Path(path).name == name
