"""What the scripts that score trained composers share: options, and a record of each run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from test_part import TestPart

import fairseq_struct
from fairseq_struct.errors import report_plainly
from fairseq_struct.records.scoring import log_of, publish, scoring_options, training_of


def publish_runs(
    description: str, metrics_of: Callable[[Any, Any, TestPart], dict[str, float]], note: str = ""
):
    """Score the runs that the command line names, and append their records.

    Args:
        description: what the script does, in one line.
        metrics_of: a function from the composer of the last epoch, the log of its training and the
            test part to the metrics of its record.
        note: about the data, for the records.
    """
    report_plainly()
    parser = scoring_options(description)
    parser.add_argument("--lists", type=Path, required=True, help="the prepared folder")
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="folder of each seed")
    parser.add_argument("--embeddings", default="", help="what they are, in words")
    args = parser.parse_args()
    test = TestPart(args.lists)
    args.data = f"{test}; {note}{args.embeddings}"
    records = []
    for run in args.runs:
        log, tool = log_of(run), fairseq_struct.load(run / "checkpoint_last.pt")
        records.append({"metrics": metrics_of(tool, log, test), **training_of(run)})
    publish(args, records, folder=Path(__file__).parent)
