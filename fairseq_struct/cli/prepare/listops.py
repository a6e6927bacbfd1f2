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
from dataclasses import fields
from pathlib import Path

from fairseq_struct.cli.shared.preparation import (
    add_folder_options,
    add_seed,
    at_least,
    how_to_train,
    say,
)
from fairseq_struct.data.prepared.formulas.listops import (
    DRAWN,
    ListOpsOptions,
    draw_listops_corpus,
    read_listops_corpus,
)
from fairseq_struct.data.prepared.labelled_folder import write_labelled_folder
from fairseq_struct.data.readers.labelled_text import LEAST_INSTANCES, LabelledCorpus


def run(args: argparse.Namespace) -> None:
    """Prepare the corpus that the command line names."""
    args.run(args)


def read(args: argparse.Namespace) -> None:
    """Prepare a released training file.

    Raises:
        InputError: as for :func:`.read_listops_corpus`, or OUT holds something else.
    """
    write(args, read_listops_corpus(args.file, options_of(args), args.instances))


def generate(args: argparse.Namespace) -> None:
    """Draw a corpus.

    Raises:
        InputError: as for :func:`.draw_listops_corpus`, or OUT holds something else.
    """
    write(args, draw_listops_corpus(options_of(args), args.instances))


def options_of(args: argparse.Namespace) -> ListOpsOptions:
    """What the options of every kind ask for."""
    return ListOpsOptions(**{one.name: vars(args)[one.name] for one in fields(ListOpsOptions)})


def write(args: argparse.Namespace, corpus: LabelledCorpus) -> None:
    """Write the folder, and print its sizes and what uses it."""
    names = "instances", "most_tokens", "tokens", "arguments", "test_instances", "depth", "seed"
    selection = {name: vars(args)[name] for name in names}
    write_labelled_folder(corpus, args.out, selection=selection, overwrite=args.overwrite, say=say)
    for name, instances in corpus.splits.items():
        longest = max(len(instance.sentences[0].split()) for instance in instances)
        print(f"{name}: {len(instances)} expressions of up to {longest} tokens")
    if dropped := corpus.dropped.get("train"):
        print(f"left out: {', '.join(f'{n} {why}' for why, n in dropped.items())}")
    print(how_to_train(args.out, "ordered_memory_classifier_listops_cpu"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command line."""
    kinds = parser.add_subparsers(metavar="KIND", required=True)
    released = kinds.add_parser("read", help="a released training file")
    released.add_argument("file", metavar="FILE", type=Path, help="label TAB expression per line")
    released.set_defaults(run=read)
    drawn = kinds.add_parser("generate", help="drawn expressions")
    drawn.set_defaults(run=generate)
    for kind in (released, drawn):
        add_options(kind)
    many = at_least(LEAST_INSTANCES)
    released.add_argument(
        "--instances", type=many, metavar="N",
        help="maximum number of expressions, drawn at random (default: all)",
    )  # fmt: skip
    drawn.add_argument(
        "--instances", type=many, default=DRAWN, metavar="N",
        help="training and validation expressions; test has a ninth of it without --test "
        f"(default: {DRAWN})",
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
    add_seed(kind, "all draws")
    add_folder_options(kind)
