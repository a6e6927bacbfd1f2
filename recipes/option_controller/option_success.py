"""How often each option alone does each subtask, for table 13 of Shen's thesis.

Variant ``option_a`` is the option of subtask A, and so on, in the run of the median NMI;
``success_c`` is how often (%) it does subtask C when it is called once. The options of the
subtasks, one each, are those with the largest sum of successes. Variant ``ocn`` has all seeds:
``success_a`` is that of A's own option, ``success_own`` the mean of these, ``success_own_least``
the least of them, and ``success_other_most`` the most of any option at another's subtask.
"""

from pathlib import Path
from statistics import median_low

import numpy as np
from policies import own_options, player, policy_options, runs_in, validated

from fairseq_struct.errors import report_plainly
from fairseq_struct.records.scoring import publish, training_of

FOLDER = Path(__file__).parent


def table_of(run: Path, episodes: int) -> tuple[np.ndarray, str]:
    """(subtasks, subtasks) successes in percent of the option of each subtask, and the subtasks."""
    tool = player(run)
    letters = "".join(sorted(set("".join(tool.tasks))))
    table = tool.option_success(letters, episodes)
    return 100 * table[list(own_options(table))], letters


def summary(table: np.ndarray, letters: str) -> dict[str, float]:
    """Metrics of one run."""
    own = table.diagonal()
    others = table[~np.eye(len(table), dtype=bool)]
    found = {f"success_{letter.lower()}": share for letter, share in zip(letters, own, strict=True)}
    found |= {"success_own": own.mean(), "success_own_least": own.min(),
              "success_other_most": others.max()}  # fmt: skip
    return {name: round(float(value), 2) for name, value in found.items()}


def main():
    report_plainly()
    parser = policy_options(__doc__.split("\n")[0])
    parser.add_argument("--model", type=Path, required=True, help="folder of the runs")
    args = parser.parse_args()
    runs = runs_in(args.model, args.seeds)
    tables = {run: table_of(run, args.episodes) for run in runs}
    args.data = args.data or f"Craft, {args.episodes:,} calls of each option for each subtask"
    scores = {run: validated(run)["nmi"] for run in runs}
    median = next(run for run in runs if scores[run] == median_low(scores.values()))
    table, letters = tables[median]
    for letter, row in zip(letters, table, strict=True):
        metrics = {
            f"success_{other.lower()}": round(float(share), 2)
            for other, share in zip(letters, row, strict=True)
        }
        variant = f"option_{letter.lower()}"
        publish(args, [{**training_of(median), "metrics": metrics}], folder=FOLDER, variant=variant)
    rows = [{**training_of(run), "metrics": summary(*tables[run])} for run in runs]
    publish(args, rows, folder=FOLDER)


if __name__ == "__main__":
    main()
