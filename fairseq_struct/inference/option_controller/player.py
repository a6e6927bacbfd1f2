"""Policies that act in Craft: how often they succeed, alone and option by option."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairseq_struct.environments.craft_bot import best_actions
from fairseq_struct.environments.craft_picture import draw_picture
from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.environments.craft_worlds import CraftWorlds
from fairseq_struct.environments.rollouts.actors import Episodes, Policy
from fairseq_struct.environments.rollouts.episodes import play
from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.inference.evaluation_mode import in_evaluation
from fairseq_struct.inference.reading import BATCH_WORDS

BATCH_EPISODES = 256


@dataclass(frozen=True)
class Trajectory:
    """One episode, step by step.

    Attributes:
        task: its subtasks in order.
        actions: name of the action of each step.
        ends: e_t before each step, from 0 to 1.
        options: (steps, K) p_t^c; no columns for policies without options.
        chosen: the option that ran at each step; None for policies that mix options.
        subtasks: the subtask to be done at each step, as a letter; after all, the last one.
        pictures: (steps + 1, height, width, 3) bytes; the last is the end.
        success: whether all subtasks were done.
    """

    task: str
    actions: list[str]
    ends: list[float]
    options: np.ndarray
    chosen: list[int] | None
    subtasks: list[str]
    pictures: list[np.ndarray]
    success: bool


class OptionPlayer:
    """A trained policy in Craft: a network that imitates, or a new controller over its options.

    Actions, choices and ends are drawn from the policy's probabilities. Maps and draws of an
    episode follow from the seed and its number, so results repeat.

    Args:
        model: has ``acting(count)``, and ``option_count`` and ``single_option(number, count)``.
        task: fairseq's task of the model, which knows the world.
        batch_words: maximum number of worlds at the same time, but not more than
            ``BATCH_EPISODES``.

    Attributes:
        worlds: the options of the world that the model was trained in.
        tasks: the tasks that the policy knows.
    """

    def __init__(self, model, task, batch_words: int = BATCH_WORDS):
        self.model = model.eval()
        known: Sequence[CraftOptions] = getattr(task, "environments", None) or [task.craft]
        self.worlds = known[0]
        self.tasks = [options.task for options in known]
        self.batch = min(batch_words, BATCH_EPISODES)

    @in_evaluation
    def rollout(
        self, task: str | None = None, episodes: int = 1000, seed: int = 1, **world
    ) -> Episodes:
        """Play episodes of a task.

        Args:
            task: one of ``tasks``; by default the first.
            episodes: how many.
            seed: of maps and draws.
            world: options of :class:`.CraftOptions` that differ from those of training.

        Raises:
            InputError: a task that the policy does not know, or an impossible world.
        """
        options = self._options(task, world)
        number = self.tasks.index(options.task)
        return _played(
            options, lambda worlds: self.model.acting(worlds.count, number), episodes, seed,
            self.batch,
        )  # fmt: skip

    @in_evaluation
    def option_success(
        self, subtasks: str | None = None, episodes: int = 1000, seed: int = 1, **world
    ) -> np.ndarray:
        """How often each option alone does each subtask (table 13 of Shen's thesis).

        The option is called once: an episode is a success if the subtask is done when it ends.

        Args:
            subtasks: letters; by default those of ``tasks``.
            episodes: for each pair.
            seed: of maps and draws.
            world: as for :meth:`rollout`.

        Returns:
            (K, subtasks) shares, from 0 to 1.

        Raises:
            InputError: the policy has no options, or an impossible world.
        """
        if not self.model.option_count:
            raise InputError("this policy has no options that act by themselves")
        letters = sorted(set("".join(self.tasks))) if subtasks is None else subtasks
        table = np.zeros((self.model.option_count, len(letters)))
        for column, letter in enumerate(letters):
            options = self._world(letter, world)
            for number in range(len(table)):
                played = _played(
                    options, lambda worlds, i=number: self.model.single_option(i, worlds.count),
                    episodes, seed, self.batch, alone=True,
                )  # fmt: skip
                table[number, column] = played.successes.mean()
        return table

    @in_evaluation
    def trajectory(self, task: str | None = None, episode: int = 0, seed: int = 1, **world):
        """One episode of a task, step by step: a :class:`Trajectory`.

        Args:
            task: as for :meth:`rollout`.
            episode: its number, from 0; it is the same in a :meth:`rollout`.
            seed, world: as for :meth:`rollout`.

        Raises:
            InputError: as for :meth:`rollout`.
        """
        options = self._options(task, world)
        _check_numbers(episode=episode, seed=seed)
        policy = self.model.acting(1, self.tasks.index(options.task))
        worlds, steps = CraftWorlds(options, 1), []

        def watch(goes_on, choosing, running, actions):
            choice = getattr(policy, "choice", None)
            steps.append((
                options.actions[actions[0]], float(policy.switch[0]),
                np.zeros(0) if choice is None else choice[0].copy(), int(running[0]),
                (options.task + options.task[-1])[worlds.done_subtasks[0]], draw_picture(worlds, 0),
            ))  # fmt: skip

        played = play(worlds, policy, seed, [episode], watch)
        actions, ends, choices, running, subtasks, pictures = map(list, zip(*steps, strict=True))
        runs = hasattr(policy, "chosen")
        return Trajectory(
            options.task, actions, ends, np.stack(choices), running if runs else None, subtasks,
            [*pictures, draw_picture(worlds, 0)], bool(played.successes[0]),
        )  # fmt: skip

    def _options(self, task: str | None, world: dict) -> CraftOptions:
        options = self._world(self.tasks[0] if task is None else task, world)
        if options.task not in self.tasks:
            new = "controller over its options" if self.model.option_count else "policy"
            raise InputError(
                f"task {task!r}: this policy knows {', '.join(self.tasks)}; train a new {new} with "
                f"--task craft_reinforcement --subtasks {options.task}"
            )
        return options

    def _world(self, task: str, world: Mapping[str, Any]) -> CraftOptions:
        """The world of training with another task, and other options where ``world`` has some."""
        found = CraftOptions.from_dict({**self.worlds.to_dict(), **world, "task": task})
        found.refuse_others(self.worlds, "this policy")
        return found


def rollout_of(name: str, options: CraftOptions, episodes: int = 1000, seed: int = 1) -> Episodes:
    """Episodes of a policy that needs no model.

    Args:
        name: ``bot``, which takes a shortest way to the next object, or ``random`` actions.
        options: task and maps.
        episodes: how many.
        seed: of maps and draws.

    Raises:
        InputError: another name, no episodes, or a negative seed.
    """
    makers = {"bot": _Bot, "random": _Random}
    if name not in makers:
        raise InputError(unknown_name("policy", name, makers))
    _check_numbers(seed=seed)
    return _played(options, makers[name], episodes, seed)


class _Random:
    """Random actions; each is a call of its own."""

    def __init__(self, worlds: CraftWorlds):
        self.worlds = worlds

    def ends(self, observations: np.ndarray) -> np.ndarray:
        return np.zeros(len(observations))

    def choose(self, observations: np.ndarray, which: np.ndarray, noise: np.ndarray) -> tuple:
        return (np.zeros(len(observations), np.int64), noise, noise)

    def actions(self, observations: np.ndarray, noise: np.ndarray) -> np.ndarray:
        return (noise * self.worlds.options.action_count).astype(np.int64)


class _Bot(_Random):
    """Shortest ways to the next object, ties at random."""

    def actions(self, observations: np.ndarray, noise: np.ndarray) -> np.ndarray:
        best = best_actions(self.worlds, self.worlds.goals)
        drawn = (noise * best.sum(1)).astype(np.int64)  # a place among the best
        return (best & (best.cumsum(1) - 1 == drawn[:, None])).argmax(1)


def _played(
    options: CraftOptions, make: Callable[[CraftWorlds], Policy], episodes: int, seed: int,
    batch: int = BATCH_EPISODES, alone: bool = False,
) -> Episodes:  # fmt: skip
    """Episodes of a policy that ``make(worlds)`` makes, some worlds at a time.

    One that acts ``alone`` is called once. It succeeds in its subtask also where the world wants
    ``done`` to be said of a task.
    """
    if episodes < 1:
        raise InputError(f"episodes must be 1 or more, not {episodes}")
    _check_numbers(seed=seed)
    found = []
    for first in range(0, episodes, batch):
        numbers = range(first, min(first + batch, episodes))
        worlds = CraftWorlds(options, len(numbers))
        played = play(worlds, make(worlds), seed, numbers, most_calls=1 if alone else None)
        found.append(played._replace(successes=worlds.done_subtasks > 0) if alone else played)
    return Episodes(*map(np.concatenate, zip(*found, strict=True)))


def _check_numbers(**given: int):
    for name, number in given.items():
        if number < 0:
            raise InputError(f"{name} must be 0 or more, not {number}")
