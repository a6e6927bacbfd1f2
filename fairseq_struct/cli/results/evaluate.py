"""``fairseq-struct evaluate``: compares predicted trees with gold trees."""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from fairseq_struct.cli.shared.output import require_standard_output
from fairseq_struct.cli.shared.paths import require, require_or_one_of
from fairseq_struct.errors import InputError
from fairseq_struct.evaluation.predictions import TRIVIAL_BRACKETS, TRIVIAL_HEADS, is_treebank

NAME = "evaluate"
HELP = "compare two files of trees: F1 of bracketed ones, UAS and the like of dependency trees"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``evaluate``."""
    parser.add_argument(
        "gold", type=Path,
        help="gold trees, bracketed; or dependency trees, .conllu, .dp or a folder of .dp files; "
        ".gz, .xz and .zst are decompressed, and - is standard input",
    )  # fmt: skip
    parser.add_argument(
        "predicted", type=Path,
        help="predicted trees of the same sentences, read in the same way, or one of: "
        "right_branching, left_branching, balanced, random; for dependencies: right_chain, "
        "left_chain, random",
    )  # fmt: skip
    parser.add_argument(
        "--longest", type=int, help="maximum number of words of a sentence (10 for WSJ10)"
    )
    parser.add_argument(
        "--unlabelled", nargs="+", choices=("gold", "predicted"), default=(),
        help="which file has unlabelled brackets. Unlabelled, (a (b c)) is three words; labelled, "
        "it is two words under the label a. Detected if a bracket opens directly with another",
    )  # fmt: skip
    parser.add_argument(
        "--keep-punctuation", action="store_true",
        help="dependencies: count punctuation; by default, punctuation is removed and its "
        "dependents move up",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, help="seed of random trees (default: 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the scores of predicted trees and the scoring policy.

    Scores of brackets are sentence and corpus F1, precision, recall, recall of some labels, the
    mean depth, and labelled F1 if both files have labels. Scores of dependencies are UAS, UUAS, and
    the shares of right lists of modifiers, of right numbers of modifiers and of right trees.

    Raises:
        InputError: a file is missing or malformed, or the files hold different sentences.
    """
    if not 0 <= args.seed < 2**63:
        raise InputError(f"--seed must be a number from 0 to 2^63 - 1, not {args.seed}")
    require_standard_output()
    with _standard_input(args):
        require(either=[args.gold])
        require_or_one_of(args.predicted, {*TRIVIAL_BRACKETS, *TRIVIAL_HEADS})
        values, policy = (_dependencies if is_treebank(args.gold) else _brackets)(args)
    values = {name: round(value, 2) for name, value in values.items()}
    if args.json:
        print(json.dumps(values | {"policy": policy}))
        return 0
    width = max(12, *map(len, values))
    for name, value in values.items():
        print(f"{name:{width}} {value:.12g}")
    print(f"policy: {policy}")
    return 0


@contextmanager
def _standard_input(args: argparse.Namespace) -> Iterator[None]:
    """Within it, a file with the text of standard input stands where a file is named ``-``."""
    names = [name for name in ("gold", "predicted") if getattr(args, name) == Path("-")]
    if not names:
        yield
        return
    if len(names) > 1:
        raise InputError("only one of the two files can be standard input")
    if sys.stdin is None:
        raise InputError("standard input is closed")
    with TemporaryDirectory() as folder:
        path = Path(folder, "standard input")
        path.write_bytes(sys.stdin.buffer.read())
        setattr(args, names[0], path)
        try:
            yield
        except InputError as error:
            raise InputError(str(error).replace(str(path), path.name)) from None


def _dependencies(args: argparse.Namespace) -> tuple[dict[str, float], str]:
    """Values by their names, and the policy."""
    if args.unlabelled:
        raise InputError("--unlabelled is for brackets, not for dependency trees")
    from fairseq_struct.evaluation.dependencies import POLICY, compare_dependencies

    scores, count = compare_dependencies(
        args.gold, args.predicted, args.keep_punctuation, args.longest, args.seed
    )
    values = {"sentences": count, "words": scores.words}
    wholes = {"uuas": scores.pairs, "modifier_list": scores.with_modifiers}
    for name in ("uas", "uuas", "modifier_list", "modifier_count", "exact_match"):
        if wholes.get(name, count):  # sentences of one word have neither pairs nor modifiers
            values[name] = getattr(scores, name)
    how = "kept" if args.keep_punctuation else "removed by tag, what hung from it moved up"
    return values, POLICY.format(how)


def _brackets(args: argparse.Namespace) -> tuple[dict[str, float], str]:
    """Values by their names, and the policy."""
    if args.keep_punctuation:
        raise InputError("--keep-punctuation is for dependency trees; brackets stay as they are")
    from fairseq_struct.evaluation.brackets import compare_brackets
    from fairseq_struct.metrics.bracketing import LABELS, POLICY
    from fairseq_struct.metrics.labelled_bracketing import LABELLED_POLICY, LabelledScores

    labelled = LabelledScores()
    scores, depth = compare_brackets(
        args.gold, args.predicted, args.longest, args.seed, args.unlabelled, labelled
    )
    values = {
        "sentences": len(scores.f1), "f1_sentence": scores.f1_sentence,
        "f1_corpus": scores.f1_corpus, "precision": scores.precision, "recall": scores.recall,
        "depth": depth,
    }  # fmt: skip
    recalls = {f"recall_{label}": scores.recall_of(label) for label in LABELS}
    values |= {name: value for name, value in recalls.items() if value is not None}
    if not labelled.gold:
        return values, POLICY
    return values | {"f1_labelled": labelled.f1_labelled}, f"{POLICY}; labelled: {LABELLED_POLICY}"
