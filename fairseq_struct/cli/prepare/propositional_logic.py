"""Prepare the propositional logic of Bowman et al. (2015) for logical inference.

    fairseq-struct prepare propositional_logic PATH OUT
    fairseq-struct prepare propositional_logic PATH OUT --split c
    fairseq-struct prepare propositional_logic generate OUT
    fairseq-struct prepare propositional_logic generate OUT --balance released

PATH holds train0, train1, … and test0, test1, …; the number is the number of operators of the
longer formula. Each line is a relation and two formulas, separated by tabs; truth tables must give
the same relation. Training data have at most --most-operators operators; a tenth of them is used
for validation. The test split has all test files.

``generate`` draws pairs instead, and truth tables give their relations. Training data have equally
many pairs of each number of operators, or as --balance asks; what short formulas cannot give,
because there are few, longer ones do. Test pairs have 0 to 12 operators. --split takes pairs out
of those drawn.

With --split, training data are without ( and ( not a ) ) in split a, without ( and ( not X ) ) in
b, and without ( or ( not X ) ), too, in c; the test split has the pairs with such formulas and
with more operators than training data.
"""

from __future__ import annotations

import argparse
import re

from fairseq_struct.cli.shared.preparation import (
    add_folder_options,
    add_seed,
    at_least,
    how_to_train,
    say,
)
from fairseq_struct.data.generators.propositional_logic import AS_RELEASED, EQUAL
from fairseq_struct.data.prepared.formulas.propositional_logic import (
    DRAWN,
    DRAWN_TESTS,
    draw_logic_corpus,
    read_logic_corpus,
)
from fairseq_struct.data.prepared.labelled_folder import write_labelled_folder
from fairseq_struct.data.readers.formulas.propositional_logic import HELD_OUT
from fairseq_struct.data.readers.labelled_text import LEAST_INSTANCES, LabelledCorpus
from fairseq_struct.errors import InputError

GENERATE = "generate"


def run(args: argparse.Namespace) -> None:
    """Prepare the corpus.

    Raises:
        InputError: an option is for drawn pairs only, as for :func:`.read_logic_corpus` and
            :func:`.draw_logic_corpus`, or OUT holds something else.
    """
    for option, given in (("test-instances", args.test_instances), ("balance", args.balance)):
        if given and args.path != GENERATE:
            raise InputError(f"--{option} is for {GENERATE}")
    corpus = corpus_of(args)
    write_labelled_folder(
        corpus, args.out, selection=selection(args), overwrite=args.overwrite, say=say
    )
    for name, instances in corpus.splits.items():
        print(f"{name}: {len(instances)} pairs")
    print(how_to_train(args.out, "recurrent_classifier_proplogic_cpu"))


def corpus_of(args: argparse.Namespace) -> LabelledCorpus:
    """Read the pairs, or draw them."""
    shared = {name: vars(args)[name] for name in ("most_operators", "split", "seed")}
    if args.path != GENERATE:
        return read_logic_corpus(args.path, most_instances=args.most_instances, **shared)
    return draw_logic_corpus(
        most_instances=args.most_instances or DRAWN,
        test_instances=args.test_instances or DRAWN_TESTS,
        balance=args.balance or EQUAL,
        **shared,
    )


def selection(args: argparse.Namespace) -> dict:
    """The options for the manifest; those that earlier versions lacked only where given."""
    found = {name: vars(args)[name] for name in ("most_operators", "most_instances", "seed")}
    if args.path == GENERATE:
        found |= {"generated": True, "test_instances": args.test_instances or DRAWN_TESTS}
        found |= {"balance": args.balance} if args.balance not in (None, EQUAL) else {}
    return found | ({"split": args.split} if args.split else {})


def balance_of(text: str) -> str | list[int]:
    """An argparse type: the name of a balance, or its weights."""
    if text in (EQUAL, AS_RELEASED):
        return text
    if not re.fullmatch("[0-9]+(,[0-9]+)*", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither {EQUAL}, {AS_RELEASED}, nor whole numbers with commas between"
        )
    found = [int(part) for part in text.split(",")]
    if not any(found):
        raise argparse.ArgumentTypeError(f"{text} asks for no pair")
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command line."""
    parser.add_argument(
        "path", metavar="PATH",
        help=f"folder with the files, or {GENERATE} (a folder of this name is ./{GENERATE})",
    )  # fmt: skip
    parser.add_argument(
        "--most-operators", type=at_least(0), default=6, metavar="N",
        help="maximum operators of the longer formula in training (default: 6)",
    )  # fmt: skip
    parser.add_argument(
        "--most-instances", type=at_least(LEAST_INSTANCES), metavar="N",
        help="maximum number of training and validation pairs, drawn at random (default: all; "
        f"{GENERATE}: {DRAWN})",
    )  # fmt: skip
    parser.add_argument(
        "--test-instances", type=at_least(1), metavar="N",
        help=f"{GENERATE}: test pairs of each number of operators (default: {DRAWN_TESTS})",
    )  # fmt: skip
    parser.add_argument(
        "--balance", type=balance_of, metavar="BALANCE",
        help=f"{GENERATE}: how many training pairs have 0, 1, … operators: equally many "
        f"({EQUAL}), in the proportions of the released pairs ({AS_RELEASED}), or in those of "
        "whole numbers, one for each number of operators up to --most-operators, such as "
        f"0,1,1,2,2,3,3 (default: {EQUAL})",
    )  # fmt: skip
    parser.add_argument(
        "--split", choices=HELD_OUT, help="keep some formulas from training, and test with them"
    )
    add_seed(parser, "all draws")
    add_folder_options(parser)
