"""The prepared folder of transformation lists, for ``--task grammar_induction``.

::

    OUT/trees/{train,valid,test}.txt        normalised trees, one a line
    OUT/text/{train,valid,test}.txt         their words
    OUT/tagged/{train,valid,test}.txt       their words with parts of speech, word/TAG
    OUT/data-bin/dict.txt                   words of the training part
    OUT/data-bin/dict.categories.txt        categories of the training part, most frequent first
    OUT/data-bin/lists.json                 options of the trees, whether words are lower-cased, and
                                            the categories of words
    OUT/data-bin/PART.sentences.npy         (n, 2) words and steps of each sentence
    OUT/data-bin/PART.words.npy             (words,) numbers of the dictionary
    OUT/data-bin/PART.steps.npy             (steps, 3) start and end over the current sequence,
                                            and the line of the category, from 0
    OUT/manifest.json                       options and counts

All sentences of a part are in one array, one after the other; :mod:`.listed_part` reads them. A
category that the training part lacks is -1. Sentences of one word are left out, because they have
nothing to join.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from nltk import Tree

from fairseq_struct import compat
from fairseq_struct.data.prepared.binarise import SPLITS
from fairseq_struct.data.prepared.manifest import digest
from fairseq_struct.data.prepared.prepared_folder import write_prepared_folder
from fairseq_struct.data.prepared.vocabulary.dictionary_file import dictionary_of, require_words
from fairseq_struct.data.readers.bracket_trees import nodes_of, to_line
from fairseq_struct.data.readers.transformation_lists import (
    JOINED,
    ListedTree,
    ListOptions,
    Step,
    steps_of,
    tag_of,
)
from fairseq_struct.errors import InputError
from fairseq_struct.files.reserved_words import index_of, refuse_reserved
from fairseq_struct.files.text_files import write_lines

OPTIONS = "lists.json"
WORDS, CATEGORIES = "dict.txt", "dict.categories.txt"
TEST_SHARE, VALID_SHARE = 0.25, 0.1
UNKNOWN = -1  # a category that the training part lacks
Listed = tuple[ListedTree, list[Step]]


def write_list_folder(
    trees: Sequence[ListedTree], out: str | Path, options: ListOptions, *,
    test_share: float = TEST_SHARE, valid_share: float = VALID_SHARE, seed: int = 1,
    least_count: int = 2, lower: bool = True, drawn: Mapping[str, Any] | None = None,
    generator: str = "", overwrite: bool = False, say: Callable[[str], None] = lambda message: None,
) -> dict:  # fmt: skip
    """Divide trees at random into three parts, write their lists, and return the manifest.

    Args:
        trees: normalised trees.
        out: folder to make; it appears complete or not at all.
        options: with which the trees were normalised.
        test_share: share of the sentences that are in the test part.
        valid_share: share of the other sentences that are in the validation part.
        seed: of the division.
        least_count: words rarer than this in the training part are unknown.
        lower: lower-case the words for the dictionary; trees and text keep them as they are.
        drawn: options of the generator of the trees, for the manifest.
        generator: what drew the trees, if they were not read.
        overwrite: replace a folder made from other trees or options; it must have no other files.
        say: called with progress messages.

    Raises:
        InputError: a part is empty, a word or a category is one of fairseq's own symbols, no word
            is frequent enough, or ``out`` holds something else.
    """
    compat.prepare()
    several = [(tree, steps_of(tree.tree)) for tree in trees if len(tree.words) > 1]
    for tree, steps in several:
        refuse_reserved(tree.words, tree.place)
        refuse_reserved((step.category for step in steps), tree.place)
    parts = divided(several, test_share, valid_share, seed)
    words, categories = _counts(parts["train"], lower)
    require_words(words, least_count)

    def fill(folder: Path) -> dict:
        for name in ("trees", "text", "tagged", "data-bin"):
            (folder / name).mkdir()
        data = folder / "data-bin"
        of_words = {node.label() for tree, _ in parts["train"] for node in _tagged(tree)}
        content = {"options": dataclasses.asdict(options), "lower": lower,
                   "word_categories": sorted(of_words)}  # fmt: skip
        (data / OPTIONS).write_text(f"{json.dumps(content, indent=2)}\n", encoding="utf-8")
        numbers = [dictionary_of(words, least_count), dictionary_of(categories)]
        for dictionary, name in zip(numbers, (WORDS, CATEGORIES), strict=True):
            dictionary.save(str(data / name))
        for name, part in parts.items():
            _write_text(folder, name, part)
            _write_arrays(data, name, part, *numbers, lower)
        return _entries(parts, len(trees) - len(several), categories)

    identity = {
        "preparation": "transformation lists",
        "options": {
            **dataclasses.asdict(options), "test_share": test_share, "valid_share": valid_share,
            "seed": seed, "least_count": least_count, "lower": lower, **(drawn or {}),
        },
        "text_sha256": {"trees": digest(to_line(tree.tree) for tree in trees)},
    }  # fmt: skip
    return write_prepared_folder(
        out, identity, fill, generator=generator, overwrite=overwrite, say=say
    )


def divided(
    sentences: Sequence, test_share: float, valid_share: float, seed: int
) -> dict[str, list]:
    """Divide sentences at random; in each part they keep their order.

    Raises:
        InputError: a part is empty.
    """
    order = np.random.default_rng(seed).permutation(len(sentences))
    test = round(test_share * len(sentences))
    valid = round(valid_share * (len(sentences) - test))
    chosen = {"train": order[test + valid :], "valid": order[test : test + valid],
              "test": order[:test]}  # fmt: skip
    for name, places in chosen.items():
        if not len(places):
            raise InputError(
                f"the {name} part is empty: {len(sentences)} sentences of two words or more, with "
                f"--test-share {test_share:g} and --valid-share {valid_share:g}"
            )
    return {name: [sentences[place] for place in sorted(chosen[name])] for name in SPLITS}


def _counts(part: Sequence[Listed], lower: bool) -> tuple[Counter, Counter]:
    """How often the training part has each word and each category."""
    words = Counter(_form(word, lower) for tree, _ in part for word in tree.words)
    return words, Counter(step.category for _, steps in part for step in steps)


def _form(word: str, lower: bool) -> str:
    return word.lower() if lower else word


def _write_text(folder: Path, name: str, part: Sequence[Listed]):
    """Write a part's trees, words, and words with parts of speech."""
    lines = {"trees": [], "text": [], "tagged": []}
    for tree, _ in part:
        lines["trees"].append(to_line(tree.tree))
        lines["text"].append(" ".join(tree.words))
        pairs = (f"{node[0]}/{tag_of(node.label(), True)}" for node in _tagged(tree))
        lines["tagged"].append(" ".join(pairs))
    for kind, content in lines.items():
        write_lines(folder / kind / f"{name}.txt", content)


def _tagged(tree: ListedTree) -> Iterator[Tree]:
    """The nodes above the words."""
    return (node for node in nodes_of(tree.tree) if isinstance(node[0], str))


def _write_arrays(data: Path, name: str, part: Sequence[Listed], words, categories, lower: bool):
    """Write a part's arrays, with the numbers of the dictionaries of words and categories."""
    places = {category: n for n, category in enumerate(categories.symbols[categories.nspecial :])}
    arrays = {
        "sentences": [(len(tree.words), len(steps)) for tree, steps in part],
        "words": [index_of(words, _form(word, lower)) for tree, _ in part for word in tree.words],
        "steps": [
            (step.start, step.end, places.get(step.category, UNKNOWN))
            for _, steps in part
            for step in steps
        ],
    }
    for kind, rows in arrays.items():
        np.save(array_path(data, name, kind), np.array(rows, np.int32))


def _entries(parts: Mapping[str, Sequence[Listed]], one_word: int, categories: Counter) -> dict:
    """What the manifest says of the sentences and their steps."""
    steps = {name: [step for _, own in part for step in own] for name, part in parts.items()}
    every = [step for own in steps.values() for step in own]
    single = sum(step.end - step.start == 1 for step in every)
    return {
        "sentences": {name: len(part) for name, part in parts.items()},
        "one_word_sentences_left_out": one_word,
        "steps": {name: len(own) for name, own in steps.items()},
        "single_word_steps": round(100 * single / len(every), 1),
        "categories": len(categories),
        "tags": len({tag for step in every for tag in step.category.split(JOINED)}),
        "steps_of_unknown_category": {
            name: sum(step.category not in categories for step in own)
            for name, own in steps.items()
            if name != "train"
        },
    }


def array_path(data: str | Path, name: str, kind: str) -> Path:
    """The file of an array of a part."""
    return Path(data) / f"{name}.{kind}.npy"
