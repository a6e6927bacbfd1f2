"""What a training begins with: nothing, the last checkpoint of its folder, or another file."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from fairseq_struct import presets
from fairseq_struct.cli.training import kept_settings
from fairseq_struct.errors import InputError
from fairseq_struct.files.checkpoint_names import ANY, LAST
from fairseq_struct.files.text_files import reading
from fairseq_struct.files.whole_files import whole_file

RESETS = ("reset-optimizer", "reset-lr-scheduler", "reset-meters", "reset-dataloader")
_LOADED = re.compile(r"Loaded checkpoint .* \(epoch (\d+) @ (\d+) updates\)")
_SAVED = re.compile(r"Saved checkpoint .* \(epoch \d+ @ (\d+) updates")
_STEPPED_BACK = re.compile(r".*\| (.*; continuing from .*, the newest intact checkpoint)$")
_STOPPED = re.compile(r"(?:nothing to train: |stopping training because )(.*)")


class Beginning:
    """The beginning of a training.

    Args:
        folder: that of its checkpoints.
        arguments: those of fairseq-train.

    Attributes:
        last: the last checkpoint of the folder, which may not exist yet.
        held: whether the folder holds a training, in this checkpoint or in others.
        anew: options that begin another training from a checkpoint.
        file: the checkpoint to begin with; None: there is none.
        goes_on: whether that is the last one of the folder.
        counts: whether the updates of that checkpoint count.
        saved: updates of the last checkpoint of this training; None: unknown.
    """

    def __init__(self, folder: Path, arguments: Sequence[str]):
        restored = presets.value_of("restore-file", arguments) or LAST
        given = {name for name, _ in presets.options_in(arguments)}
        given -= {"restore-file"} if restored == LAST else set()
        self.last = folder / LAST
        self._others = [] if self.last.is_file() else _checkpoints(folder)
        self.held = self.last.is_file() or bool(self._others)
        self._finetuned = presets.value_of("finetune-from-model", arguments)
        self.anew = [f"--{name}" for name in ("restore-file", *RESETS) if name in given]
        once = presets.value_of("continue-once", arguments)
        if restored != LAST:
            self.file: str | None = restored
        else:
            self.file = str(self.last) if self.held else once or self._finetuned
        self.goes_on = self.held and restored == LAST
        self._writes_last = "no-last-checkpoints" not in given
        self.counts = self.goes_on or (self.file is not None and self.file != self._finetuned)
        self._before: list[tuple[int, int] | None] = []
        self.saved: int | None = None
        self._epoch: str | None = None
        self._why: str | None = None

    def check(self) -> None:
        """Refuse options that contradict each other, or name a model that does not exist.

        Raises:
            InputError: they do, or the folder has checkpoints, but not the one to go on from.
        """
        if self.goes_on and self._others and not self._writes_last:
            raise InputError(
                f"{self.last.parent} holds {', '.join(self._others)}, but no {LAST}, which "
                "--no-last-checkpoints does not write: name another --save-dir, or the one to go "
                "on from (--restore-file)"
            )
        if self._finetuned is None:
            return
        if self.anew:
            raise InputError(
                f"--finetune-from-model does not go with {', '.join(self.anew)}: it always begins "
                "with a new optimizer and counts from 0"
            )
        from fairseq.file_io import PathManager

        if Path(self._finetuned).is_dir():
            raise InputError(
                f"{self._finetuned}: a folder (--finetune-from-model takes a checkpoint; an export "
                "cannot be trained on)"
            )
        if not PathManager.isfile(self._finetuned):
            raise InputError(f"{self._finetuned}: no such file (--finetune-from-model)")

    def restore_last(self) -> list[str]:
        """Copy the newest intact checkpoint of the folder to the last one, if that is missing.

        A training that began anew would replace the others.

        Returns:
            Lines that say so.

        Raises:
            InputError: no checkpoint is intact.
        """
        if not (self.goes_on and self._others):
            return []
        from fairseq_struct.compat import load_state
        from fairseq_struct.hooks.trainer_checkpoints import newest_intact

        newest = newest_intact(self.last.parent)
        if newest is None:
            try:
                load_state(self.last.parent / self._others[-1])
                why = f"{', '.join(self._others)}: of no training"
            except InputError as error:
                why = str(error)
            raise InputError(
                f"{self.last.parent} has no {LAST}, and no training can go on from another "
                f"({why}): name another --save-dir"
            )
        with reading(newest), newest.open("rb") as source, whole_file(self.last) as target:
            shutil.copyfileobj(source, target)
        return [f"{self.last} was missing and is now a copy of {newest.name}"]

    def told(self) -> list[str]:
        """Lines that say what the training begins with."""
        lines = []
        if self.goes_on and self._finetuned is not None:
            lines.append(
                f"--finetune-from-model is not used: {self.last.parent} already holds a training"
            )
        if self.file is not None:
            lines.append(f"{'going on' if self.goes_on else 'beginning'} from {self.file}")
        return lines

    def begin(self) -> None:
        """Count checkpoints as those of this training from now on: no other writes any there."""
        self._before = [_version(self.last)]

    def has_saved(self) -> bool:
        """Whether the last checkpoint of the folder is of this training by now."""
        return bool(self._before) and _version(self.last) not in (None, *self._before)

    def watched(
        self, lines: Iterable[str], settings: dict[str, str],
        tell: Callable[[str], None] = lambda _: None,
    ) -> Iterator[str]:  # fmt: skip
        """Pass on the lines of the log, and replace the settings of an earlier training in time.

        Until this training has written a checkpoint, the folder holds the earlier one, and its
        settings stay.

        Args:
            lines: lines of the log, as they arrive.
            settings: those of this training.
            tell: is called if another checkpoint than the last one is taken, with why.
        """
        replaced = not self.held
        for line in chain(lines, [""]):  # once more at the end
            if found := _LOADED.search(line):
                self._epoch = found[1]
                self.saved = int(found[2]) if self.goes_on else None
            if found := _SAVED.search(line):
                self.saved = int(found[1])
            if found := _STEPPED_BACK.search(line):
                tell(found[1])
            if found := _STOPPED.search(line):
                self._why = found[1]
            if not replaced and self.has_saved():
                with contextlib.suppress(OSError):  # tried again at the next line
                    kept_settings.keep(self.last.parent, settings)
                    replaced = True
            yield line

    def nothing_left(self) -> str | None:
        """Why nothing was left to train from the checkpoint; None: that is not known."""
        if self._epoch is None:
            return None
        return self._why or f"epoch {self._epoch} would be next (--max-epoch)"


def _checkpoints(folder: Path) -> list[str]:
    try:
        return sorted(one.name for one in folder.iterdir() if ANY.fullmatch(one.name))
    except OSError:
        return []


def _version(file: Path) -> tuple[int, int] | None:
    """What tells a file from one that replaced it; None if there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
