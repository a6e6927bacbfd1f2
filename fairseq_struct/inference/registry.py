"""Registry of tools for trained models: the models that each tool serves, and its options.

A tool recognises a model by the model's attributes, never by its class. So models of other
packages are served like the models of this package. Other packages may also register tools. This
module imports nothing heavy, because the command line reads the options before it imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from fairseq_struct.data.datasets.similar_lengths import BATCH_WORDS
from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.option_checks import option_name

# Abilities of tools, each with the message for a model that no tool with this ability serves.
#   parse: the tool has ``tree_kind``, "constituents", "dependencies" or None, and
#       ``trees(sentences)``, which yields a ``Constituents`` or an ``Analysis`` per sentence.
#   classify: the tool has ``analyse(instances)``, which yields an ``Analysis`` per instance.
#   translate: the tool has ``translations(sentences, **settings)``, which yields a ``Translation``
#       per sentence.
#   score: the tool has ``scores(sentences)``, which yields a ``SentenceScore`` per sentence,
#       ``log_probabilities(sentences)``, ``score(sentences)``, ``perplexity(sentences)`` and a
#       ``vocabulary``.
#   complete: the tool has ``completed(sequences)``, which yields a ``Completed`` per sequence.
#   draw: the tool has ``memories(sentences)``, ``attentions(sentences)`` or ``steps(sentences)``,
#       which yield a ``MemorySteps``, an ``AttentionSteps`` or a ``CompositionSteps`` per sentence;
#       or ``units(trees)``, which returns a ``UnitUse``.
#   images: the tool has ``classify_images(images)``, ``prototypes(passes)`` and
#       ``complete(images, hidden, passes)``.
#   rollout: the tool has ``rollout(task, …)``, ``trajectory(task, …)`` and ``option_success(…)``.
#   channels: the tool has ``arcs(trees)`` and ``names``.
ABILITIES = {
    "parse": "infers no trees",
    "classify": "is not a classifier of sentences, so it gives no labels",
    "translate": "is not a translation model",
    "score": "is not a language model that reads from left to right",
    "complete": "completes no sequences",
    "draw": "has no memory, attention or steps to draw",
    "images": "is no network of images",
    "rollout": "is no policy that acts",
    "channels": "is not a masked language model",
}
# What a user calls for each ability, where that is not its name.
METHODS = {
    "score": ("score", "perplexity"), "images": ("classify_images",),
    "rollout": ("rollout", "option_success", "trajectory"),
}  # fmt: skip


class NoTool(InputError):
    """No tool with what is asked for serves a model.

    Args:
        problem: what the model is not.
        abilities: what tools that serve it have instead.
    """

    def __init__(self, problem: str, abilities: Iterable[str]):
        self.problem, self.abilities = problem, tuple(abilities)
        super().__init__(self.told(methods_of(self.abilities)))

    def told(self, names: Iterable[str]) -> str:
        """The message, with what a user calls for the abilities."""
        names = list(names)
        return f"{self.problem}; it can {', '.join(names)}" if names else self.problem


@dataclass(frozen=True)
class Option:
    """An option of tools: a keyword of ``load`` and an option of the command line.

    Attributes:
        name: the keyword.
        help: help text on the command line.
        type: type of the value; ``bool`` for a switch that is off by default.
        default: value that has no effect.
        choices: allowed values; None for all values of the type.
        least: minimum of numbers.
        flag: name on the command line; derived from the keyword if empty.
        metavar: name of the value in the command line's help.
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
        return self.flag or option_name(self.name)

    def check(self, value: Any):
        """Check a value.

        Raises:
            InputError: the value is too small, not a switch or a whole number where one is due, or
                not one of the choices.
        """
        # "no" would be taken for yes; numpy's booleans are some, too.
        if self.type is bool and type(value).__name__ not in ("bool", "bool_"):
            raise InputError(f"{self.on_command_line} must be True or False, not {value!r}")
        if self.type is int and value is not self.default and not _is_whole(value):
            raise InputError(f"{self.on_command_line} must be a whole number, not {value!r}")
        if value == self.default:
            return
        if self.choices is not None and value not in self.choices:
            raise InputError(unknown_name(self.on_command_line, value, self.choices))
        if self.least is not None and value < self.least:
            raise InputError(f"{self.on_command_line} must be {self.least} or more, not {value}")


def _is_whole(value: Any) -> bool:
    """Whether a value is an integer of Python or NumPy; a bool is a switch, not a number."""
    return isinstance(value, Integral) and not isinstance(value, bool)


DEVICE = Option("device", "where the model is to run, such as cuda or cuda:1 (default: cpu)")
BATCH = Option(
    "batch_words", "most words of a batch, padding included (default: "
    f"{BATCH_WORDS}); fewer take less memory", int, BATCH_WORDS, least=1, metavar="N",
)  # fmt: skip
# Options of every tool.
COMMON = (DEVICE, BATCH)


@dataclass(frozen=True)
class Tool:
    """An entry of the registry.

    Attributes:
        name: name of the tool.
        kind: the models it serves, in words for messages: "masked language models".
        abilities: some of ``ABILITIES``.
        serves: whether the tool serves a model, by the model's attributes.
        options: options of the tool beyond ``COMMON``.
        build: builds the tool from a model and its task; ``batch_words`` and the given options are
            keywords.
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
    """Register the decorated function as the builder of a tool: see :class:`Tool`.

    Raises:
        ValueError: the name is taken, an ability is unknown, or another tool has a different
            option of the same name.
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
                raise ValueError(f"another tool has a different option {option.name!r}")
        TOOLS[name] = Tool(name, kind, abilities, serves, options, build)
        return build

    return register


def options_for(abilities: Iterable[str]) -> list[Option]:
    """The options of all tools with one of these abilities, beyond ``COMMON``."""
    wanted = set(abilities)
    tools = [tool for tool in TOOLS.values() if wanted.intersection(tool.abilities)]
    return list(dict.fromkeys(option for tool in tools for option in tool.options))


def tool_for(model: Any, abilities: Iterable[str]) -> Tool:
    """The tool with one of these abilities that serves a model; the last registered one wins.

    Raises:
        NoTool: there is no such tool.
    """
    abilities = list(abilities)
    for tool in reversed(TOOLS.values()):
        if set(abilities).intersection(tool.abilities) and tool.serves(model):
            return tool
    found = {one for tool in TOOLS.values() if tool.serves(model) for one in tool.abilities}
    if getattr(model, "tree_kind", "any") is None:  # a classifier without trees
        found.discard("parse")
    able = [one for one in ABILITIES if one in found]
    raise NoTool(f"{type(model).__name__} {ABILITIES[abilities[0]]}", able)


def methods_of(abilities: Iterable[str]) -> list[str]:
    """What a user calls for abilities."""
    return [name for one in abilities for name in METHODS.get(one, (one,))]


def tools_for(model: Any, abilities: Iterable[str]) -> dict[str, Tool]:
    """The tools that serve a model, by those of the abilities that it has.

    Raises:
        NoTool: there is none.
    """
    found = {}
    for ability in abilities:
        with suppress(NoTool):
            found[ability] = tool_for(model, [ability])
    if not found:
        raise NoTool(
            f"{type(model).__name__} has no trees, labels, translations or scores, and does not "
            "act; fairseq_struct.inference.restoring.restore(checkpoint).model is the network", (),
        )  # fmt: skip
    return found


def given_options(abilities: Iterable[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Check options, and return those that differ from their defaults.

    Args:
        abilities: some of ``ABILITIES``.
        values: values by option name, or by the name on the command line with underscores.

    Raises:
        InputError: no tool with one of the abilities has this option, it is given by both of its
            names, or the value is not allowed.
    """
    known = {option.name: option for option in options_for(abilities)}
    # The name on the command line is another one for some.
    names = {option.on_command_line.strip("-").replace("-", "_"): option.name
             for option in known.values()}  # fmt: skip
    both = [name for name, own in names.items() if name != own and {name, own} <= values.keys()]
    if both:
        raise InputError(f"{both[0]} and {names[both[0]]} are one option, given twice")
    values = {names.get(name, name): value for name, value in values.items()}
    for name, value in values.items():
        if name not in known:
            raise InputError(unknown_name("option", name, [*names, *(o.name for o in COMMON)]))
        known[name].check(value)
    return {name: value for name, value in values.items() if value != known[name].default}


def refuse_foreign(tools: Iterable[Tool], given: Iterable[str]):
    """Refuse an option that none of the tools has.

    Raises:
        InputError: an option belongs to another tool; the message names the models of that tool.
    """
    own = {option.name for tool in tools for option in tool.options}
    for name in given:
        if name not in own:
            others = [(t.kind, o) for t in TOOLS.values() for o in t.options if o.name == name]
            kinds = " and ".join(dict.fromkeys(kind for kind, _ in others))
            flag = others[0][1].on_command_line
            raise InputError(f"{flag} does not apply to this model; it is for {kinds}")
