"""ListOps as a corpus: what is trained on, and test sets of which nothing is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fairseq_struct.data.generators.listops import Expressions
from fairseq_struct.data.readers.formulas.formula_trees import DIGITS
from fairseq_struct.data.readers.formulas.listops import read_listops, value_of
from fairseq_struct.data.readers.labelled_text import (
    LEAST_INSTANCES,
    Instance,
    LabelledCorpus,
    with_validation,
)
from fairseq_struct.errors import InputError
from fairseq_struct.option_checks import require_at_least, values_at_least

# Lengths of the test sets of ``arguments``, as in the code of Ray Chowdhury and Caragea (2023).
TOKENS_WITH_ARGUMENTS = (100, 1000)
DRAWN = 90_000


@dataclass(frozen=True)
class ListOpsOptions:
    """Which expressions a corpus has. No expression is in two of its splits.

    Args:
        most_tokens: maximum tokens of an expression, but not of ``test``; None for any number.
        test: released test file, for the split ``test``; None for expressions like the others.
        exclude: file of the same form, none of whose expressions is trained on.
        tokens: least and largest number of tokens of each further test set, ``test_MIN_MAX``.
        arguments: for each further test set ``test_N_arguments``, the number of arguments of all
            its lists.
        test_instances: expressions of each further test set.
        depth: levels of nodes of drawn expressions, digits the last.
        seed: of all draws.

    Raises:
        InputError: a number out of range, or a range of tokens that is none.
    """

    most_tokens: int | None = None
    test: str | Path | None = None
    exclude: str | Path | None = None
    tokens: Sequence[Sequence[int]] = ()
    arguments: Sequence[int] = ()
    test_instances: int = 1000
    depth: int = 20
    seed: int = 1

    def __post_init__(self):
        require_at_least(self, 1, "test_instances")
        self.further_tests()

    def further_tests(self) -> dict[str, Expressions]:
        """The distribution of each further test set, by its name."""
        found = {}
        for least, most in self.tokens:
            if not 1 <= least <= most:
                raise InputError(f"--tokens {least} {most}: name the least number first, 1 or more")
            found[f"test_{least}_{most}"] = Expressions(depth=self.depth, tokens=(least, most))
        for count in self.arguments:
            found[f"test_{count}_arguments"] = Expressions(
                (count, count), self.depth, TOKENS_WITH_ARGUMENTS
            )
        return found

    def given_tests(self) -> tuple[list[Instance], set[str]]:
        """The instances of ``test``, and all expressions that are not for training."""
        test = read_listops(Path(self.test)) if self.test else []
        other = read_listops(Path(self.exclude)) if self.exclude else []
        return test, {instance.sentences[0] for instance in (*test, *other)}


def read_listops_corpus(
    file: str | Path, options: ListOpsOptions, instances: int | None = None
) -> LabelledCorpus:
    """Read a released training file; a tenth of it validates.

    Args:
        file: lines ``label TAB expression``.
        options: which expressions stay, and the test sets.
        instances: maximum number of expressions, drawn at random; None for all.

    Returns:
        The corpus, for :func:`.write_labelled_folder`.

    Raises:
        InputError: a file is missing or malformed, or too few expressions stay.
    """
    if instances is not None:
        values_at_least(LEAST_INSTANCES, instances=instances)
    test, excluded = options.given_tests()
    dropped: Counter[str] = Counter()
    stay: dict[str, Instance] = {}
    for instance in read_listops(Path(file)):
        (text,) = instance.sentences
        if options.most_tokens and len(text.split()) > options.most_tokens:
            dropped["too long"] += 1
        elif text in excluded or text in stay:
            dropped["excluded" if text in excluded else "repeated"] += 1
        else:
            stay[text] = instance
    every = list(stay.values())
    Random(options.seed).shuffle(every)
    every = every[:instances]
    if len(every) < LEAST_INSTANCES:
        raise InputError(f"{file}: {len(every)} expressions stay, which are too few")
    if not options.test:
        test, every = every[: len(every) // 10], every[len(every) // 10 :]
    return LabelledCorpus(
        "listops", _splits(every, test, options), {"train": dropped}, labels=DIGITS
    )


def draw_listops_corpus(options: ListOpsOptions, instances: int = DRAWN) -> LabelledCorpus:
    """Draw a corpus; a tenth of what is not for ``test`` validates.

    Args:
        options: which expressions are drawn, and the test sets.
        instances: training and validation expressions; the split ``test`` has a ninth of it unless
            it is a file.

    Returns:
        The corpus, for :func:`.write_labelled_folder`.

    Raises:
        InputError: a file is missing or malformed, or there are not so many expressions.
    """
    values_at_least(LEAST_INSTANCES, instances=instances)
    test, excluded = options.given_tests()
    tokens = (1, options.most_tokens) if options.most_tokens else None
    expressions = Expressions(depth=options.depth, tokens=tokens)
    count = instances + (0 if options.test else max(1, instances // 9))
    drawn = _instances_of(expressions.draw(count, Random(options.seed), excluded))
    splits = _splits(drawn[:instances], test or drawn[instances:], options)
    return LabelledCorpus("listops", splits, labels=DIGITS, generator=Expressions.__module__)


def _splits(
    train: list[Instance], test: list[Instance], options: ListOpsOptions
) -> dict[str, list[Instance]]:
    """All splits; the further test sets are drawn."""
    splits = {**with_validation(train), "test": test}
    if not splits["valid"]:
        raise InputError(f"{len(train)} training expressions, but a tenth of them are to validate")
    seen = {instance.sentences[0] for split in splits.values() for instance in split}
    for name, expressions in options.further_tests().items():
        drawn = expressions.draw(options.test_instances, Random(f"{options.seed} {name}"), seen)
        splits[name] = _instances_of(drawn)
        seen.update(drawn)
    return splits


def _instances_of(expressions: Sequence[str]) -> list[Instance]:
    """Expressions with their values."""
    return [
        Instance((text,), str(value_of(text.split())), number)
        for number, text in enumerate(expressions, 1)
    ]
