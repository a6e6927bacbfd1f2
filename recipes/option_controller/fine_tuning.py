"""What new controllers reach in new tasks, for figures 16 and 17 of Shen's thesis.

``return`` (as paid), ``success`` (%) and ``steps`` are means over episodes of the policy at the end
of training, whose actions are drawn; all policies act on the same maps. ``environment_steps`` are
those of training. ``return_halfway`` compares policies after equal numbers of steps: it is the
return of the episodes that ended in the epoch of training in which ``--halfway`` was reached; runs
that end before have none.
"""

from pathlib import Path

from policies import player, policy_options, runs_in

from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.errors import report_plainly
from fairseq_struct.inference.option_controller.player import rollout_of
from fairseq_struct.records.scoring import log_of, publish, training_of
from fairseq_struct.records.training_log import TrainingLog


def metrics_of(played) -> dict[str, float]:
    """Metrics of episodes."""
    return {
        "return": round(float(played.returns.mean()), 4),
        "success": round(100 * float(played.successes.mean()), 2),
        "steps": round(float(played.steps.mean()), 2),
    }


def return_at(log: TrainingLog, steps: int) -> float | None:
    """The return of the first epoch of training that reaches so many steps of the environment."""
    for _, values in sorted(log.splits["train"].items()):
        if values.get("environment_steps", 0) >= steps and "return" in values:
            return values["return"]
    return None


def record_of(run: Path, task: str, episodes: int, halfway: int) -> dict:
    """Fields of the record of a run."""
    log = log_of(run)
    metrics = metrics_of(player(run).rollout(task, episodes))
    epochs = log.splits["train"]
    metrics["environment_steps"] = log.value("train", max(epochs), "environment_steps")
    if (there := return_at(log, halfway)) is not None:
        metrics["return_halfway"] = round(there, 4)
    return {**training_of(run), "metrics": metrics}


def without_model(args) -> dict:
    """Fields of the record of a policy that learns nothing."""
    seed = int(args.seeds[0])
    options = CraftOptions(args.task, reward=args.reward)
    return {"seed": seed, "metrics": metrics_of(rollout_of(args.variant, options, args.episodes))}


def main():
    report_plainly()
    parser = policy_options(__doc__.split("\n")[0])
    parser.add_argument("--model", help="folder of the runs; without it VARIANT is bot or random")
    parser.add_argument("--task", required=True, help="the task, such as DCA")
    parser.add_argument("--reward", required=True, help="sparse or dense")
    parser.add_argument("--halfway", type=int, help="steps of the environment, to compare policies")
    args = parser.parse_args()
    args.data = args.data or f"Craft, task {args.task}, {args.reward} reward"
    if args.model:
        runs = runs_in(args.model, args.seeds)
        rows = [record_of(run, args.task, args.episodes, args.halfway) for run in runs]
    else:
        rows = [without_model(args)]
    publish(args, rows, folder=Path(__file__).parent)


if __name__ == "__main__":
    main()
