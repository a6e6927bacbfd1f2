"""``fairseq-struct evaluate``: compare predicted trees with gold ones."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from fairseq_struct.cli import dependency_scores
from fairseq_struct.cli.paths import require, require_or_one_of
from fairseq_struct.errors import InputError

NAME = "evaluate"
HELP = "compare two files of trees: F1 of bracketed ones, UAS and UUAS of dependency trees"
LABELS = ("ADJP", "NP", "PP", "INTJ")
TRIVIAL = ("right_branching", "left_branching", "balanced", "random")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``evaluate``."""
    parser.add_argument(
        "gold", type=Path,
        help="gold trees, bracketed; or dependency trees, .conllu, .dp or a folder of .dp files",
    )  # fmt: skip
    parser.add_argument(
        "predicted", type=Path,
        help="predicted trees of the same sentences, or one of: right_branching, left_branching, "
        "balanced, random; for dependencies: right_chain, left_chain, random",
    )  # fmt: skip
    parser.add_argument(
        "--longest", type=int, help="only sentences of at most so many words (10: WSJ10)"
    )
    parser.add_argument(
        "--unlabelled", nargs="+", choices=("gold", "predicted"), default=(),
        help="whose brackets have no labels: (a (b c)) is of three words then, else two "
        "words with the label a; found out by itself where a bracket begins with another one",
    )  # fmt: skip
    parser.add_argument(
        "--keep-punctuation", action="store_true",
        help="dependencies: count punctuation, too; without it what hangs from it moves up",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, help="of random trees (default: 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print both F1s, recall of some labels and the mean depth, or UAS and UUAS; and the policy.

    Raises:
        InputError: a file is missing or malformed, or the files hold other sentences.
    """
    if not 0 <= args.seed < 2**63:
        raise InputError(f"--seed must be a number from 0 to 2^63 - 1, not {args.seed}")
    require(either=[args.gold])
    require_or_one_of(args.predicted, {*TRIVIAL, *dependency_scores.TRIVIAL})
    from fairseq_struct.metrics.bracketing import POLICY

    if dependency_scores.is_treebank(args.gold):
        if args.unlabelled:
            raise InputError("--unlabelled is for brackets, not for dependency trees")
        scores, count = dependency_scores.attachment(
            args.gold, args.predicted, args.keep_punctuation, args.longest, args.seed
        )
        values = {"sentences": count, "words": scores.words, "uas": scores.uas, "uuas": scores.uuas}
        how = "kept" if args.keep_punctuation else "removed by tag, what hung from it moved up"
        return _print(values, dependency_scores.POLICY.format(how), args.json)
    if args.keep_punctuation:
        raise InputError("--keep-punctuation is for dependency trees; brackets stay as they are")
    scores, depth = evaluate(
        args.gold, args.predicted, args.longest, args.seed, args.unlabelled
    )
    values = {
        "sentences": len(scores.f1), "f1_sentence": scores.f1_sentence,
        "f1_corpus": scores.f1_corpus, "precision": scores.precision, "recall": scores.recall,
        "depth": depth,
    }  # fmt: skip
    values |= {
        f"recall_{label}": scores.recall_of(label) for label in LABELS if scores.labels[label]
    }
    return _print(values, POLICY, args.json)


def _print(values: dict[str, float], policy: str, as_json: bool) -> int:
    values = {name: round(value, 2) for name, value in values.items()}
    if as_json:
        print(json.dumps(values | {"policy": policy}))
        return 0
    for name, value in values.items():
        print(f"{name:12} {value:g}")
    print(f"policy: {policy}")
    return 0


def evaluate(
    gold: Path, predicted: Path | str, longest: int | None = None, seed: int = 1,
    unlabelled: Sequence[str] = (),
):  # fmt: skip
    """``BracketingScores`` of predicted trees, and their mean depth (``constituency.mean_depth``).

    Args:
        gold: file of gold trees.
        predicted: file of trees of the same sentences in the same order, or one of ``TRIVIAL``.
        longest: only sentences of at most so many words.
        seed: of random trees.
        unlabelled: ``gold``, ``predicted`` or both, whose brackets have no labels.

    Raises:
        InputError: a file is missing or malformed, the files hold other sentences, or no sentence
            is left.
    """
    import torch

    from fairseq_struct.cli import dependency_scores
    from fairseq_struct.data.readers.bracket_trees import has_label, leaves_of, read_trees, spans_of
    from fairseq_struct.metrics.bracketing import BracketingScores
    from fairseq_struct.structure import spans as constituency

    labels = [False if name in unlabelled else None for name in ("gold", "predicted")]
    theirs = read_trees(gold, labels[0])
    for line, tree in theirs:
        if has_label(tree, "-NONE-"):
            raise InputError(
                f"{gold}:{line}: an empty element, which is no word; "
                "fairseq-struct prepare penn_treebank trees removes them, and punctuation"
            )
    ours = None
    if str(predicted) not in TRIVIAL:
        predicted = dependency_scores.existing(predicted, TRIVIAL)
        ours = read_trees(predicted, labels[1])
    if ours is not None and len(ours) != len(theirs):
        raise InputError(
            f"{predicted}: {len(ours)} trees, but {gold} has {len(theirs)} of them"
        )
    generator = torch.Generator().manual_seed(seed)
    scores, depths = BracketingScores(), []
    for number, (line, tree) in enumerate(theirs):
        words = leaves_of(tree)
        if longest is not None and len(words) > longest:
            continue
        if ours is not None:
            at, other = ours[number]
            if [_form(word) for word in leaves_of(other)] != [_form(word) for word in words]:
                raise InputError(
                    f"{predicted}:{at}: other words than in {gold}:{line}; both files need the "
                    "same sentences (and --unlabelled, if brackets have no labels)"
                )
            spans = [span for _, span in spans_of(other)]
        elif str(predicted) == "random":
            spans = constituency.random_tree(len(words), generator)
        else:
            spans = getattr(constituency, str(predicted))(len(words))
        labelled = spans_of(tree)
        scores.add(spans, [span for _, span in labelled], len(words), labelled)
        inner = {span for span in spans if span[1] - span[0] > 1}
        depths.append(constituency.mean_depth(sorted(inner), len(words)))
    if not depths:
        raise InputError(f"{gold}: no sentence is left to evaluate")
    return scores, sum(depths) / len(depths)


def _form(word: str) -> str:
    return word.replace("(", "-LRB-").replace(")", "-RRB-")
