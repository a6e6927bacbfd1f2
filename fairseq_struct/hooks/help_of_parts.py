"""``--help`` of fairseq's programs with the options of the chosen architecture, task and criterion.

fairseq prints its help before it knows which architecture, task and so on the command line names,
so that their options are missing.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

from fairseq_struct.hooks.wrapping import wrap
from fairseq_struct.option_checks import option_name

HELP = ("-h", "--help")
OF_MODELS = "Model-specific configuration"  # fairseq's title of the group


@functools.cache
def install() -> None:
    """Replace fairseq's function that parses command lines; calling it again has no effect."""
    from fairseq import options

    wrap(options, "parse_args_and_arch", _helping)


def _helping(
    original: Callable[..., Any], parser: argparse.ArgumentParser,
    input_args: Sequence[str] | None = None, *args: Any, **kwargs: Any,
) -> Any:  # fmt: skip
    words = list(sys.argv[1:] if input_args is None else input_args)
    if not parser.add_help or not any(word in HELP for word in words):
        return original(parser, input_args, *args, **kwargs)
    words = [word for word in words if word not in HELP]
    # fairseq calls this once before it adds the options of the parts, and once afterwards.
    calls = []

    def print_help(parser: argparse.ArgumentParser) -> None:
        calls.append(parser)
        if len(calls) == 2:
            _group_by_part(parser, words)
            parser.print_help()
            parser.exit()

    original(parser, words, modify_parser=print_help)
    parser.print_help()  # of a build of fairseq that calls it only once
    parser.exit()


def _group_by_part(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Give the options of each chosen part a group of their own, after all others."""
    from fairseq.registry import REGISTRIES
    from fairseq.tasks import TASK_REGISTRY

    chosen, _ = parser.parse_known_args([*words, *_positionals(parser)])
    for group in parser._action_groups:
        if group.title == OF_MODELS:
            group.title = f"options of --arch {chosen.arch}"
            if not any(word.partition("=")[0] in ("--arch", "-a") for word in words):
                # A model that nobody named: those of checkpoints are found in their files.
                group._group_actions.clear()
    parts = {"task": TASK_REGISTRY.get(chosen.task)}
    for name, registry in REGISTRIES.items():
        parts[name] = registry["registry"].get(getattr(chosen, name, None))
    for name, part in parts.items():
        if part is not None:
            title = f"options of {option_name(name)} {getattr(chosen, name)}"
            _move(parser, title, _options_of(part))


def _positionals(parser: argparse.ArgumentParser) -> list[str]:
    """Something for each positional argument: help is also for command lines without data."""
    return ["data" for action in parser._actions if not action.option_strings and not action.nargs]


def _options_of(part: type) -> set[str]:
    from fairseq.dataclass.utils import gen_parser_from_dataclass

    scratch = argparse.ArgumentParser(add_help=False, conflict_handler="resolve")
    if hasattr(part, "add_args"):
        part.add_args(scratch)
    elif hasattr(part, "__dataclass"):
        gen_parser_from_dataclass(scratch, getattr(part, "__dataclass")())
    return {action.dest for action in scratch._actions}


def _move(parser: argparse.ArgumentParser, title: str, names: set[str]) -> None:
    """Move options from the parser's first groups to a new one; those of models stay theirs."""
    group = parser.add_argument_group(title)
    for other in (parser._positionals, parser._optionals):
        moved = [action for action in other._group_actions if action.dest in names]
        group._group_actions += moved
        other._group_actions[:] = [a for a in other._group_actions if a not in moved]
