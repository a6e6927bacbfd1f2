"""Craft: a grid world of objects to collect (Andreas et al., 2017; Shen's thesis, section 5.3).

The map is a square. Its outer ring is the boundary; inside lie objects, workshops and obstacles. A
move (up, down, left, right) turns the agent, which then goes one cell if the cell before it is
free. ``use`` takes the object that the agent faces, into its inventory; it does nothing before any
other cell. Every object is taken directly (gold has no water around it), and workshops only stand
in the way.

A task is a string of subtasks in order: "DCA" is to take D, then C, then A. ``dense`` reward is 1
for each subtask that is done in its order, ``sparse`` reward 1 at the end of the last. What is
taken out of order stays taken, without reward. The episode ends

* as a success, when the last subtask is done;
* as failed, as soon as too few objects are left for the subtasks to come;
* cut (truncated), at the time limit. A last step that also succeeds or fails is not cut.

With ``done_action`` it ends only at the time limit or by the action ``done``: a success if all
subtasks are done, else failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from fairseq_struct.errors import InputError, unknown_name

# Table 12 of the thesis: what each subtask collects.
KINDS = {"A": "wood", "B": "gold", "C": "iron", "D": "grass"}
MOVES = ("up", "down", "left", "right")
ACTIONS = (*MOVES, "use")
DONE = "done"
REWARDS = ("sparse", "dense")
OBSERVATIONS = ("windows", "grid")
# What a cell may hold beside objects; each of these and each kind has a channel of observations.
FIXTURES = ("boundary", "obstacle", "workshop")
WINDOW = 5  # cells, and blocks, along the side of a window
# Observations count objects in bytes where they are stored.
MOST_OF_A_KIND = 255


@dataclass(frozen=True)
class CraftOptions:
    """A task, and how its maps are drawn.

    Objects of all ``kinds`` lie on every map, whatever the task is, so that observations of
    different tasks have the same layout.

    Args:
        task: its subtasks in order, letters of ``kinds``.
        size: cells along a side of the map, boundary included.
        kinds: the objects on the map, letters of ``KINDS``.
        objects_per_kind: how many of each.
        reward: ``sparse`` or ``dense``.
        time_limit: steps after which an episode is cut.
        done_action: whether there is an action ``done``, which alone ends an episode.
        workshops, obstacles: how many of them stand on the map.
        observation: ``windows``, what is near the agent, or ``grid``, the whole map.

    Raises:
        InputError: a value that is impossible, or a map too small for what is to lie on it.
    """

    task: str = "AC"
    size: int = 10
    kinds: str = "".join(KINDS)
    objects_per_kind: int = 1
    reward: str = REWARDS[0]
    time_limit: int = 64
    done_action: bool = False
    workshops: int = 0
    obstacles: int = 0
    observation: str = OBSERVATIONS[0]

    def __post_init__(self):
        self._check_numbers()
        for name, known in (("reward", REWARDS), ("observation", OBSERVATIONS)):
            if getattr(self, name) not in known:
                raise InputError(unknown_name(name, getattr(self, name), known))
        kinds = set(self.kinds) if isinstance(self.kinds, str) else set()
        if not kinds or kinds - set(KINDS) or len(kinds) < len(self.kinds):
            raise InputError(f"kinds {self.kinds!r}: must be different letters of {''.join(KINDS)}")
        self._check_task()
        inside, needed = (self.size - 2) ** 2, self.things + 1
        if needed > inside:
            raise InputError(
                f"size {self.size}: a map with {inside} cells inside its boundary is too small for "
                f"{self.things} objects, workshops and obstacles, and the agent"
            )

    def _check_numbers(self):
        least = {"size": 3, "objects_per_kind": 1, "time_limit": 1, "workshops": 0, "obstacles": 0}
        for name, bound in least.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < bound:
                raise InputError(f"{name} {value!r}: must be a whole number, at least {bound}")
        if not isinstance(self.done_action, bool):
            raise InputError(f"done_action {self.done_action!r}: must be true or false")
        if self.objects_per_kind > MOST_OF_A_KIND:
            raise InputError(f"objects_per_kind {self.objects_per_kind}: {MOST_OF_A_KIND} at most")

    def _check_task(self):
        if not isinstance(self.task, str) or not self.task:
            raise InputError(f"task {self.task!r}: must be subtasks in order, such as 'AC'")
        for letter, count in Counter(self.task).items():
            if letter not in self.kinds:
                raise InputError(
                    f"task {self.task!r}: there is no subtask {letter!r}; choose from "
                    + ", ".join(f"{kind} ({KINDS[kind]})" for kind in self.kinds)
                )
            if count > self.objects_per_kind:
                raise InputError(
                    f"task {self.task!r}: takes {letter} {count} times, but there "
                    f"{'is' if self.objects_per_kind == 1 else 'are'} {self.objects_per_kind} of it"
                )

    @property
    def things(self) -> int:
        """How many objects, workshops and obstacles stand on a map."""
        return len(self.kinds) * self.objects_per_kind + self.workshops + self.obstacles

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the actions, in the order of their numbers."""
        return (*ACTIONS, DONE) if self.done_action else ACTIONS

    @property
    def action_count(self) -> int:
        """How many actions there are."""
        return len(self.actions)

    @property
    def subtasks(self) -> tuple[int, ...]:
        """The task as places in ``kinds``."""
        return tuple(map(self.kinds.index, self.task))

    @property
    def channels(self) -> tuple[str, ...]:
        """What a cell is observed to hold; a free cell has none of them."""
        return (*FIXTURES, *(KINDS[kind] for kind in self.kinds))

    def layout(self) -> dict[str, slice]:
        """Parts of an observation, by name, in their order.

        ``windows`` has, C being the channels and directions not turning with the agent:

        * ``window`` (5, 5, C): the cells around the agent, which is in the middle. Beyond the map
          everything is boundary.
        * ``blocks`` (5, 5, C): the same for blocks of 5 by 5 cells, the middle block being
          ``window``; a block has what any of its cells has.

        ``grid`` has

        * ``map`` (size, size, C);
        * ``place`` (size, size): 1 where the agent is.

        Both end with

        * ``inventory`` (kinds,): how many of each kind the agent has;
        * ``facing`` (4,): 1 for the direction of the last move, in the order of ``MOVES``.
        """
        seen = WINDOW**2 * len(self.channels)
        cells = self.size**2
        windows = {"window": seen, "blocks": seen}
        grid = {"map": cells * len(self.channels), "place": cells}
        sizes = windows if self.observation == "windows" else grid
        sizes |= {"inventory": len(self.kinds), "facing": len(MOVES)}
        found, start = {}, 0
        for name, size in sizes.items():
            found[name] = slice(start, start + size)
            start += size
        return found

    @property
    def observation_size(self) -> int:
        """Length of an observation."""
        return self.layout()["facing"].stop

    def to_dict(self) -> dict[str, Any]:
        """All options by name."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], of: str = "options of Craft") -> CraftOptions:
        """Make options from values by name, those of an unknown origin included.

        Args:
            values: options by name.
            of: where they are from, for messages.

        Raises:
            InputError: an unknown name or a value that is impossible.
        """
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise InputError(f"{of}: {unknown_name('option', name, known)}")
        try:
            return cls(**values)
        except InputError as error:
            raise InputError(f"{of}: {error}") from None

    def refuse_others(self, other: CraftOptions, what: str) -> None:
        """Refuse what was made for other observations or actions.

        Args:
            other: the options that it was made with.
            what: what it is, for the message.

        Raises:
            InputError: a model of one cannot act in the other.
        """
        shared = ["kinds", "observation", "done_action"]
        if self.observation == other.observation == "grid":
            shared.append("size")
        for name in shared:
            if getattr(self, name) != getattr(other, name):
                raise InputError(
                    f"{what}: made with {name} {getattr(other, name)!r}, but the environment has "
                    f"{getattr(self, name)!r}"
                )
