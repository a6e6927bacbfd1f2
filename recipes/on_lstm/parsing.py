"""Score the trees of every layer of an ON-LSTM, and trivial trees, on a treebank's sentences.

The numbers of the ON-LSTM paper are of other sentences: of the WSJ test set, and for WSJ10 of the
whole treebank.
"""

from pathlib import Path

import torch

import fairseq_struct
from fairseq_struct.data.readers.bracket_trees import leaves_of, spans_of
from fairseq_struct.data.readers.penn_treebank import read_evaluation_trees
from fairseq_struct.errors import report_plainly
from fairseq_struct.inference import made_by
from fairseq_struct.metrics.bracketing import BracketingScores
from fairseq_struct.records.scoring import publish, scoring_options
from fairseq_struct.structure import spans as constituency

TRIVIAL = ("right_branching", "left_branching", "balanced", "random")
LABELS = ("ADJP", "NP", "PP", "INTJ")


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
        depths.append(constituency.mean_depth(spans, length))
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
        for line in text.read_text(encoding="utf-8").splitlines()
    }
    written = (" ".join(w if known(w) else "<unk>" for w in leaves_of(tree)) for tree in trees)
    return 100 * sum(line in lines for line in written) / len(trees)


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True, help="on_lstm_lm checkpoint")
    parser.add_argument("--trees", type=Path, required=True, help="folder of .mrg files")
    parser.add_argument("--sections", type=int, nargs="+", help="sections to use (default: all)")
    args = parser.parse_args()
    gold = read_evaluation_trees(args.trees, args.sections)
    sentences = [" ".join(leaves_of(tree)) for tree in gold]
    first = fairseq_struct.load(args.checkpoint, layer=1)
    made = made_by(args.checkpoint)
    layers = first.model.tree_layers
    vocabulary = first.vocabulary
    args.data = f"{len(gold)} sentences; {made['text']}"
    text = Path(made["data"]).parent / "text" / "train.txt"  # the prepared folder's layout
    if text.is_file():
        share = overlap(gold, text, lambda w: vocabulary.index(w) != vocabulary.words.unk())
        args.data += f"; {share:.0f} % of the sentences are in the training text"
    rows = {
        f"layer_{layer}": [
            list(one.spans)
            for one in fairseq_struct.load(args.checkpoint, layer=layer).trees(sentences)
        ]
        for layer in range(1, layers + 1)
    }
    generator = torch.Generator().manual_seed(1)
    for name in TRIVIAL:
        make = constituency.random_tree if name == "random" else getattr(constituency, name)
        extra = (generator,) if name == "random" else ()
        rows[name] = [make(len(leaves_of(tree)), *extra) for tree in gold]
    for name, spans in rows.items():
        publish(args, [{"metrics": score(gold, spans)}], folder=Path(__file__).parent,
                variant=name, seed=made["seed"], updates=made["updates"])  # fmt: skip


if __name__ == "__main__":
    main()
