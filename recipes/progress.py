"""Show the progress of a fairseq-train whose log is read from standard input.

    fairseq-train … --log-format json 2>&1 | tee -a train.log | python progress.py --updates 1000
"""

import argparse
import sys

from fairseq_struct.records.training_progress import show_progress


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--updates", type=int, required=True, help="updates of the training")
    parser.add_argument("--show", nargs="+", default=["loss"], help="names of the numbers to show")
    args = parser.parse_args()
    show_progress(sys.stdin, args.updates, args.show)


if __name__ == "__main__":
    main()
