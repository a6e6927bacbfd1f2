"""``fairseq-struct rollout``: how often a policy succeeds, what its options do, and one episode."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairseq_struct.cli.shared.output import require_standard_output
from fairseq_struct.cli.shared.paths import require, require_ending, require_room
from fairseq_struct.cli.shared.trained_models import add_data_option, add_tool_options, load_tool
from fairseq_struct.errors import InputError
from fairseq_struct.option_checks import option_name, require_at_least

NAME = "rollout"
HELP = "let a policy act in Craft: success rate, a table of its options, a picture of an episode"
FORMATS = (".gif", ".html", ".png", ".svg")
# Options of the world that may differ from those of training.
WORLD = ("reward", "size", "objects_per_kind", "workshops", "obstacles", "time_limit")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``rollout``."""
    parser.add_argument(
        "checkpoint", type=Path,
        help="a policy: a network that imitates, or a controller over options",
    )  # fmt: skip
    parser.add_argument(
        "task", nargs="?", help="subtasks in order, such as DCA (default: the first one it knows)"
    )
    parser.add_argument(
        "--episodes", type=int, default=1000, metavar="N", help="episodes (default: 1000)"
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="seed of maps and draws (default: 1)"
    )
    parser.add_argument(
        "--options-by-subtasks", action="store_true",
        help="also call each option alone, for each subtask",
    )  # fmt: skip
    parser.add_argument(
        "--picture", type=Path, metavar="FILE",
        help="draw one episode: a page (.html), its steps (.svg, .png), or an animation (.gif)",
    )  # fmt: skip
    parser.add_argument(
        "--episode", type=int, metavar="N",
        help="the episode of --picture, one of --episodes, from 0 (default: 0)",
    )  # fmt: skip
    parser.add_argument("--reward", choices=("sparse", "dense"), help="reward of the episodes")
    for name, text in (
        ("size", "side of the map"), ("objects_per_kind", "objects of each kind"),
        ("workshops", "workshops on the map"), ("obstacles", "obstacles on the map"),
        ("time_limit", "steps after which an episode is cut"),
    ):  # fmt: skip
        parser.add_argument(
            option_name(name), type=int, metavar="N",
            help=f"{text} (default: as in training)",
        )  # fmt: skip
    add_data_option(parser, "of the demonstrations")
    add_tool_options(parser, NAME)


def run(args: argparse.Namespace) -> int:
    """Let a policy act in worlds of its task, and print how often it succeeds.

    Actions are drawn from the policy's probabilities; maps and draws follow from the seed.

    Raises:
        InputError: the checkpoint, the task, the world or an option cannot be used.
    """
    require(models=[args.checkpoint], folders=[args.data])
    require_room(args.picture, inputs=[args.checkpoint])
    require_standard_output()
    require_ending(args.picture, "--picture", FORMATS)
    require_at_least(args, 1, "episodes")
    require_at_least(args, 0, "seed", *(["episode"] if args.episode is not None else []))
    if args.episode is not None and not args.picture:
        raise InputError("--episode needs --picture")
    if args.episode is not None and args.episode >= args.episodes:
        raise InputError(
            f"--episode {args.episode} is not among --episodes {args.episodes}, which count from 0"
        )
    world = {name: getattr(args, name) for name in WORLD if getattr(args, name) is not None}
    tool = load_tool(args, NAME)
    task = tool.tasks[0] if args.task is None else args.task
    if args.options_by_subtasks and not tool.model.option_count:
        raise InputError(f"{args.checkpoint}: --options-by-subtasks needs options that act alone")
    played = tool.rollout(task, args.episodes, args.seed, **world)
    print(
        f"{task}: success {100 * played.successes.mean():.2f} %, return "
        f"{played.returns.mean():.4f}, {played.steps.mean():.1f} steps ({args.episodes} episodes)"
    )
    if args.options_by_subtasks:
        _print_table(tool, args, {name: value for name, value in world.items() if name != "reward"})
    if args.picture:
        _draw(tool.trajectory(task, args.episode or 0, args.seed, **world), args.picture)
    return 0


def _print_table(tool, args: argparse.Namespace, world: dict):
    letters = sorted(set("".join(tool.tasks)))
    table = tool.option_success("".join(letters), args.episodes, args.seed, **world)
    print("option\t" + "\t".join(letters))
    for number, row in enumerate(table):
        print(f"{number}\t" + "\t".join(f"{100 * share:.2f}" for share in row))


def _draw(one, path: Path):
    from fairseq_struct.files.whole_files import whole_file
    from fairseq_struct.pages.craft.frames import Frame, frames_page, write_gif
    from fairseq_struct.pages.craft.trajectory import LEGEND, trajectory
    from fairseq_struct.pages.drawing.rows import Row
    from fairseq_struct.pages.writing import write_pictures

    count = one.options.shape[1]
    names = [f"option {number}" for number in range(count)]
    options = one.options.tolist() if count else []
    picture = trajectory(one.actions, one.ends, options, one.subtasks, names)
    titles = [
        f"{step}: {action}, for {subtask}"
        for step, (action, subtask) in enumerate(zip(one.actions, one.subtasks, strict=True), 1)
    ]
    last = "all subtasks are done" if one.success else "not all subtasks are done"
    levels = [
        [("e", end), *zip(names, probabilities, strict=True)]
        for end, probabilities in zip(one.ends, options or [()] * len(titles), strict=True)
    ]
    frames = list(map(Frame, one.pictures, [*titles, last], [*levels, []]))
    title = f"{one.task}: {last}"
    with whole_file(path) as file:
        if path.suffix.lower() == ".html":
            file.write(frames_page(frames, title, LEGEND, picture).encode())
        elif path.suffix.lower() == ".gif":
            write_gif(file, frames)
        else:
            try:
                write_pictures(file, path.suffix.lower(), [Row("", [("", picture)])], title)
            except ValueError as error:
                raise InputError(f"{path}: {error}; draw a .gif or .html") from None
