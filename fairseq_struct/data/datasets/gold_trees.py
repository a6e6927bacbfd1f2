"""Gold trees of labelled sentences as tensors: heads of CoNLL-U, constituents of brackets.

The brackets are those of a file, or a formula's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from fairseq.data import Dictionary
from torch import Tensor

from fairseq_struct.data.datasets.labelled_sentences import UNKNOWN
from fairseq_struct.data.datasets.packed_tensors import PackedTensors, PickedTensors
from fairseq_struct.data.readers.conllu import Sentence
from fairseq_struct.data.readers.formulas.formula_trees import constituents
from fairseq_struct.data.readers.labelled_brackets import read_line
from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_lines

Words = tuple[str, ...]


def words_of_lines(path: Path, sentences: int) -> Iterator[Words]:
    """Yield the words of each sentence of a prepared text.

    Args:
        path: the text.
        sentences: their expected number.

    Raises:
        InputError: the file is missing, or its number of sentences is not the expected one.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; --heads-path needs it to find its sentences")
    lines = read_lines(path)
    if len(lines) != sentences:
        raise InputError(f"{path}: {len(lines)} sentences, but data-bin has {sentences}")
    for line in lines:
        yield tuple(line.split())


def heads_of(
    gold: Sequence[Sentence],
    path: str | Path,
    texts: Sequence[Iterable[Words]],
    lower: bool = False,
    longest: int | None = None,
) -> list[PickedTensors]:
    """Match gold heads (n,) to sentences by their words; None for sentences without a tree.

    Args:
        gold: sentences with heads.
        path: the file of the gold sentences, for messages.
        texts: the words of every sentence, for each side.
        lower: whether ``texts`` were lower-cased.
        longest: maximum number of words of a sentence; longer trees are cut.

    Raises:
        InputError: a gold sentence is not in ``texts``, or has two different trees.
    """
    every = [tuple(word.lower() if lower else word for word in one.words) for one in gold]
    numbers = {words: number for number, words in enumerate(dict.fromkeys(every))}
    picks = [np.fromiter((numbers.get(words, -1) for words in side), np.int32) for side in texts]
    wanted = {number for side in picks for number in np.unique(side).tolist()}
    found: dict[Words, tuple[int, ...]] = {}
    for sentence, words in zip(gold, every, strict=True):
        if numbers[words] not in wanted:
            raise InputError(f"{path}:{sentence.line}: this sentence is not in the training split")
        if found.setdefault(words, sentence.heads) != sentence.heads:
            raise InputError(f"{path}:{sentence.line}: this sentence has a different tree above")
    heads = [torch.tensor(tree)[:longest] for tree in found.values()]
    for tree in heads:
        tree[tree > len(tree)] = UNKNOWN  # these heads were cut off
    trees = PackedTensors(heads)
    return [PickedTensors(trees, side) for side in picks]


def constituents_of(
    path: Path, sentences: Sequence[Tensor], labels: Sequence[str]
) -> PackedTensors:
    """Constituents (m, 3) of each sentence: start, end, number of the label or ``UNKNOWN``.

    Args:
        path: file of labelled brackets, one line per sentence.
        sentences: (n,) each.
        labels: names of the labels, in the order of their numbers.

    Raises:
        InputError: the file is missing, or its trees do not match the sentences.
    """
    if not path.is_file():
        raise InputError(
            f"{path}: no such file, but this model needs gold trees; prepare the data with "
            "fairseq-struct prepare labelled_text --trees, or give --gold-trees for formulas"
        )
    lines = read_lines(path)
    if len(lines) != len(sentences):
        raise InputError(f"{path}: {len(lines)} trees, but there are {len(sentences)} sentences")
    return PackedTensors(_constituents(path, lines, sentences, labels))


def _constituents(
    path: Path, lines: Sequence[str], sentences: Sequence[Tensor], labels: Sequence[str]
) -> Iterator[Tensor]:
    numbers = {label: number for number, label in enumerate(labels)}
    for number, (line, sentence) in enumerate(zip(lines, sentences, strict=True), 1):
        try:
            words, tree = read_line(line)
        except ValueError as error:
            raise InputError(f"{path}:{number}: {error}") from None
        if len(words) != len(sentence):
            raise InputError(
                f"{path}:{number}: a tree of {len(words)} words, but the sentence has "
                f"{len(sentence)}; --truncate cannot cut trees"
            )
        rows = [(start, end, numbers.get(label, UNKNOWN)) for start, end, label in tree]
        yield torch.tensor(rows)


def formula_tree(words: Sequence[str], kind: str, place: str = "") -> Tensor:
    """Constituents (m, 3) of a formula, with ``UNKNOWN`` as label: see :mod:`.formula_trees`.

    Args:
        words: of the sentence.
        kind: kind of formulas.
        place: of the sentence, for messages.

    Raises:
        InputError: the words are no formula of this kind.
    """
    try:
        spans = constituents(words, kind)
    except ValueError as error:
        raise InputError(f"{place}: no formula of the kind {kind}: {error}") from None
    return torch.tensor([(start, end, UNKNOWN) for start, end in spans])


def formula_trees(
    path: Path, sentences: Sequence[Tensor], words: Dictionary, kind: str
) -> PackedTensors:
    """:func:`formula_tree` of each sentence.

    Args:
        path: of the sentences, for messages.
        sentences: (n,) each.
        words: their dictionary.
        kind: kind of formulas.

    Raises:
        InputError: a sentence is no formula of this kind.
    """
    return PackedTensors(
        formula_tree([words[word] for word in one.tolist()], kind, f"{path}: sentence {number}")
        for number, one in enumerate(sentences, 1)
    )
