"""Where the data of a checkpoint are, also from another folder, or after both were moved.

Files that only training reads may be gone.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from fairseq_struct.errors import InputError


def data_of_training(
    cfg: Mapping[str, Any], checkpoint: str | Path, option: str = "--data FOLDER, data= in Python"
) -> Path | None:
    """The folder of data that a checkpoint was trained on; None if it names none.

    Args:
        cfg: its options, in groups.
        checkpoint: its path.
        option: that names another folder, for messages.

    Raises:
        InputError: it is in none of the places where it may be.
    """
    stored = cfg["task"].get("data")
    if not isinstance(stored, str) or not stored:
        return None
    # Of several folders, separated as in PATH, fairseq reads dictionaries from the first.
    places = _places(Path(stored.split(os.pathsep)[0]), cfg, checkpoint)
    for place in places:
        if place.is_dir():
            return place
    raise InputError(
        f"it needs the folder of data that it was trained on, but there is no folder "
        f"{' or '.join(map(str, places))}; name it ({option})"
    )


def _places(stored: Path, cfg: Mapping[str, Any], checkpoint: str | Path) -> list[Path]:
    """The places where the data of a checkpoint may be, the likeliest first.

    They are where the training said, and where they lie as seen from the checkpoint, if both were
    moved together. A relative path belongs to the folder in which the training was started, so
    that it is sought from the checkpoint first, and then in the working directory.
    """
    group = cfg.get("checkpoint")
    save_dir = group.get("save_dir") if isinstance(group, Mapping) else None
    if not isinstance(save_dir, str) or os.path.isabs(save_dir) != stored.is_absolute():
        return [stored]  # how they lay to each other is unknown
    way = os.path.relpath(stored, save_dir)
    moved = Path(os.path.normpath(os.path.join(os.path.abspath(checkpoint), os.pardir, way)))
    places = [stored, moved] if stored.is_absolute() else [moved, stored]
    return list(dict.fromkeys(places))


def unset_for_training(
    options: MutableMapping[str, Any] | Namespace, owner: type | None, also: Iterable[str] = ()
) -> None:
    """Unset the options of a checkpoint that only training reads, such as files that may be gone.

    Args:
        options: of a task or a model; they are changed.
        owner: its class, which lists these options in ``ONLY_FOR_TRAINING``, if it has any.
        also: other options.
    """
    given = vars(options) if isinstance(options, Namespace) else options
    for name in (*getattr(owner, "ONLY_FOR_TRAINING", ()), *also):
        if name in given:  # older checkpoints lack options
            given[name] = False if isinstance(given[name], bool) else None


def with_whole_paths(cfg: Mapping[str, Any]) -> dict[str, Any]:
    """Options whose folders of data and of checkpoints are absolute paths, for a checkpoint.

    Args:
        cfg: options of a training in this process, in groups; they are not changed.
    """
    whole = dict(cfg)
    for group, name in (("task", "data"), ("checkpoint", "save_dir")):
        own = whole.get(group)
        path = own.get(name) if isinstance(own, Mapping) else None
        if isinstance(path, str) and path and "://" not in path:
            # fairseq's own tasks take several folders, separated as in PATH.
            parts = [os.path.abspath(part) for part in path.split(os.pathsep)]
            whole[group] = {**own, name: os.pathsep.join(parts)}
    return whole
