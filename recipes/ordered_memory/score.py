"""Accuracy and trees of classifiers of formulas (table 5 and figure 7a of Shen's thesis).

Logical inference is scored by the number of operators of the longer formula, a split of table 4 and
ListOps as a whole, and long ListOps by test set. ``f1`` is the published measure: see
:func:`.bracket_counts`. The checkpoint is that of the epoch with the best validation accuracy.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import torch

import fairseq_struct
from fairseq_struct.data.readers.formulas.formula_trees import constituents
from fairseq_struct.data.readers.formulas.propositional_logic import operators_of_longer
from fairseq_struct.errors import report_plainly
from fairseq_struct.files.text_files import read_lines
from fairseq_struct.metrics.bracketing import BracketingScores, bracket_counts, f1_of_counts
from fairseq_struct.records.scoring import log_of, publish, scoring_options, training_of
from fairseq_struct.structure.spans import Span, without_words

LEAST = 7  # operators
# Loading with this option of the tool gives each sentence as many slots as it needs.
GROWING = {"slots": 0}
# Long expressions one by one would take ten times as long.
BATCH_WORDS = 65536


def instances_of(text: Path, split: str) -> tuple[list[tuple[str, ...]], list[str]]:
    """Sentences and labels of a split of a prepared text."""
    sides = [
        read_lines(file)
        for side in (1, 2)
        if (file := text / f"{split}.sentence{side}").is_file()
    ]
    labels = read_lines(text / f"{split}.label")
    return list(zip(*sides, strict=True)), labels


def groups_of(experiment: str, instance: tuple[str, ...]) -> Iterator[str]:
    """Names of the accuracies that an instance counts for."""
    if experiment != "logical_inference":
        yield "accuracy"
    elif (number := operators_of_longer(instance)) >= LEAST:
        yield f"accuracy_{number}"


class Trees:
    """Scores of predicted constituents against the trees of the formulas' own brackets.

    Args:
        kind: kind of formulas.
    """

    def __init__(self, kind: str):
        self.kind, self.counts, self.brackets = kind, [0, 0, 0], BracketingScores()

    def add(self, words: Sequence[str], spans: Iterable[Span]) -> None:
        """Add a sentence; round brackets are left out of both trees."""
        gold = constituents(words, self.kind)
        rows = torch.tensor([[(start, end, -1) for start, end in gold]])
        for place, count in enumerate(bracket_counts([spans], rows)):
            self.counts[place] += count
        kept = sorted(start for start, end in gold if end - start == 1)
        self.brackets.add(without_words(spans, kept), without_words(gold, kept), len(kept))

    def metrics(self) -> dict[str, float]:
        """F1 in percent: the published one, and the two of :class:`.BracketingScores`."""
        if not self.brackets.f1:
            return {}
        found = {
            "f1": f1_of_counts(*self.counts),
            "f1_sentence": self.brackets.f1_sentence,
            "f1_corpus": self.brackets.f1_corpus,
        }
        return {name: round(value, 2) for name, value in found.items()}


def scores_of(model, text: Path, split: str, experiment: str, kind: str) -> dict[str, float]:
    """Metrics of a trained model on a split, in percent; without trees, no F1."""
    instances, labels = instances_of(text, split)
    right, total, trees = Counter(), Counter(), Trees(kind)
    for instance, label, found in zip(instances, labels, model.analyse(instances), strict=True):
        for group in groups_of(experiment, instance):
            total[group] += 1
            right[group] += found.label == label
        for words, spans in zip(found.sentences, found.spans or (), strict=False):
            trees.add(words, spans)
    groups = sorted(total, key=lambda name: (len(name), name))
    return {name: round(100 * right[name] / total[name], 2) for name in groups} | trees.metrics()


def long_splits(text: Path) -> list[str]:
    """The test splits of longer expressions and of more arguments."""
    files = text.glob("test_*.label")
    return [file.stem for file in sorted(files, key=lambda file: (len(file.name), file.name))]


def record_of(run: Path, text: Path, experiment: str, kind: str) -> dict:
    """Fields of the record of a run."""
    log, checkpoint = log_of(run), run / "checkpoint_best.pt"
    if experiment == "listops_long":
        model = fairseq_struct.load(checkpoint, batch_words=BATCH_WORDS)
        if hasattr(model, "memories"):
            model = fairseq_struct.load(checkpoint, batch_words=BATCH_WORDS, **GROWING)
        metrics = {}
        for split in long_splits(text):
            found = scores_of(model, text, split, experiment, kind)
            part = split.removeprefix("test_")
            shown = [name for name in ("accuracy", "f1") if name in found]
            metrics |= {f"{name}_{part}": found[name] for name in shown}
    else:
        model = fairseq_struct.load(checkpoint)
        metrics = scores_of(model, text, "test", experiment, kind)
    best = log.best_epoch("valid", "accuracy", highest=True)
    for name in ("accuracy", "pointer_entropy"):
        if name in log.splits["valid"][best]:
            metrics[f"{name}_valid"] = log.value("valid", best, name)
    return {"metrics": metrics, **training_of(run)}


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--kind", choices=("proplogic", "listops"), required=True)
    parser.add_argument("--text", type=Path, required=True, help="folder of the prepared text")
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="folder of each seed")
    args = parser.parse_args()
    count = len(read_lines(args.text / "train.label"))
    task = "propositional logic" if args.kind == "proplogic" else "ListOps, generated"
    args.data = f"{task}, {count} training instances"
    rows = [record_of(run, args.text, args.experiment, args.kind) for run in args.runs]
    publish(args, rows, folder=Path(__file__).parent)


if __name__ == "__main__":
    main()
