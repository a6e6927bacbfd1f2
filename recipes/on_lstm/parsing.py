"""Parse treebank sentences with every layer of an ON-LSTM, score the trees, append the records."""

import argparse
from pathlib import Path

import torch

import fairseq_struct
from fairseq_struct.data.readers.bracket_trees import leaves_of, spans_of
from fairseq_struct.data.readers.penn_treebank import read_evaluation_trees
from fairseq_struct.errors import report_plainly
from fairseq_struct.inference import made_by
from fairseq_struct.metrics.bracketing import BracketingScores
from fairseq_struct.records.results import Result, append_result, device_name
from fairseq_struct.structure import spans as constituency

TRIVIAL = ("right_branching", "left_branching", "balanced", "random")
LABELS = ("ADJP", "NP", "PP", "INTJ")
# Table 2: the WSJ test set, mean of five runs; WSJ10 is that of the whole treebank.
COLUMNS = ("f1_sentence", "f1_sentence_wsj10", "depth", *(f"recall_{label}" for label in LABELS))
PAPER = {
    "layer_1": (20.0, 35.2, 5.6, 38.1, 23.8, 18.3, 100.0),
    "layer_2": (47.7, 65.1, 5.6, 46.2, 61.4, 55.4, 0.0),
    "layer_3": (36.6, 54.0, 5.3, 44.8, 57.5, 47.2, 0.0),
    "random": (18.4, 31.7, 5.3, 17.4, 22.3, 16.0, 40.4),
    "balanced": (24.5, 43.4, 4.6, 22.1, 20.2, 9.3, 55.9),
    "left_branching": (9.0, 19.6, 12.4),
    "right_branching": (39.8, 56.6, 12.4),
}


def score(gold, predicted) -> dict[str, float]:
    """Both F1s, that of sentences of up to 10 words, depth, and recall of labels.

    Args:
        gold: trees.
        predicted: spans of each.
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
    """Share (0 to 100) of sentences that are lines of a text, but for symbols of money.

    Words that are unknown there count as equal.
    """
    lines = {
        " ".join(word for word in line.split() if word not in ("$", "#"))
        for line in text.read_text(encoding="utf-8").splitlines()
    }
    written = (" ".join(w if known(w) else "<unk>" for w in leaves_of(tree)) for tree in trees)
    return 100 * sum(line in lines for line in written) / len(trees)


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True, help="of an on_lstm_lm")
    parser.add_argument("--trees", type=Path, required=True, help="folder of .mrg files")
    parser.add_argument("--sections", type=int, nargs="+", help="of the treebank (all)")
    parser.add_argument("--command", required=True, help="what has made the run")
    parser.add_argument("--results", type=Path, help="file to append the records to")
    args = parser.parse_args()
    gold = read_evaluation_trees(args.trees, args.sections)
    sentences = [" ".join(leaves_of(tree)) for tree in gold]
    first = fairseq_struct.load(args.checkpoint, layer=1)
    made = made_by(args.checkpoint)
    layers = first.model.tree_layers
    vocabulary = first.vocabulary
    data = f"{len(gold)} sentences; {made['text']}"
    text = Path(made["data"]).parent / "text" / "train.txt"  # as preparation lays it out
    if text.is_file():
        share = overlap(gold, text, lambda w: vocabulary.index(w) != vocabulary.words.unk())
        data += f"; {share:.0f} % of the sentences are in the training text"
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
        metrics = score(gold, spans)
        paper = dict(zip(COLUMNS, PAPER.get(name, ()), strict=False))
        shown = "  ".join(f"{key} {value:.1f}" for key, value in metrics.items())
        print(f"{name:16} {shown}  (paper, its own data: {paper.get('f1_sentence', '-')})")
        if args.results:
            append_result(args.results, Result(
                experiment="wsj_parsing", variant=name, metrics=metrics, paper=paper, data=data,
                seed=made["seed"], updates=made["updates"], device=device_name(),
                command=args.command,
            ))  # fmt: skip


if __name__ == "__main__":
    main()
