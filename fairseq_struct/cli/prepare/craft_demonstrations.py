"""Draw demonstrations of tasks in Craft, for --task craft_imitation.

    fairseq-struct prepare craft_demonstrations AC,CD,DA OUT --number 6000 --seed 1
    fairseq-struct prepare craft_demonstrations AB,BA OUT --size 5 --kinds AB --number 1000

A task is a string of subtasks in order: A get wood, B get gold, C get iron, D get grass. A bot does
them by shortest ways, ties drawn at random. A fifth of the demonstrations of each task is for
validation, on maps that are not in the training part.
"""

from __future__ import annotations

import argparse
import dataclasses

from fairseq_struct.cli.shared.preparation import (
    add_folder_options,
    add_seed,
    at_least,
    how_to_train,
    say,
)
from fairseq_struct.data.prepared.demonstration_folder import write_demonstration_folder
from fairseq_struct.environments.craft_rules import KINDS, OBSERVATIONS, CraftOptions
from fairseq_struct.option_checks import option_name

NUMBER, LEAST_NUMBER = 6000, 5


def run(args: argparse.Namespace) -> None:
    """Draw the demonstrations.

    Raises:
        InputError: impossible tasks or maps, or OUT holds something else.
    """
    given = vars(args)
    known = {field.name for field in dataclasses.fields(CraftOptions)}
    options = {name: value for name, value in given.items() if name in known}
    tasks = [CraftOptions(task=task, **options) for task in args.tasks.split(",")]
    manifest = write_demonstration_folder(
        tasks, args.out, args.number, args.seed, overwrite=args.overwrite, say=say
    )
    for part, count in manifest["demonstrations"].items():
        steps = manifest["steps"][part]
        print(f"{part}: {count} demonstrations, {steps / count:.1f} steps each on average")
    print(how_to_train(args.out, "option_controller_craft_cpu"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command line."""
    parser.add_argument(
        "tasks", metavar="TASKS", help="tasks, with commas between them, such as AC,CD,DA"
    )
    parser.add_argument(
        "--number", type=at_least(LEAST_NUMBER), default=NUMBER, metavar="N",
        help=f"demonstrations of each task, both parts together (default: {NUMBER})",
    )  # fmt: skip
    add_seed(parser, "all draws")
    _add_options_of_maps(parser)
    add_folder_options(parser)


def _add_options_of_maps(parser: argparse.ArgumentParser) -> None:
    default = CraftOptions()
    parser.add_argument(
        "--kinds", default=default.kinds, metavar="LETTERS",
        help="objects that lie on every map, "
        + ", ".join(f"{letter} {name}" for letter, name in KINDS.items())
        + f" (default: {default.kinds})",
    )  # fmt: skip
    numbers = {
        "size": "cells along a side of the map, boundary included",
        "objects_per_kind": "objects of each kind on a map",
        "workshops": "workshops on a map, which only stand in the way",
        "obstacles": "obstacles on a map",
        "time_limit": "maps on which the bot needs more steps are left out",
    }
    for name, what in numbers.items():
        value = getattr(default, name)
        parser.add_argument(
            option_name(name), type=at_least(0), default=value, metavar="N",
            help=f"{what} (default: {value})",
        )  # fmt: skip
    parser.add_argument(
        "--observation", choices=OBSERVATIONS, default=default.observation,
        help="what is observed: the cells near the agent, and blocks of cells farther away; or "
        f"the whole map (default: {default.observation})",
    )  # fmt: skip
    parser.add_argument(
        "--done-action", action="store_true",
        help="end every demonstration with an action of its own, done",
    )  # fmt: skip
