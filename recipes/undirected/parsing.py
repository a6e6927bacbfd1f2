"""Scores of dependency parsers on a treebank's test split (section 5.5 of Mihaylova's thesis).

``modifier_count`` is what table 5.6 calls modifier list accuracy. With ``--known``, scored are the
heads that are not given (``uas_25``: a quarter is given); which ones are given does not depend on
the parser. With ``--compared``, times are the shortest of a few rounds over the split, in each of
which all parsers take turns. The checkpoint is that of the epoch with the best validation UAS.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import fairseq_struct
from fairseq_struct.data.readers.conllu import UNKNOWN_HEAD, Sentence, read_conllu
from fairseq_struct.data.readers.treebank_files import treebank_file
from fairseq_struct.errors import report_plainly
from fairseq_struct.metrics.attachment import SCORES, AttachmentScores
from fairseq_struct.processor import device_name
from fairseq_struct.records.scoring import publish, scoring_options, training_of

ROUNDS, FIRST, DRAWN, CONVERGE = 3, "k1", "random_k", "converge"


def load(run: Path, **options):
    """The parser of a run."""
    return fairseq_struct.load(run / "checkpoint_best.pt", **options)


def scores_of(parser, gold: Sequence[Sentence]) -> dict[str, float]:
    """Scores of best trees, and the mean number of passes."""
    scores, passes = AttachmentScores(), 0
    found = parser.marginals([" ".join(tree.words) for tree in gold])
    for tree, own in zip(gold, found, strict=True):
        scores.add(own.heads, tree.heads)
        passes += own.passes
    metrics = {name: round(getattr(scores, name), 2) for name in SCORES}
    return metrics | {"passes_mean": round(passes / len(gold), 2)}


def known_part(gold: Sequence[Sentence], share: int) -> list[Sentence]:
    """The same sentences, with about ``share`` % of their heads known."""
    draw, found = random.Random(1), []
    for tree in gold:
        # The same draws for all shares: what is known of a quarter is known of a half.
        drawn = [draw.random() for _ in tree.heads]
        heads = zip(tree.heads, drawn, strict=True)
        heads = tuple(head if value < share / 100 else UNKNOWN_HEAD for head, value in heads)
        found.append(replace(tree, heads=heads))
    return found


def partial_uas(parser, gold: Sequence[Sentence], share: int) -> float:
    """UAS of the heads that are not given."""
    right = total = 0
    given = known_part(gold, share)
    for tree, own, found in zip(gold, given, parser.trees_given(given), strict=True):
        for head, known, ours in zip(tree.heads, own.heads, found.heads[0], strict=True):
            if known == UNKNOWN_HEAD:
                total, right = total + 1, right + (head == ours)
    return round(100 * right / total, 2) if total else 0.0


def compared(runs: dict[str, Path], gold: Sequence[Sentence]) -> dict[str, dict[str, float]]:
    """Metrics of each variant; ``time_ratio`` is the time by that of one pass."""
    parsers = {name: load(run) for name, run in runs.items()}
    parsers[CONVERGE] = load(runs[DRAWN], test_passes=CONVERGE)
    lines, times = [" ".join(tree.words) for tree in gold], {name: [] for name in parsers}
    for _ in range(ROUNDS):
        for name, parser in parsers.items():
            start = perf_counter()
            parser.parse(lines)
            times[name].append(perf_counter() - start)
    best = {name: min(every) for name, every in times.items()}
    found = {}
    for name, parser in parsers.items():
        metrics = scores_of(parser, gold)
        found[name] = {
            "uas": metrics["uas"], "passes_mean": metrics["passes_mean"],
            "microseconds": round(1e6 * best[name] / len(gold), 1),
            "time_ratio": round(best[name] / best[FIRST], 2),
        }  # fmt: skip
    return found


def record_of(run: Path, metrics: dict[str, float]) -> dict:
    """Fields of the record of a run."""
    # The times are those of the comparison, not of the training.
    return {"metrics": metrics, **training_of(run), "device": device_name()}


def data_of(treebank: Path, sentences: int, encoder: str | None) -> str:
    """The data of a record in words; without a folder of an encoder, it is the BiLSTM."""
    name = Path(encoder).name if encoder else "BiLSTM over word vectors from scratch"
    return f"{treebank.name} (UD 2.7), {sentences} sentences; {name}"


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--treebank", type=Path, required=True, help="folder of its files")
    parser.add_argument("--encoder", help="its folder; none, or nothing, for a BiLSTM")
    parser.add_argument("--runs", type=Path, nargs="+", help="folder of each seed")
    parser.add_argument("--test-passes", help="passes at test (default: as trained)")
    parser.add_argument("--known", type=int, nargs="+", help="percentages of known heads")
    parser.add_argument("--seeds", type=int, nargs="+", help="of the compared runs")
    parser.add_argument(
        "--compared", nargs=2, action="append", metavar=("VARIANT", "FOLDER"),
        help="folder with a folder of each seed",
    )  # fmt: skip
    args = parser.parse_args()
    gold = list(read_conllu(treebank_file(args.treebank, "test")))
    args.data = data_of(args.treebank, len(gold), args.encoder)
    rows: dict[str, list[dict]] = {}
    if args.compared:
        for seed in args.seeds:
            runs = {name: Path(folder) / f"seed_{seed}" for name, folder in args.compared}
            for name, metrics in compared(runs, gold).items():
                run = runs[DRAWN if name == CONVERGE else name]
                rows.setdefault(f"{args.variant}, {name}", []).append(record_of(run, metrics))
    for run in args.runs or ():
        own = load(run, test_passes=args.test_passes)
        if args.known:
            metrics = {f"uas_{share}": partial_uas(own, gold, share) for share in args.known}
        else:
            metrics = scores_of(own, gold)
        rows.setdefault(args.variant, []).append(record_of(run, metrics))
    for args.variant, records in rows.items():
        publish(args, records, folder=Path(__file__).parent)


if __name__ == "__main__":
    main()
