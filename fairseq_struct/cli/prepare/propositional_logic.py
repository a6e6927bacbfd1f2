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
from collections.abc import Sequence
from pathlib import Path
from random import Random

from fairseq_struct.data.generators.propositional_logic import RELEASED, draw_pairs
from fairseq_struct.data.prepared.labelled_folder import write_labelled_folder
from fairseq_struct.data.prepared.preparation_script import at_least, how_to_train, say
from fairseq_struct.data.readers.formulas.propositional_logic import (
    SPLITS,
    held_by_split,
    read_pairs,
)
from fairseq_struct.data.readers.formulas.truth_tables import RELATIONS
from fairseq_struct.data.readers.labelled_text import Instance, LabelledCorpus
from fairseq_struct.errors import InputError

LEAST_INSTANCES = 10
GENERATE = "generate"
# Of ``generate``: training and validation pairs, test pairs of each number of operators, and the
# largest number, as in the released test sets.
DRAWN, DRAWN_TESTS, MOST_TEST_OPERATORS = 100_000, 1000, 12
# Balances of ``generate`` with a name.
EQUAL, AS_RELEASED = "equal", "released"

# Test pairs by their place: a file, or a number of operators.
Tests = dict[Path | str, list[Instance]]


def run(args: argparse.Namespace) -> None:
    """Prepare the corpus."""
    drawn = args.path == GENERATE
    for option, given in (("test-instances", args.test_instances), ("balance", args.balance)):
        if given and not drawn:
            raise InputError(f"--{option} is for {GENERATE}")
    train, tests, longer = draw(args) if drawn else read(args)
    if args.split:
        held = held_by_split(args.split)
        train = [instance for instance in train if not held(instance)]
        tests = {place: list(filter(held, found)) for place, found in longer.items()}
        if not any(tests.values()):
            raise InputError(f"--split {args.split}: no test pair is in it")
    if len(train) < LEAST_INSTANCES:
        raise InputError(
            f"{args.path}: {len(train)} training pairs are too few: a tenth is for validation"
        )
    Random(args.seed).shuffle(train)
    train = train[: args.most_instances]
    held_out = len(train) // 10
    splits = {
        "train": train[held_out:],
        "valid": train[:held_out],
        "test": [instance for found in tests.values() for instance in found],
    }
    labels = RELATIONS if drawn else ()
    known = {*labels, *(instance.label for instance in splits["train"])}
    for place, found in tests.items():
        wrong = next((one for one in found if one.label not in known), None)
        if wrong:
            raise InputError(
                f"{place}:{wrong.line}: the relation {wrong.label!r} is not in the training split"
            )
    corpus = LabelledCorpus("propositional_logic", splits, labels=labels)
    corpus.generator = draw_pairs.__module__ if drawn else ""
    write_labelled_folder(
        corpus, args.out, selection=selection(args), overwrite=args.overwrite, say=say
    )
    for name, instances in splits.items():
        print(f"{name}: {len(instances)} pairs")
    print(how_to_train(args.out, "recurrent_classifier_proplogic_cpu"))


def selection(args: argparse.Namespace) -> dict:
    """The options for the manifest; those that earlier versions lacked only where given."""
    found = {name: vars(args)[name] for name in ("most_operators", "most_instances", "seed")}
    if args.path == GENERATE:
        found |= {"generated": True, "test_instances": args.test_instances or DRAWN_TESTS}
        found |= {"balance": args.balance} if args.balance not in (None, EQUAL) else {}
    return found | ({"split": args.split} if args.split else {})


def read(args: argparse.Namespace) -> tuple[list[Instance], Tests, Tests]:
    """Read training pairs, test pairs, and those of them with more operators than training data.

    Raises:
        InputError: a file is missing or malformed.
    """
    folder = Path(args.path)
    train = [
        instance
        for number in range(args.most_operators + 1)
        for instance in read_pairs(folder / f"train{number}")
    ]
    files = {
        int(file.name[4:]): file for file in folder.glob("test*") if file.name[4:].isdecimal()
    }
    if not files:
        raise InputError(f"{folder}/test0: no such file")
    tests = {number: read_pairs(files[number]) for number in sorted(files)}
    return (
        train,
        {files[number]: found for number, found in tests.items()},
        {files[number]: found for number, found in tests.items() if number > args.most_operators},
    )


def draw(args: argparse.Namespace) -> tuple[list[Instance], Tests, Tests]:
    """Draw what :func:`read` reads; no pair is in both training and test data.

    Raises:
        InputError: as for :func:`weights`.
    """
    shares = weights(args.balance or EQUAL, args.most_operators)
    train: list[Instance] = []
    tests, longer = {}, {}
    wanted_tests = args.test_instances or DRAWN_TESTS
    most = max(args.most_operators, MOST_TEST_OPERATORS)
    for number in range(most + 1):
        # What short formulas cannot give, longer ones do.
        left = (args.most_instances or DRAWN) - len(train)
        wanted = -(-left * shares[number] // sum(shares[number:])) if any(shares[number:]) else 0
        every = wanted + wanted_tests
        found = draw_pairs(number, every, Random(f"{args.seed} {number}"))
        test = len(found) * wanted_tests // every
        tests[f"{number} operators"] = found[:test]
        train += found[test:]
        if number > args.most_operators:
            longer[f"{number} operators"] = found[:test]
    return train, tests, longer


def weights(balance: str | Sequence[int], most_operators: int) -> Sequence[int]:
    """Training pairs of 0, 1, … operators, relative to each other.

    Args:
        balance: as :func:`balance_of` returns it.
        most_operators: maximum number of operators.

    Raises:
        InputError: the balance is for another number of operators.
    """
    if balance == EQUAL:
        return [1] * (most_operators + 1)
    if balance == AS_RELEASED:
        if most_operators >= len(RELEASED):
            raise InputError(
                f"--balance {balance}: the released pairs have up to {len(RELEASED) - 1} "
                f"operators; --most-operators is {most_operators}"
            )
        return RELEASED[: most_operators + 1]
    if len(balance) != most_operators + 1:
        raise InputError(
            f"--balance has {len(balance)} numbers, for up to {len(balance) - 1} operators; "
            f"--most-operators is {most_operators}"
        )
    return balance


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
    parser.add_argument("out", metavar="OUT", type=Path, help="folder to write")
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
        "--split", choices=SPLITS, help="keep some formulas from training, and test with them"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the random draws (default: 1)")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT")
