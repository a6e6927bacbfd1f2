"""Reading of presets."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq_struct.errors import InputError, suggestion

FOLDER = Path(__file__).parent
# Tables of a preset; what a preset and the one that it is like say in them is merged.
_TABLES = ("options", "needs", "from_data")


@dataclass(frozen=True)
class Preset:
    """A way to train one model.

    Attributes:
        name: of the preset; by default it is trained in ``runs/NAME``.
        system: folder of the preset, and of its recipes.
        what: what is trained, in one line.
        source: paper and table from which the settings are.
        options: of ``fairseq-train``, without dashes, to their values; None for a flag.
        data: the kind of folder that it trains on, a key of ``data_kinds.KINDS``; may be empty.
        prepare: arguments of ``fairseq-struct prepare`` that make such a folder.
        watch: names of the numbers of a validation that matter, beside the loss.
        next: what to type after the training; ``{save-dir}`` is its folder.
        next_needs: an option without which, or with 0 for which, ``next`` is not possible.
        remarks: what else to know.
        needs: options that the user has to give, to what they are.
        from_data: options to files of a prepared folder; given if the file is there.
    """

    name: str
    system: str
    what: str
    source: str
    options: dict[str, str | None]
    data: str = ""
    prepare: str = ""
    watch: tuple[str, ...] = ()
    next: str = ""
    next_needs: str = ""
    remarks: str = ""
    needs: dict[str, str] | None = None
    from_data: dict[str, str] | None = None

    @property
    def preparation(self) -> str:
        """The command that makes its data; empty if it needs none."""
        return f"fairseq-struct prepare {self.prepare}" if self.prepare else ""


@functools.cache
def _files() -> dict[str, Path]:
    return {path.stem: path for path in sorted(FOLDER.glob("*/*.toml"))}


def names() -> list[str]:
    """The names of all presets, by system."""
    return list(_files())


@functools.cache
def preset(name: str) -> Preset:
    """Read a preset.

    Raises:
        InputError: there is none of this name.
    """
    if name not in _files():
        raise InputError(
            f"unknown preset {name!r}{suggestion(name, names())} (fairseq-struct presets lists all)"
        )
    content = _content(name)
    return Preset(
        name=name,
        system=_files()[name].parent.name,
        **content
        | {"watch": tuple(content.get("watch", ()))}
        | {"options": {key: _text(value) for key, value in content["options"].items()}},
    )


def _content(name: str) -> dict[str, Any]:
    """The entries of a preset, with those of the one that it is like."""
    # Numbers stay as they are written: 1e-9 shall not become 1e-09 in a command.
    own = tomllib.loads(_files()[name].read_text(encoding="utf-8"), parse_float=str)
    if "like" not in own:
        return own
    merged = _content(own.pop("like"))
    for key, value in own.items():
        merged[key] = {**merged.get(key, {}), **value} if key in _TABLES else value
    for table in _TABLES:
        if table in merged:
            merged[table] = {k: v for k, v in merged[table].items() if v is not False}
    return merged


def _text(value: Any) -> str | None:
    return None if value is True else str(value)
