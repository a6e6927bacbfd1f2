"""Show how far a fairseq-train has come whose log comes in, as recipes pass it on.

    fairseq-train … --log-format json 2>&1 | tee -a train.log | python progress.py --updates 1000
"""

import argparse
import sys

from fairseq_struct.records.training_progress import show_progress


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--updates", type=int, required=True, help="at which the training ends")
    parser.add_argument("--show", nargs="+", default=["loss"], help="numbers to show")
    args = parser.parse_args()
    show_progress(sys.stdin, args.updates, args.show)


if __name__ == "__main__":
    main()
