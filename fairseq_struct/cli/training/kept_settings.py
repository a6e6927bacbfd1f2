"""What a training was begun with, kept beside its checkpoints, so that no other goes on there."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fairseq_struct import presets
from fairseq_struct.data.prepared.manifest import digest, read_manifest
from fairseq_struct.errors import InputError
from fairseq_struct.files.whole_files import whole_file

FILE = "settings.json"
DATA = "the data"
# Most settings that a refusal names.
MOST = 3
# What the manifest of the data says of their text; the data may be prepared anew in their place.
TEXT = "the text"
# The learning rate, where a checkpoint's goes on whatever --lr is.
RATE, OWN_RATE = "--lr", "reduce_lr_on_plateau"


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
    found[TEXT] = text_of_data(found.get(DATA, ""))
    warms_up = getattr(args, "warmup_updates", 0)
    if args.lr_scheduler == OWN_RATE and not warms_up and not args.no_save_optimizer_state:
        found[RATE] = _text(args.lr)
    return found


def text_of_data(data: str) -> str:
    """A sum of what training and validation read, by the manifest; empty if there is none.

    Args:
        data: folders that fairseq-train takes, with colons between them.
    """
    found = {}
    for folder in map(Path, filter(None, data.split(":"))):
        for place in (folder, folder.parent):
            manifest = read_manifest(place) or {}
            sums = manifest.get("text_sha256")
            if isinstance(sums, dict):
                of = "train", "valid"
                own = {name: one for name, one in sums.items() if any(part in name for part in of)}
                # Where parts are drawn from one text, the options say how.
                own = own or [sums, manifest.get("options")]
                # Shards of one preparation share its manifest.
                found[json.dumps(own, sort_keys=True)] = None
    return digest(found)[:16] if found else ""


def keep_rate(folder: Path, settings: dict[str, str], arguments: Sequence[str]) -> list[str]:
    """Keep the learning rate that a training was begun with, and say that another is not used.

    Args:
        folder: that of a training that goes on.
        settings: those of now; they get the rate that is kept.
        arguments: those of fairseq-train.
    """
    old, new = _kept(folder).get(RATE), settings.get(RATE)
    given = {name for name, _ in presets.options_in(arguments)}
    if None in (old, new) or old == new or given & {"optimizer-overrides", "reset-optimizer"}:
        return []
    settings[RATE] = old
    return [
        f"--lr {new} is not used: {OWN_RATE} goes on with the rate of the checkpoint; "
        f"--optimizer-overrides \"{{'lr': {new}}}\" sets another"
    ]


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
    kept = _kept(folder)
    differ = [
        f"{name} {kept[name] or 'not given'} (now {value or 'not given'})"
        for name, value in settings.items()
        if name in kept and name not in (TEXT, RATE) and not _same(kept[name], value)
    ]
    if kept.get(TEXT) and settings.get(TEXT) and kept[TEXT] != settings[TEXT]:
        differ.append("other text in its data (which were prepared anew since)")
    if differ:
        further = [f"{len(differ) - MOST} more"] if len(differ) > MOST else []
        raise InputError(
            f"{folder} holds a training with {', '.join([*differ[:MOST], *further])}: name another "
            "--save-dir"
        )


def _kept(folder: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((folder / FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


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
    """Whether a name may be that of a path: of a file in the folder where it was given."""
    return Path(path).is_absolute() and Path(path).name == name
