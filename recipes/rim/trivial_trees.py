"""F1 of trees that are built without learning, on the test part of composers.

``gold_order_random_span`` tags and composes in the order of the gold steps, but composes a random
span of two or more symbols that are done; what is left at the end is composed at once.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from free_running import TreeScores, scores_of, words_that_count
from test_part import TestPart

from fairseq_struct.data.readers.bracket_trees import leaves_of
from fairseq_struct.data.readers.transformation_lists import Step, steps_of
from fairseq_struct.errors import report_plainly
from fairseq_struct.evaluation.brackets import trivial_spans
from fairseq_struct.evaluation.predictions import TRIVIAL_BRACKETS
from fairseq_struct.records.scoring import publish, scoring_options
from fairseq_struct.structure.spans import Span

GOLD_ORDER = "gold_order_random_span"
DRAWN = ("random", GOLD_ORDER)


def random_spans(steps: Sequence[Step], length: int, generator: np.random.Generator) -> list[Span]:
    """Spans over words of a tree that is composed at random in the order of gold steps.

    Args:
        steps: of the gold tree.
        length: its number of words.
        generator: draws first and last symbol of each span, all pairs equally likely.
    """
    done, spans, left = [], [], length
    for step in steps:
        if step.end == left:  # words left of it are untouched, so it tags the last of them
            left = step.start
            done.insert(0, (left, left + 1))
        elif step.end - step.start > 1 and len(done) > 1:
            first, last = sorted(generator.choice(len(done), 2, replace=False))
            done[first : last + 1] = [(done[first][0], done[last][1])]
            spans.append(done[first])
    return spans if len(done) == 1 else [*spans, (0, length)]


def scores(name: str, test: TestPart, seed: int) -> TreeScores:
    """Scores of one kind of trees."""
    if name == GOLD_ORDER:
        generator = np.random.default_rng(seed)
        spans = [
            random_spans(steps_of(tree), len(leaves_of(tree)), generator) for tree in test.trees
        ]
        return scores_of(map(_unlabelled, spans), test)
    return _over_words(trivial_spans(name, seed), test)


def _over_words(make: Callable[[int], list[Span]], test: TestPart) -> TreeScores:
    """Scores of trees over the words without punctuation."""
    found = TreeScores()
    for gold in test.trees:
        kept = words_that_count(gold)
        if kept:
            found.add(_unlabelled(make(len(kept))), gold, kept)
    return found


def _unlabelled(spans: list[Span]) -> list[tuple[str, Span]]:
    return [("", span) for span in spans]


def main():
    report_plainly()
    parser = scoring_options(__doc__.split("\n")[0])
    parser.add_argument("--lists", type=Path, required=True, help="the prepared folder")
    parser.add_argument("--seeds", type=int, nargs="+", required=True, help="of random trees")
    args = parser.parse_args()
    test = TestPart(args.lists)
    args.data = f"{test}; punctuation not counted"
    for args.variant in (*TRIVIAL_BRACKETS, GOLD_ORDER):
        seeds = args.seeds if args.variant in DRAWN else args.seeds[:1]
        records = [
            {"metrics": scores(args.variant, test, seed).metrics(labels=False), "seed": seed}
            for seed in seeds
        ]
        publish(args, records, folder=Path(__file__).parent)


if __name__ == "__main__":
    main()
