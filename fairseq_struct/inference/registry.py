"""Tools for trained models: each says which models it serves, and which options it takes.

A tool is known by what a model says of itself, never by the model's class, so a model of another
package is served as ours are. That package may register tools of its own, too. Nothing heavy is
imported here: the command line asks for options before it imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fairseq_struct.data.datasets.similar_lengths import BATCH_WORDS
from fairseq_struct.errors import InputError, unknown_name

# What trained models are asked for, and what to say of a model that no tool does it with.
#   parse: the tool has ``tree_kind``, "constituents", "dependencies" or None, and
#       ``trees(sentences)``, which yields a ``Constituents`` or an ``Analysis`` for each.
#   classify: it has ``analyse(instances)``, which yields an ``Analysis`` for each.
#   score: it has ``log_probabilities(sentences)`` and a ``vocabulary``.
#   channels: it has ``arcs(trees)`` and ``names``.
ABILITIES = {
    "parse": "infers no trees",
    "classify": "is no classifier, which has no labels to give",
    "score": "is no recurrent language model, nor another one that reads from left to right",
    "channels": "is no masked language model",
}


@dataclass(frozen=True)
class Option:
    """An option of tools: a keyword of ``load``, and the same on the command line.

    Attributes:
        name: the keyword.
        help: for the command line.
        type: of its value; ``bool`` for a switch that is off unless named.
        default: the value that asks for nothing.
        choices: the values there are, if not all of the type.
        least: the least of them, if they are numbers.
        flag: on the command line; the keyword's own if empty.
        metavar: there, too.
    """

    name: str
    help: str
    type: Callable[[str], Any] = str
    default: Any = None
    choices: tuple | None = None
    least: int | None = None
    flag: str = ""
    metavar: str | None = None

    @property
    def on_command_line(self) -> str:
        """The flag, such as ``--multiple-roots``."""
        return self.flag or f"--{self.name.replace('_', '-')}"

    def check(self, value: Any):
        """Refuse a value.

        Raises:
            InputError: it is too small, or none of the choices.
        """
        if value == self.default:
            return
        if self.choices is not None and value not in self.choices:
            raise InputError(unknown_name(self.on_command_line, value, self.choices))
        if self.least is not None and value < self.least:
            raise InputError(f"{self.on_command_line} must be {self.least} or more, not {value}")


DEVICE = Option("device", "where the model is to run, such as cuda or cuda:1 (default: cpu)")
BATCH = Option(
    "batch_words", "words that go through the model at once, padding counted (default: "
    f"{BATCH_WORDS}); fewer take less memory", int, BATCH_WORDS, least=1, metavar="N",
)  # fmt: skip
# What every tool takes.
COMMON = (DEVICE, BATCH)


@dataclass(frozen=True)
class Tool:
    """An entry of the registry.

    Attributes:
        name: of the tool.
        kind: the models it serves, in words for messages: "masked language models".
        abilities: some of ``ABILITIES``.
        serves: whether it serves a model, by what the model says of itself.
        options: beyond ``COMMON``.
        build: the tool of a model and its task; ``batch_words`` and the options that were given
            are keywords.
    """

    name: str
    kind: str
    abilities: tuple[str, ...]
    serves: Callable[[Any], bool]
    options: tuple[Option, ...]
    build: Callable[..., Any]


TOOLS: dict[str, Tool] = {}


def register_tool(
    name: str, *, kind: str, abilities: Iterable[str], serves: Callable[[Any], bool],
    options: Iterable[Option] = (),
):  # fmt: skip
    """Register the decorated function as what builds a tool: see :class:`Tool`.

    Raises:
        ValueError: the name is taken, an ability is unknown, or another tool has an option of the
            same name that is not the same.
    """
    abilities, options = tuple(abilities), tuple(options)

    def register(build: Callable[..., Any]) -> Callable[..., Any]:
        if name in TOOLS:
            raise ValueError(f"there is a tool {name!r} already")
        for ability in abilities:
            if ability not in ABILITIES:
                raise ValueError(unknown_name("ability", ability, ABILITIES))
        taken = {option.name: option for option in (*COMMON, *options_for(ABILITIES))}
        for option in options:
            if taken.get(option.name, option) != option:
                raise ValueError(f"another tool has an option {option.name!r} that is not the same")
        TOOLS[name] = Tool(name, kind, abilities, serves, options, build)
        return build

    return register


def options_for(abilities: Iterable[str]) -> list[Option]:
    """The options that tools with one of these abilities take, beyond ``COMMON``."""
    wanted = set(abilities)
    tools = [tool for tool in TOOLS.values() if wanted.intersection(tool.abilities)]
    return list(dict.fromkeys(option for tool in tools for option in tool.options))


def tool_for(model: Any, abilities: Iterable[str]) -> Tool:
    """The tool with one of these abilities that serves a model; of several the latest one.

    Raises:
        InputError: there is none.
    """
    abilities = list(abilities)
    for tool in reversed(TOOLS.values()):
        if set(abilities).intersection(tool.abilities) and tool.serves(model):
            return tool
    raise InputError(f"{type(model).__name__} {ABILITIES[abilities[0]]}")


def given_options(abilities: Iterable[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """The options that ask for something.

    Args:
        abilities: some of ``ABILITIES``.
        values: by the options' names.

    Raises:
        InputError: no tool with one of the abilities takes an option, or not this value.
    """
    known = {option.name: option for option in options_for(abilities)}
    for name, value in values.items():
        if name not in known:
            raise InputError(unknown_name("option", name, [*known, *(o.name for o in COMMON)]))
        known[name].check(value)
    return {name: value for name, value in values.items() if value != known[name].default}


def refuse_foreign(tool: Tool, given: Iterable[str]):
    """Complain about an option that is another tool's.

    Raises:
        InputError: with the models that it is for.
    """
    own = {option.name for option in tool.options}
    for name in given:
        if name not in own:
            others = [(t.kind, o) for t in TOOLS.values() for o in t.options if o.name == name]
            kinds = " and ".join(dict.fromkeys(kind for kind, _ in others))
            flag = others[0][1].on_command_line
            raise InputError(f"{flag} has no use here; it is for {kinds}")
