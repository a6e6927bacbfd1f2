"""How often composers look at the right span, for tables TC4.1 to TC4.4 and figure FC4.1.

``window_W`` is the share of steps whose largest combined attention is unique, and within the gold
span or at most W symbols outside it; before each step, all earlier ones are the gold ones.
``_single`` is over steps of one word, ``_multi`` over the others, ``_NP`` over noun phrases, …;
``_sentence`` is the mean over sentences. The network is that of the last epoch.
"""

from pathlib import Path

import torch
from test_part import TestPart

import fairseq_struct
from fairseq_struct.errors import report_plainly
from fairseq_struct.metrics.window_accuracy import window_hits
from fairseq_struct.records.scoring import log_of, publish, scoring_options, seed_of


@torch.inference_mode()
def metrics_of(model, padding: int, test: TestPart) -> dict[str, float]:
    """Window accuracies of a composer."""
    accuracy = test.no_accuracy()
    for given, sentences in test.batches(padding):
        done = model(**given)
        flat = (values.flatten(0, 1) for values in (done.attention, done.live, done.spans))
        hits = window_hits(*flat).unflatten(0, done.going.shape)
        tags = test.padded(test.tags[1], sentences)
        accuracy.add(hits, tags, done.spans.sum(2) == 1, done.going)
    return test.metrics_of(accuracy)


def record_of(run: Path, test: TestPart) -> dict:
    """Fields of the record of a run."""
    log, tool = log_of(run), fairseq_struct.load(run / "checkpoint_last.pt")
    metrics = metrics_of(tool.model, tool.words.pad(), test)
    last = max(log.splits["valid"])
    metrics["window_0_valid"] = log.value("valid", last, "window_0")
    return {
        "metrics": metrics, "seed": seed_of(run), "updates": log.updates,
        "minutes": round(log.minutes, 1),
    }  # fmt: skip


def main():
    report_plainly()
    parser = scoring_options(__doc__.split("\n")[0])
    parser.add_argument("--lists", type=Path, required=True, help="the prepared folder")
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="folder of each seed")
    parser.add_argument("--embeddings", default="", help="what they are, in words")
    args = parser.parse_args()
    test = TestPart(args.lists)
    args.data = f"{test}; {args.embeddings}"
    publish(args, [record_of(run, test) for run in args.runs], folder=Path(__file__).parent)


if __name__ == "__main__":
    main()
