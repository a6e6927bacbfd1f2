"""Writes the tables of options in the pages, from the parsers of the commands.

    python docs/site/options.py            # writes the tables again
    python docs/site/options.py --check    # changes nothing; status 1 if a table is out of date

A table stands between ``<!-- options: KIND NAME -->`` and ``<!-- end of options -->``. KIND is
``arch``, ``task``, ``criterion``, ``optimizer`` (options of fairseq-train), ``verb`` (of
fairseq-struct), ``architectures``: those of the model NAME, with the options whose defaults they
change, or ``presets``: those of the system NAME.
"""

import argparse
import os
import re
import sys
from argparse import SUPPRESS, Action, ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from unittest import mock

DOCS = Path(__file__).resolve().parents[1]
MARKED = re.compile(
    r"(?P<start><!-- options: (?P<kind>\w+) (?P<name>[\w -]+?) -->\n).*?"
    r"(?P<end><!-- end of options -->)",
    re.DOTALL,
)


def pages() -> list[Path]:
    """All pages below ``docs/``."""
    return sorted(DOCS.glob("**/*.md"))


def fill(text: str) -> str:
    """Write every marked table of a page again."""
    return MARKED.sub(lambda at: f"{at['start']}{table(at['kind'], at['name'])}{at['end']}", text)


def table(kind: str, name: str) -> str:
    """The lines between the markers of a kind and a name.

    Raises:
        KeyError: nothing has this name.
    """
    if kind in ("presets", "architectures"):
        return _presets(name) if kind == "presets" else _architectures(name)
    if kind == "verb":
        options = [(action, action.default) for action in _of_verb(name)]
    else:
        cls = _registered(kind, name)
        given = _given_by(name) if kind == "arch" else {}
        options = [(action, given.get(action.dest, _own_default(cls, action)))
                   for action in _of_class(cls)]  # fmt: skip
    if not options:
        return "No options of its own.\n"
    rows = [f"| {_names(action)} | {_meaning(action)} | {_default(action, value)} |"
            for action, value in options]  # fmt: skip
    return "\n".join(["| option | meaning | default |", "| --- | --- | --- |", *rows]) + "\n"


def _registered(kind: str, name: str) -> type:
    from fairseq_struct import plugin

    plugin.load()
    from fairseq.criterions import CRITERION_REGISTRY
    from fairseq.models import ARCH_MODEL_REGISTRY
    from fairseq.optim import OPTIMIZER_REGISTRY
    from fairseq.tasks import TASK_REGISTRY

    known = {"arch": ARCH_MODEL_REGISTRY, "task": TASK_REGISTRY,
             "criterion": CRITERION_REGISTRY, "optimizer": OPTIMIZER_REGISTRY}  # fmt: skip
    return known[kind][name]


def _of_class(cls: type) -> Iterator[Action]:
    """Options of a registered class that are not fairseq's own."""
    inherited = set()
    for base in cls.__mro__:
        if base.__module__.startswith("fairseq.") and hasattr(base, "add_args"):
            inherited |= {action.dest for action in _actions(base)}
    return (action for action in _actions(cls) if action.dest not in inherited)


def _actions(cls: type) -> list[Action]:
    parser = ArgumentParser(add_help=False, conflict_handler="resolve")
    cls.add_args(parser)
    return [action for action in parser._actions if action.option_strings]


def _of_verb(name: str) -> Iterator[Action]:
    """Arguments of a verb of fairseq-struct; of ``prepare KIND SOURCE``, too."""
    from fairseq_struct.cli.main import build_parser

    with mock.patch.dict(os.environ):
        os.environ.pop("DATA", None)  # the default of an option, on one machine
        parser = build_parser()
    for word in name.split():
        (verbs,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
        parser = verbs.choices[word]
    return (action for action in parser._actions if action.dest != "help")


def _presets(system: str) -> str:
    from fairseq_struct.presets import names, preset

    found = [one for one in map(preset, names()) if one.system == system]
    rows = [f"| `{one.name}` | {one.what} | {one.source} |" for one in found]
    return "\n".join(["| preset | what | source |", "| --- | --- | --- |", *rows]) + "\n"


def _architectures(model: str) -> str:
    cls = _registered("arch", model)
    from fairseq.models import ARCH_MODEL_INV_REGISTRY

    known = {action.dest: action for action in _actions(cls)}
    base = {dest: _own_default(cls, action) for dest, action in known.items()} | _given_by(model)
    lines = []
    for name in sorted(set(ARCH_MODEL_INV_REGISTRY[model]) - {model}):
        changed = [
            _written(known[dest], value)
            for dest, value in _given_by(name).items()
            if dest in known and value != base[dest]
        ]
        lines.append(f"- `{name}`: {', '.join(changed) or 'the defaults'}")
    return "\n".join(lines) + "\n"


def _given_by(architecture: str) -> dict:
    """The values that an architecture gives to options."""
    from fairseq.models import ARCH_CONFIG_REGISTRY

    args = Namespace()
    ARCH_CONFIG_REGISTRY.get(architecture, lambda args: None)(args)
    return vars(args)


def _own_default(cls: type, action: Action) -> object:
    """The default of an option: fairseq keeps those of dataclasses out of its parsers."""
    given = getattr(getattr(cls, "__dataclass", None), "__dataclass_fields__", {})
    return given[action.dest].default if action.dest in given else action.default


def _written(action: Action, value: object) -> str:
    """An option with its value, as it is typed."""
    return (
        f"`{action.option_strings[-1]}`"
        if action.nargs == 0
        else f"`{action.option_strings[-1]} {value}`"
    )


def _names(action: Action) -> str:
    strings = action.option_strings or [str(action.metavar or action.dest)]
    return ", ".join(f"`{string}`" for string in strings)


def _meaning(action: Action) -> str:
    text = "" if action.help in (None, SUPPRESS) else " ".join(action.help.split())
    named = [str(choice) for choice in action.choices or () if str(choice) not in text]
    if named:
        text += f"; one of {', '.join(f'`{choice}`' for choice in action.choices)}"
    return re.sub(r"([|<*])", r"\\\1", text.replace("%%", "%"))


def _default(action: Action, value: object) -> str:
    if not action.option_strings:
        return "" if action.nargs in ("?", "*") else "required"
    if action.required:
        return "required"
    value = getattr(value, "value", value)
    said = re.search(r"\(default: ([\w.]+)\)$", action.help or "")
    if value in (None, SUPPRESS, "", "???", ()) or (action.nargs == 0 and not value):
        return f"`{said[1]}`" if said else ""
    return f"`{value}`"


def main(arguments: Iterable[str] | None = None) -> int:
    """Write or check the tables of all pages; 1 if ``--check`` finds an old table."""
    parser = ArgumentParser(description="Write the tables of options in docs/.")
    parser.add_argument("--check", action="store_true", help="change nothing")
    check, stale = parser.parse_args(arguments).check, False
    for path in pages():
        old = path.read_text(encoding="utf-8")
        new = fill(old)
        if new != old and check:
            print(f"{path}: options are out of date: python docs/site/options.py", file=sys.stderr)
            stale = True
        elif new != old:
            path.write_text(new, encoding="utf-8")
            print(f"{path}: options renewed")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
