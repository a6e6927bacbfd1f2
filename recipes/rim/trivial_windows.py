"""Window accuracies of places that are found without reading, on the same steps as networks'.

``random``: any symbol; ``rightmost``: the last one; ``constant_from_right``: for each window, the
distance from the right end that is right most often in training (``distance_W``, 1 for the last
symbol); ``span_prior``: the place that spans of training covered most often in sequences of the
same length.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from test_part import TestPart

from fairseq_struct.data.prepared.listed_part import ListedPart
from fairseq_struct.errors import report_plainly
from fairseq_struct.evaluation.predictions import draws_of
from fairseq_struct.metrics import trivial_spans
from fairseq_struct.metrics.trivial_spans import SpanPrior, Spans, place_hits
from fairseq_struct.metrics.window_accuracy import WINDOWS
from fairseq_struct.records.scoring import publish, scoring_options


def spans_of(part: ListedPart) -> Spans:
    """The gold spans of a part."""
    return Spans(part.lengths, part.steps[:, 0], part.steps[:, 1])


def rows(
    training: Spans, test: Spans
) -> Iterator[tuple[str, list[np.ndarray], dict[str, float]]]:
    """Each variant, the hits (steps, windows) of each of its draws, and its own metrics."""
    draws = draws_of("random")
    places = {
        "random": [trivial_spans.random_places(test.lengths, seed) for seed in draws],
        "rightmost": [trivial_spans.rightmost(test.lengths)],
        "span_prior": [SpanPrior.of(training).places(test.lengths)],
    }
    for variant, drawn in places.items():
        yield variant, [place_hits(found, test) for found in drawn], {}
    best = {window: trivial_spans.constant_from_right(training, window) for window in WINDOWS}
    hits = [
        place_hits(trivial_spans.places_from_right(test.lengths, distance), test, [window])
        for window, distance in best.items()
    ]
    distances = {f"distance_{window}": distance for window, distance in best.items()}
    yield "constant_from_right", [np.concatenate(hits, 1)], distances


def main():
    report_plainly()
    parser = scoring_options(__doc__.split("\n")[0])
    parser.add_argument("--lists", type=Path, required=True, help="the prepared folder")
    args = parser.parse_args()
    test = TestPart(args.lists)
    args.data = str(test)
    for args.variant, drawn, own in rows(spans_of(test.steps_of("train")), spans_of(test.part)):
        records = [
            {"metrics": test.metrics_of(test.accuracy_of(hits)) | own, "seed": seed}
            for seed, hits in enumerate(drawn, 1)
        ]
        publish(args, records, folder=Path(__file__).parent)


if __name__ == "__main__":
    main()
