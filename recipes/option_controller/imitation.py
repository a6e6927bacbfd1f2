"""What policies have learned from demonstrations, for figures 19 to 21 of Shen's thesis.

All numbers are those of the validation at the end of training; the thesis does not say that it
selects a checkpoint. The metrics are those that the criterion explains, and further

* ``return``: of the network when it acts, as paid (sparse), the mean over its own tasks;
* ``nmi_is_1``: 100 if the NMI rounds to 1.00, else 0; the mean is the share of such runs.

Of several models each metric ends in the tasks of one.
"""

from pathlib import Path

from policies import player, policy_options, runs_in, validated

from fairseq_struct.errors import report_plainly
from fairseq_struct.records.scoring import publish, training_of

METRICS = (
    "nmi", "f1_inner", "f1_tolerance_1", "f1_tolerance_1_threshold", "alignment", "action_accuracy",
)  # fmt: skip
NEARLY_1 = 99.5


def metrics_of(run: Path, episodes: int) -> dict[str, float]:
    """Metrics of one imitation."""
    values, tool = validated(run), player(run)
    found = {name: values[name] for name in METRICS if name in values}
    returns = [tool.rollout(task, episodes).returns.mean() for task in tool.tasks]
    found["return"] = round(float(sum(returns) / len(returns)), 4)
    if "nmi" in found:
        found["nmi_is_1"] = 100.0 * (found["nmi"] >= NEARLY_1)
    return found


def record_of(runs: list[tuple[str, Path]], episodes: int) -> dict:
    """Fields of the record of the models of one seed, each with the end of its metrics' names."""
    metrics, about = {}, [training_of(run) for _, run in runs]
    for name, run in runs:
        end = f"_{name}" if name else ""
        metrics |= {key + end: value for key, value in metrics_of(run, episodes).items()}
    minutes = round(sum(one["minutes"] for one in about), 1)
    return {**about[0], "minutes": minutes, "metrics": metrics}


def main():
    report_plainly()
    parser = policy_options(__doc__.split("\n")[0])
    parser.add_argument(
        "--model", nargs="+", action="append", required=True, metavar=("FOLDER", "NAME"),
        help="folder of the runs of a model, and the end of its metrics' names",
    )  # fmt: skip
    args = parser.parse_args()
    models = [
        [(name, run) for run in runs_in(folder, args.seeds)]
        for folder, name in ((*model, "")[:2] for model in args.model)
    ]
    rows = [record_of(list(runs), args.episodes) for runs in zip(*models, strict=True)]
    tasks = " and ".join(", ".join(player(runs[0][1]).tasks) for runs in models)
    args.data = args.data or f"Craft, demonstrations of {tasks}"
    publish(args, rows, folder=Path(__file__).parent)


if __name__ == "__main__":
    main()
