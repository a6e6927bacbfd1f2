"""A policy before one option was drawn anew, then, and after it was retrained (section 5.4).

``option_before``, ``option_broken`` and ``option_repaired`` are how often (%) the option alone does
its own subtask; ``task_before``, … how often (%) the network does its tasks, the mean over them.
``broken`` is one more draw, not the one that retraining began with.
"""

from pathlib import Path

import numpy as np
import torch
from own_subtask import subtask_of
from policies import player, policy_options, runs_in

from fairseq_struct.errors import InputError, report_plainly
from fairseq_struct.records.scoring import publish, seed_of, training_of

# First states of the controller, a row for each task.
INITIAL = "controller.initial.weight"


def successes(tool, option: int, subtask: str, tasks: list[str], episodes: int) -> list[float]:
    """Successes in percent of the option at its subtask, and of the network at its tasks."""
    alone = tool.option_success(subtask, episodes)[option, 0]
    whole = np.mean([tool.rollout(task, episodes).successes.mean() for task in tasks])
    return [round(100 * float(share), 2) for share in (alone, whole)]


def refuse_changes(old, new, option: int, run: Path):
    """Refuse a run in which anything but the option has changed.

    Args:
        old, new: tools of both networks; the new one has some of the old one's tasks.
        option: its number.
        run: folder of the new one.

    Raises:
        InputError: an option or the controller has.
    """
    before, after = (tool.model.network.state_dict() for tool in (old, new))
    shared = [old.tasks.index(task) for task in new.tasks]
    before[INITIAL] = before[INITIAL][shared]
    own = f"options.{option}."
    for name, value in before.items():
        if not name.startswith(own) and not value.equal(after[name]):
            raise InputError(f"{run}: {name} has changed, but only option {option} was to learn")


def record_of(variant: str, old: Path, new: Path, option: int, episodes: int) -> dict:
    """Fields of the record of a retraining, whose variant names the seed, too."""
    before, after = player(old), player(new)
    refuse_changes(before, after, option, new)
    subtask, tasks = subtask_of(before, option, episodes), after.tasks
    scores = {"before": successes(before, option, subtask, tasks, episodes)}
    torch.manual_seed(seed_of(old))
    before.model.network.options[option].reset_parameters()
    scores["broken"] = successes(before, option, subtask, tasks, episodes)
    scores["repaired"] = successes(after, option, subtask, tasks, episodes)
    metrics = {
        f"{what}_{when}": found[place]
        for place, what in enumerate(("option", "task"))
        for when, found in scores.items()
    }
    return {**training_of(new), "variant": f"{variant}, seed {seed_of(new)}", "metrics": metrics}


def main():
    report_plainly()
    parser = policy_options(__doc__.split("\n")[0])
    parser.add_argument("--model", type=Path, required=True, help="folder of the old runs")
    parser.add_argument("--retrained", type=Path, required=True, help="folder of the new runs")
    parser.add_argument("--option", type=int, required=True, help="the option, counted from 0")
    args = parser.parse_args()
    args.data = args.data or f"Craft, option {args.option} drawn anew"
    pairs = zip(*(runs_in(each, args.seeds) for each in (args.model, args.retrained)), strict=True)
    rows = [record_of(args.variant, old, new, args.option, args.episodes) for old, new in pairs]
    publish(args, rows, folder=Path(__file__).parent)


if __name__ == "__main__":
    main()
