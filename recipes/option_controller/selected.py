"""Print the run with the lowest loss at the end of its validation: no subtask is known to it."""

import argparse
from pathlib import Path

from policies import runs_in, validated

from fairseq_struct.errors import report_plainly


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="folder of the runs")
    parser.add_argument("--seeds", nargs="+", required=True, help="seeds of the runs")
    args = parser.parse_args()
    print(min(runs_in(args.model, args.seeds), key=lambda run: validated(run)["loss"]))


if __name__ == "__main__":
    main()
