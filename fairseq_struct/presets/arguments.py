"""From a preset and further options to the arguments of ``fairseq-train``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.presets.preset import Preset

# Other names of fairseq for options that presets have.
ALIASES = {"-a": "arch", "-s": "source-lang", "-t": "target-lang", "--max-sentences": "batch-size",
           "--max-sentences-valid": "batch-size-valid"}  # fmt: skip


# Options of every training, unless they are given. The bar of a training reads its log as JSON.
COMMON = {"no-epoch-checkpoints": None, "log-format": "json", "log-interval": "10"}


def options_in(words: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Cut a command line into options and the words of each.

    Args:
        words: such as ``--lr 0.1 --fp16 --seed=2``. A negative number is no option.

    Returns:
        The names of the options, without dashes and aliases, with all of their words:
        ``[("lr", ["--lr", "0.1"]), ("fp16", ["--fp16"]), ("seed", ["--seed=2"])]``. Words before
        the first option have an empty name.
    """
    found: list[tuple[str, list[str]]] = []
    for word in words:
        if re.match(r"--?[a-zA-Z]", word):
            option = word.partition("=")[0]
            found.append((ALIASES.get(option, option.lstrip("-")), [word]))
        elif found:
            found[-1][1].append(word)
        else:
            found.append(("", [word]))
    return found


def value_of(name: str, words: Sequence[str]) -> str | None:
    """The last value of an option on a command line: of a flag empty, None if it is not there."""
    value = None
    for option, own in options_in(words):
        if option == name:
            _, joined, rest = own[0].partition("=")
            value = rest if joined else " ".join(own[1:])
    return value


def taken_away(options: Iterable[str], words: Sequence[str]) -> tuple[set[str], list[str]]:
    """Which options a command line takes away, as fairseq cannot: ``--no-OPTION``.

    An option ``no-NAME`` is taken away by ``--NAME``. The last word about an option counts.

    Args:
        options: names of options that are there unless the command line takes them away.
        words: the command line.

    Returns:
        The options that are taken away, and the command line without the words that say so.

    Raises:
        InputError: such a word has a value.
    """
    offs = {name[3:] if name.startswith("no-") else f"no-{name}": name for name in options}
    off: set[str] = set()
    kept: list[tuple[str, list[str]]] = []
    for name, own in options_in(words):
        if name not in offs or not own[0].startswith("--"):
            kept.append((name, own))
            continue
        if own != [f"--{name}"]:
            raise InputError(f"--{name} takes no value, but is given as {shlex.join(own)}")
        off.add(offs[name])
        kept = [one for one in kept if one[0] != offs[name]]
    return off, [word for _, own in kept for word in own]


def arguments_of(preset: Preset, further: Sequence[str] = ()) -> list[str]:
    """The arguments of ``fairseq-train``: those of the preset unless given again, then ``further``.

    Args:
        preset: the preset.
        further: options of ``fairseq-train``; ``--no-OPTION`` takes one of the preset away.

    Raises:
        InputError: an option that the preset needs is not among them, or a schedule ends at 0.
    """
    off, further = taken_away([*preset.options, *(preset.needs or {})], further)
    given = {name for name, _ in options_in(further)}
    for name, what in (preset.needs or {}).items():
        if name not in given and name not in off:
            raise InputError(f"{preset.name} needs --{name}: {what}")
    arguments = []
    for name, value in preset.options.items():
        if name in given or name in off:
            continue
        arguments.append(f"--{name}")
        if value is not None:
            arguments.append(_filled(value, preset, off, further))
    return [*arguments, *further]


def training_arguments(
    preset: Preset, head: Sequence[str], further: Sequence[str], user_dir: Path
) -> list[str]:
    """All arguments of the ``fairseq-train`` that trains a preset.

    Args:
        preset: the preset.
        head: the folder of data, if there is one, and options that come from it.
        further: options of ``fairseq-train``, and ``--no-OPTION`` for those of the preset;
            ``--epoch-checkpoints`` keeps those of all epochs.
        user_dir: the folder for ``--user-dir``.

    Raises:
        InputError: as for :func:`arguments_of`.
    """
    off, further = taken_away((k for k, v in COMMON.items() if v is None), further)
    given = {name for name, _ in options_in(further)}
    arguments = []
    for name, words in options_in(head):
        if name not in given:
            arguments += words
    common = {"user-dir": str(user_dir), **COMMON, "save-dir": f"runs/{preset.name}"}
    for name, value in common.items():
        if name not in given and name not in off:
            arguments += [f"--{name}"] if value is None else [f"--{name}", value]
    return [*arguments, *arguments_of(preset, further)]


def _filled(value: str, preset: Preset, off: set[str], further: Sequence[str]) -> str:
    """A value in which ``{option}`` is replaced by the value of that option."""
    reference = re.fullmatch(r"\{([a-z-]+)\}", value)
    if not reference:
        return value
    name = reference[1]
    found = value_of(name, further) or ("" if name in off else str(preset.options[name]))
    if not found.strip("0"):  # for fairseq, training without end
        raise InputError(f"{preset.name} needs --{name} above 0, because a schedule ends there")
    return found


def command(program: str, arguments: Iterable[str]) -> str:
    """A command as it is typed in a shell."""
    return shlex.join([program, *arguments])
