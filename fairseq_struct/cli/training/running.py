"""Runs fairseq's training in this process: its output goes to a log, the screen shows a bar."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fairseq_struct import presets
from fairseq_struct.cli.training import kept_settings
from fairseq_struct.cli.training.beginnings import Beginning
from fairseq_struct.cli.training.captured_output import CapturedOutput, InUse, lines_as_written
from fairseq_struct.cli.training.missing_splits import explained
from fairseq_struct.cli.training.stopping_signals import stopping_whatever_comes_of_it
from fairseq_struct.errors import InputError, plain_message, suggestion
from fairseq_struct.files.checkpoint_names import BEST, LAST
from fairseq_struct.files.new_folders import missing_folders, remove_empty
from fairseq_struct.hooks.several_processes import started_by_torchrun
from fairseq_struct.presets import Preset
from fairseq_struct.records.training_log import LOG
from fairseq_struct.records.training_progress import LoggedProgress, duration, show_progress

_SIGNAL = 128  # and its number: the exit status after a signal


class Training:
    """One training.

    Args:
        preset: what is trained.
        arguments: those of fairseq-train.
    """

    def __init__(self, preset: Preset, arguments: Sequence[str]):
        self.preset, self.arguments = preset, list(arguments)
        self.folder = Path(presets.value_of("save-dir", arguments))
        self.log = self.folder / LOG
        self.beginning = Beginning(self.folder, arguments)
        self.metric = presets.value_of("best-checkpoint-metric", arguments) or "loss"
        self.settings: dict[str, str] = {}
        self.progress = LoggedProgress(begin=None if self.beginning.counts else (0, 0.0))

    def run(self) -> int:
        """Check the options, train, and say what there is to say.

        Returns:
            The exit status of fairseq-train; after a signal to stop, 128 and its number: 130 after
            Ctrl-C.

        Raises:
            InputError: an option, or what it names, cannot be used.
        """
        with CapturedOutput() as screen:
            if self.folder.is_file():
                raise InputError(f"--save-dir: {self.folder}: is a file, not a folder")
            args = self._check()
            self.settings = kept_settings.settings_of(args)
            self.beginning.check()
            if self.beginning.held and not self.beginning.anew:
                kept_settings.refuse_others(self.folder, self.settings)
            if not _is_first(self.arguments):  # the first process speaks for all
                return self._train(screen)
            screen.tell(presets.command("fairseq-train", self.arguments), *self.beginning.told())
            if self.beginning.goes_on:
                screen.tell(
                    *kept_settings.keep_rate(self.folder, self.settings, self.arguments)
                )
            new = missing_folders(self.folder)
            try:
                with stopping_whatever_comes_of_it(), self._shown(screen):
                    status = self._train(screen)
            except KeyboardInterrupt as stop:
                status = _SIGNAL + getattr(stop, "number", signal.SIGINT)
            except Exception as error:
                begun = self.progress.update is not None or isinstance(error, InUse)
                error = error if begun else explained(error, args)
                if not begun and plain_message(error) is not None:
                    _take_away([self.log, self.folder / kept_settings.FILE], new)
                if isinstance(error, InputError):
                    raise error from None
                print(f"error: {self._reason(error)}", file=screen.errors, flush=True)
                status = 1
            screen.tell(*self._last_words(status))
        return status

    def _check(self) -> argparse.Namespace:
        """Refuse options that fairseq does not know, before anything is written.

        Returns:
            What fairseq understands.

        Raises:
            InputError: there is one, or a value is impossible.
        """
        from fairseq_struct import plugin

        plugin.load()
        from fairseq import options

        def let_it_raise(parser):
            known = parser._option_string_actions
            parser.error = lambda message: _refuse(message, known, self.preset)

        sys.argv[:] = ["fairseq-train", *self.arguments]
        parser = options.get_training_parser()
        return options.parse_args_and_arch(parser, modify_parser=let_it_raise)

    def _train(self, screen: CapturedOutput) -> int:
        """Run fairseq-train, its output in the log."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            screen.log_to(self.log, alone=_is_first(self.arguments))
            if _is_first(self.arguments):
                screen.tell(*self.beginning.restore_last())
            self.beginning.begin()
            if not self.beginning.held and _is_first(self.arguments):
                kept_settings.keep(self.folder, self.settings)
        except OSError as error:
            raise InputError(f"--save-dir: {plain_message(error) or error}") from None
        import fairseq_cli.train

        # As fairseq-train does when nothing else was imported before it.
        logging.basicConfig(
            format="%(asctime)s | %(levelname)s | %(name)s | %(message)s",
            datefmt="%Y-%m-%d %H:%M:%S", level=os.environ.get("LOGLEVEL", "INFO").upper(),
            stream=sys.stdout, force=True,
        )  # fmt: skip
        try:
            fairseq_cli.train.cli_main()
        except SystemExit as stop:
            return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except Exception as error:
            if not isinstance(error, InputError):
                logging.exception("the training failed")
            raise
        return 0

    @contextlib.contextmanager
    def _shown(self, screen: CapturedOutput) -> Iterator[None]:
        """Show the progress of the training, from what is added to the log."""
        ended = threading.Event()
        begin = self.log.stat().st_size if self.log.exists() else 0
        ends = (presets.value_of(name, self.arguments) for name in ("max-update", "max-epoch"))
        updates, epochs = (int(end) if end and end.isdecimal() and int(end) else None
                           for end in ends)  # fmt: skip

        def show():
            lines = self.beginning.watched(
                lines_as_written(self.log, begin, ended), self.settings, screen.tell
            )
            show_progress(
                lines, updates, _once("loss", "lr", f"valid_{self.metric}"), screen.errors,
                epochs=epochs, validation=_once("loss", *self.preset.watch, self.metric),
                progress=self.progress,
            )  # fmt: skip

        watcher = threading.Thread(target=show, name="progress", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()

    def _reason(self, error: Exception) -> str:
        """The last line of an error, which may be the traceback of another process."""
        lines = [line for line in str(error).splitlines() if line.strip()]
        reason = plain_message(error) or f"{type(error).__name__}: {lines[-1] if lines else ''}"
        return f"the training failed, see {self.log}: {reason}"

    def _last_words(self, status: int) -> list[str]:
        update = self.progress.update
        if status > _SIGNAL:
            return [self._how_to_go_on(update)]
        if status != 0:
            return []
        kept = self._kept()
        told = "done" if update is None else f"done: {update} updates"
        if update is None and (why := self.beginning.nothing_left()):
            told = f"done: nothing was left to train from {self.beginning.file}: {why}"
            kept = kept if self.beginning.goes_on else None  # what is there is of another training
        if self.progress.seconds is not None:
            told += f" in {duration(self.progress.seconds)}"
            told += " since it went on" if self.beginning.goes_on else ""
        best = self.progress.latest.get(f"valid_best_{self.metric}")
        if best is not None:
            told += f", best {self.metric} {best:.4g}"
        if kept is None:
            return [told]
        lines = [told, f"  {self.folder / kept}"]
        if self.preset.next and self._next_is_possible():
            following = re.sub(f"{BEST}|{LAST}", kept, self.preset.next)
            lines += [f"next: {following.replace('{save-dir}', shlex.quote(str(self.folder)))}"]
        return lines

    def _next_is_possible(self) -> bool:
        needed = self.preset.next_needs
        return not needed or float(presets.value_of(needed, self.arguments) or 0) != 0

    def _kept(self) -> str | None:
        """The checkpoint to go on with: the preset's, or another if that was not written.

        Without any validation there is no best one.
        """
        wanted = LAST if LAST in self.preset.next else BEST
        names = _once(wanted, BEST, LAST)
        return next((name for name in names if (self.folder / name).is_file()), None)

    def _how_to_go_on(self, update: int | None) -> str:
        where = "" if update is None else f" at update {update}"
        beginning = self.beginning
        if beginning.has_saved() or (beginning.held and not beginning.anew):
            without = f" without {' '.join(beginning.anew)}" if beginning.anew else ""
            saved = "" if beginning.saved is None else f", update {beginning.saved}"
            same = f"the same command{without}"
            return f"interrupted{where}; {same} goes on from {beginning.last}{saved}"
        return f"interrupted{where}, before the first checkpoint; the same command begins again"


def _once(*names: str) -> list[str]:
    return list(dict.fromkeys(names))


def _is_first(arguments: Sequence[str]) -> bool:
    """Whether this is the process that speaks, if several were started, by torchrun or Slurm."""
    given = presets.value_of("distributed-rank", arguments)
    # Without a port, tasks of Slurm are trainings of their own for fairseq.
    slurm = presets.value_of("distributed-port", arguments) and os.environ.get("SLURM_PROCID")
    rank = os.environ["RANK"] if started_by_torchrun() else None
    return (given or rank or slurm or "0") == "0"


def _refuse(message: str, known: Iterable[str], preset: Preset) -> None:
    """Raise argparse's message as bad input, with the option that may have been meant."""
    unknown = re.match(r"unrecognized arguments: (--?[\w-]+)", message)
    if unknown and unknown[1].lstrip("-") in preset.options:
        names = [name for name in preset.options if re.search(rf" --{name}([= ]|$)", message)]
        verbs = ("does", "takes it") if len(names) == 1 else ("do", "take them")
        raise InputError(
            f"the preset's {' and '.join(f'--{name}' for name in names)} {verbs[0]} not go with "
            f"the other options; {' '.join(f'--no-{name}' for name in names)} {verbs[1]} away"
        )
    if unknown:
        meant = suggestion(unknown[1], known)
        raise InputError(f"fairseq-train has no option {unknown[1]} for this preset{meant}")
    message = message.replace("<lambda> ", "")  # fairseq's name for what reads numbers
    raise InputError(f"fairseq-train: {message}")


def _take_away(files: Sequence[Path], folders: Sequence[Path]) -> None:
    """Remove what was made for a training that did not begin."""
    if not folders:
        return
    with contextlib.suppress(OSError):  # a file is where the folder would be
        for file in files:
            file.unlink(missing_ok=True)
    remove_empty(folders)
