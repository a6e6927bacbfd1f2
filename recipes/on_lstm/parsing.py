"""Score the trees of every layer of an ON-LSTM, or trivial trees, on a treebank's sentences.

The numbers of the ON-LSTM paper are of other sentences: of the WSJ test set, and for WSJ10 of the
whole treebank.
"""

from pathlib import Path

import fairseq_struct
from fairseq_struct.data.readers.bracket_trees import leaves_of, spans_of
from fairseq_struct.data.readers.penn_treebank import read_evaluation_trees
from fairseq_struct.errors import report_plainly
from fairseq_struct.evaluation.brackets import trivial_spans
from fairseq_struct.evaluation.predictions import TRIVIAL_BRACKETS, draws_of
from fairseq_struct.files.text_files import read_lines
from fairseq_struct.inference import made_by
from fairseq_struct.metrics.bracketing import LABELS, BracketingScores
from fairseq_struct.records.scoring import publish, scoring_options
from fairseq_struct.structure.spans import mean_depth


def score(gold, predicted) -> dict[str, float]:
    """Sentence and corpus F1, sentence F1 for up to 10 words, mean depth, and recall of labels.

    Args:
        gold: gold trees.
        predicted: predicted spans of each sentence.
    """
    scores, short, depths = BracketingScores(), BracketingScores(), []
    for tree, spans in zip(gold, predicted, strict=True):
        labelled, length = spans_of(tree), len(leaves_of(tree))
        theirs = [span for _, span in labelled]
        scores.add(spans, theirs, length, labelled)
        if length <= 10:
            short.add(spans, theirs, length)
        depths.append(mean_depth(spans, length))
    metrics = {
        "f1_sentence": scores.f1_sentence, "f1_corpus": scores.f1_corpus,
        "f1_sentence_wsj10": short.f1_sentence, "depth": sum(depths) / len(depths),
    }  # fmt: skip
    metrics |= {f"recall_{label}": scores.recall_of(label) for label in LABELS}
    return {name: round(value, 2) for name, value in metrics.items() if value is not None}


def overlap(trees, text: Path, known) -> float:
    """Share (0 to 100) of the sentences that are lines of a text; currency symbols are ignored.

    Words unknown to the vocabulary count as equal to ``<unk>`` in the text.
    """
    lines = {
        " ".join(word for word in line.split() if word not in ("$", "#"))
        for line in read_lines(text)
    }
    written = (" ".join(w if known(w) else "<unk>" for w in leaves_of(tree)) for tree in trees)
    return 100 * sum(line in lines for line in written) / len(trees)


def score_layers(args, gold):
    """Rows of a checkpoint: the trees of each of its layers."""
    sentences = [" ".join(leaves_of(tree)) for tree in gold]
    first = fairseq_struct.load(args.checkpoint, layer=1)
    made, vocabulary = made_by(args.checkpoint), first.vocabulary
    args.data += f"; {made['text']}"
    text = Path(made["data"]).parent / "text" / "train.txt"  # the prepared folder's layout
    if text.is_file():
        share = overlap(gold, text, lambda w: vocabulary.index(w) != vocabulary.words.unk())
        args.data += f"; {share:.0f} % of the sentences are in the training text"
    for layer in range(1, first.model.tree_layers + 1):
        trees = fairseq_struct.load(args.checkpoint, layer=layer).trees(sentences)
        metrics = score(gold, [list(one.spans) for one in trees])
        publish(args, [{"metrics": metrics}], folder=Path(__file__).parent,
                variant=f"layer_{layer}", seed=made["seed"], updates=made["updates"])  # fmt: skip


def score_trivial(args, gold):
    """Rows of trees that know nothing of the words; of random ones several draws."""
    lengths = [len(leaves_of(tree)) for tree in gold]
    for name in TRIVIAL_BRACKETS:
        runs = []
        for seed in draws_of(name):
            spans = list(map(trivial_spans(name, seed), lengths))
            runs.append({"metrics": score(gold, spans), "seed": seed})
        publish(args, runs, folder=Path(__file__).parent, variant=name)


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument(
        "--checkpoint", type=Path, help="on_lstm_lm checkpoint (default: trivial trees)"
    )
    parser.add_argument("--trees", type=Path, required=True, help="folder of .mrg files")
    parser.add_argument("--sections", type=int, nargs="+", help="sections to use (default: all)")
    args = parser.parse_args()
    gold = read_evaluation_trees(args.trees, args.sections)
    args.data = f"{len(gold)} sentences"
    (score_layers if args.checkpoint else score_trivial)(args, gold)


if __name__ == "__main__":
    main()
