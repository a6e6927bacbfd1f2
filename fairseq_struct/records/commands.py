"""Commands that make the rows of a table, as its caption shows them."""

import re
import shlex
from collections.abc import Sequence

from fairseq_struct.records.results import Result

_SEED = re.compile(r"--seed \d+(?!\S)")
_SEEDS = re.compile(r"\bSEEDS?=(\d+(?!\S)|'\d+( \d+)*')")  # SEED is short for SEEDS
_NUMBERED = re.compile(r"(?<![A-Za-z0-9])k(\d)(?![A-Za-z0-9])")  # k1; k1_random_order
_SEEDS_NAMED = re.compile(r"\bSEEDS?=('[^']*'|\S*)(?!\S)|--seed \S+")


def command_of(results: Sequence[Result]) -> str:
    """Command of the first record, with VARIANT for its variant and SEED for a seed that varies.

    For variants k1, k2, …, K stands for the number, which is what recipes take. A recipe that is
    given its seeds is given those of all trainings. Records of trainings come before others, and,
    if seeds vary, commands that name seeds.
    """
    return _pattern(_first(results), results)


def other_commands(results: Sequence[Result]) -> dict[str, list[str]]:
    """Variants that another command than :func:`command_of` makes, by that command.

    Rows may differ in the seeds that their commands name; of such commands, one that names seeds
    stands for all. Benchmarks, which train nothing, have none: they append rows by options of one
    command.
    """
    if not any(item.updates for item in results):
        return {}
    first = _settings(command_of(results))
    others: dict[tuple[str, ...], tuple[str, dict[str, None]]] = {}
    for item in results:
        command = _pattern(item, results)
        settings = _settings(command)
        if settings != first:
            known, variants = others.get(settings, (command, {}))
            named = known if "SEED" in known else command
            others[settings] = named, variants | {item.variant: None}
    return {command: list(variants) for command, variants in others.values()}


def _first(results: Sequence[Result]) -> Result:
    vary = len({item.seed for item in results}) > 1
    return min(results, key=lambda item: (not item.updates, vary and "SEED" not in item.command))


def _pattern(result: Result, results: Sequence[Result]) -> str:
    """The command of a result, with VARIANT or K, and SEED."""
    command = result.command.replace(f" {result.variant}", " VARIANT")
    if number := _NUMBERED.search(result.variant):
        command = re.sub(rf"(\.sh(?: \S+)*?) {number[1]}(?!\S)", r"\1 K", command)
    if len({item.seed for item in results}) > 1:
        trained = [item for item in results if item.updates] or results
        seeds = " ".join(map(str, sorted({item.seed for item in trained})))
        command = _SEED.sub("--seed SEED", command)
        command = _SEEDS.sub(f"SEEDS='{seeds}'" if " " in seeds else f"SEEDS={seeds}", command)
    return command


def _settings(command: str) -> tuple[str, ...]:
    """The words of a command in an order of their own, without those that name seeds."""
    return tuple(sorted(shlex.split(_SEEDS_NAMED.sub("", command))))
