"""Draw figure 3.4 of Mihaylova's thesis: how the chance of the gold token falls by each schedule.

The thesis's parameters are not given; these fall over the same updates: the linear one to 0, the
exponential one to 0.01, and the inverse sigmoid is 0.5 in the middle.
"""

import argparse
import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from fairseq_struct.errors import InputError, report_plainly  # noqa: E402
from fairseq_struct.files.whole_files import whole_file  # noqa: E402
from fairseq_struct.modules.schedules import make_schedule  # noqa: E402

PICTURE = Path(__file__).with_suffix(".png")


def steepness(middle: float) -> float:
    """The k of the inverse sigmoid k / (k + exp(i / k)) that is 1/2 at i = ``middle``: k log k."""
    low, high = 1.0, middle + 3.0
    for _ in range(100):
        k = (low + high) / 2
        low, high = (k, high) if k * math.log(k) < middle else (low, k)
    return low


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("picture", type=Path, nargs="?", default=PICTURE, help="PNG to write")
    parser.add_argument("--updates", type=int, default=300_000, help="the thesis's by default")
    args = parser.parse_args()
    if args.updates < 2:
        raise InputError(f"--updates must be 2 or more, not {args.updates}")
    schedules = {
        "linear": make_schedule("linear", end_update=args.updates),
        "exponential": make_schedule("exponential", k=0.01 ** (1 / args.updates)),
        "inverse sigmoid": make_schedule("inverse_sigmoid", k=steepness(args.updates / 2)),
    }
    figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
    updates = [args.updates * part // 200 for part in range(201)]
    styles = [("--", "#c44536"), (":", "#2a8c4a"), ("-", "#8a6fae")]
    for (name, schedule), (style, colour) in zip(schedules.items(), styles, strict=True):
        chances = [schedule(update) for update in updates]
        axes.plot(updates, chances, style, label=name, color=colour)
    axes.set_xlabel("update")
    axes.set_ylabel("chance of the gold token")
    axes.legend()
    with whole_file(args.picture) as file:
        figure.savefig(file, format="png", dpi=150)
    print(args.picture)


if __name__ == "__main__":
    main()
