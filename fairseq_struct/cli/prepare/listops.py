"""Prepare ListOps: expressions such as ``[MAX 2 9 [MIN 4 7 ] 0 ]``, with their values as labels.

    fairseq-struct prepare listops read FILE OUT --test TEST
    fairseq-struct prepare listops generate OUT --test TEST --most-tokens 50 \\
        --tokens 200 300 --tokens 900 1000 --arguments 10

``read`` takes released files (train_d20s.tsv, test_d20s.tsv), ``generate`` draws expressions from
the same distribution. A tenth of the training data validates. Each --tokens and --arguments adds a
test set of drawn expressions beside the split test: test_200_300, test_10_arguments. No expression
stands in two splits.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

from fairseq_struct.data.generators.listops import Expressions
from fairseq_struct.data.prepared.labelled_folder import write_labelled_folder
from fairseq_struct.data.prepared.preparation_script import at_least, how_to_train, say
from fairseq_struct.data.readers.formulas.formula_trees import DIGITS
from fairseq_struct.data.readers.formulas.listops import read_listops, value_of
from fairseq_struct.data.readers.labelled_text import Instance, LabelledCorpus
from fairseq_struct.errors import InputError

LEAST_INSTANCES = 10
# Lengths of the test sets of --arguments, as in the code of Ray Chowdhury and Caragea (2023).
TOKENS_WITH_ARGUMENTS = (100, 1000)


def run(args: argparse.Namespace) -> None:
    """Prepare the corpus that the command line names."""
    args.run(args)


def read(args: argparse.Namespace) -> None:
    """Prepare a released training file.

    Raises:
        InputError: a file is missing or malformed, too few expressions stay, or OUT holds something
            else.
    """
    further = further_tests(args)
    test, excluded = given_tests(args)
    dropped: Counter[str] = Counter()
    stay: dict[str, Instance] = {}
    for instance in read_listops(args.file):
        (text,) = instance.sentences
        if args.most_tokens and len(text.split()) > args.most_tokens:
            dropped["too long"] += 1
        elif text in excluded or text in stay:
            dropped["excluded" if text in excluded else "repeated"] += 1
        else:
            stay[text] = instance
    every = list(stay.values())
    Random(args.seed).shuffle(every)
    every = every[: args.instances]
    if len(every) < LEAST_INSTANCES:
        raise InputError(f"{args.file}: {len(every)} expressions stay, which are too few")
    if not args.test:
        test, every = every[: len(every) // 10], every[len(every) // 10 :]
    write(args, every, test, further, dropped)


def generate(args: argparse.Namespace) -> None:
    """Draw a corpus.

    Raises:
        InputError: a file is missing or malformed, there are not so many expressions, or OUT holds
            something else.
    """
    further = further_tests(args)
    test, excluded = given_tests(args)
    tokens = (1, args.most_tokens) if args.most_tokens else None
    count = args.instances + (0 if args.test else max(1, args.instances // 9))
    drawn = instances_of(
        Expressions(depth=args.depth, tokens=tokens).draw(count, Random(args.seed), excluded)
    )
    train, rest = drawn[: args.instances], drawn[args.instances :]
    write(args, train, test or rest, further, Counter(), Expressions.__module__)


def given_tests(args: argparse.Namespace) -> tuple[list[Instance], set[str]]:
    """The instances of --test, and all expressions that are not for training."""
    test = read_listops(args.test) if args.test else []
    other = read_listops(args.exclude) if args.exclude else []
    return test, {instance.sentences[0] for instance in (*test, *other)}


def write(
    args: argparse.Namespace,
    train: list[Instance],
    test: list[Instance],
    further: Mapping[str, Expressions],
    dropped: Counter,
    generator: str = "",
) -> None:
    """Draw the further test sets, write the folder, and print its sizes and what uses it."""
    held_out = len(train) // 10
    splits = {"train": train[held_out:], "valid": train[:held_out], "test": test}
    if not held_out:
        raise InputError(f"{len(train)} training expressions, but a tenth of them are to validate")
    seen = {instance.sentences[0] for split in splits.values() for instance in split}
    for name, expressions in further.items():
        drawn = expressions.draw(args.test_instances, Random(f"{args.seed} {name}"), seen)
        splits[name] = instances_of(drawn)
        seen.update(drawn)
    corpus = LabelledCorpus("listops", splits, {"train": dropped}, labels=DIGITS)
    corpus.generator = generator
    names = "instances", "most_tokens", "tokens", "arguments", "test_instances", "depth", "seed"
    selection = {name: vars(args)[name] for name in names}
    write_labelled_folder(corpus, args.out, selection=selection, overwrite=args.overwrite, say=say)
    for name, instances in splits.items():
        longest = max(len(instance.sentences[0].split()) for instance in instances)
        print(f"{name}: {len(instances)} expressions of up to {longest} tokens")
    if dropped:
        print(f"left out: {', '.join(f'{n} {why}' for why, n in dropped.items())}")
    print(how_to_train(args.out, "ordered_memory_classifier_listops_cpu"))


def further_tests(args: argparse.Namespace) -> dict[str, Expressions]:
    """The distribution of each test set that the options add, by its name.

    Raises:
        InputError: a range of tokens that is none.
    """
    found = {}
    for least, most in args.tokens:
        if not 1 <= least <= most:
            raise InputError(f"--tokens {least} {most}: name the least number first, 1 or more")
        found[f"test_{least}_{most}"] = Expressions(depth=args.depth, tokens=(least, most))
    for count in args.arguments:
        found[f"test_{count}_arguments"] = Expressions(
            (count, count), args.depth, TOKENS_WITH_ARGUMENTS
        )
    return found


def instances_of(expressions: Sequence[str]) -> list[Instance]:
    """Expressions with their values."""
    return [
        Instance((text,), str(value_of(text.split())), number)
        for number, text in enumerate(expressions, 1)
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command line."""
    kinds = parser.add_subparsers(metavar="KIND", required=True)
    released = kinds.add_parser("read", help="a released training file")
    released.add_argument("file", metavar="FILE", type=Path, help="label TAB expression per line")
    released.set_defaults(run=read)
    drawn = kinds.add_parser("generate", help="drawn expressions")
    drawn.set_defaults(run=generate)
    for kind in (released, drawn):
        kind.add_argument("out", metavar="OUT", type=Path, help="folder to write")
        add_options(kind)
    many = at_least(LEAST_INSTANCES)
    released.add_argument(
        "--instances", type=many, metavar="N",
        help="maximum number of expressions, drawn at random (default: all)",
    )  # fmt: skip
    drawn.add_argument(
        "--instances", type=many, default=90_000, metavar="N",
        help="training and validation expressions; test has a ninth of it without --test "
        "(default: 90000)",
    )  # fmt: skip


def add_options(kind: argparse.ArgumentParser) -> None:
    """Add the options of every kind."""
    kind.add_argument(
        "--most-tokens", type=at_least(4), metavar="N",
        help="maximum tokens of an expression, but not of --test; 80 %% of all have up to 50",
    )  # fmt: skip
    kind.add_argument(
        "--test", type=Path, metavar="FILE",
        help="released test file, for the split test; none of its expressions is trained on",
    )  # fmt: skip
    kind.add_argument(
        "--exclude", type=Path, metavar="FILE",
        help="file of the same form, none of whose expressions is trained on",
    )  # fmt: skip
    kind.add_argument(
        "--tokens", nargs=2, type=int, action="append", default=[], metavar=("MIN", "MAX"),
        help="add the test set test_MIN_MAX, of expressions with so many tokens; repeatable",
    )  # fmt: skip
    kind.add_argument(
        "--arguments", type=at_least(1), action="append", default=[], metavar="N",
        help="add the test set test_N_arguments, all of whose lists have N arguments, of 100 to "
        "1000 tokens; repeatable",
    )  # fmt: skip
    kind.add_argument(
        "--test-instances", type=at_least(1), default=1000, metavar="N",
        help="expressions of each test set that --tokens and --arguments add (default: 1000)",
    )  # fmt: skip
    kind.add_argument(
        "--depth", type=at_least(2), default=20, metavar="N",
        help="levels of nodes of drawn expressions, digits the last (default: 20)",
    )  # fmt: skip
    kind.add_argument("--seed", type=int, default=1, help="seed of all draws (default: 1)")
    kind.add_argument("--overwrite", action="store_true", help="replace OUT")
