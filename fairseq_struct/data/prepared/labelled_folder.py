"""The prepared folder of labelled sentences.

::

    OUT/text/{train,valid,test}.{sentence1,sentence2,label}   one line per instance
    OUT/data-bin/dict.txt, dict.label.txt                     words, labels
    OUT/data-bin/options.json                                 whether the text is lower-cased
    OUT/data-bin/{train,valid,test}.{sentence1,…}.{bin,idx}   the same text, binarised
    OUT/data-bin/{train,valid,test}.{trees1,…}                gold trees, if kept
    OUT/manifest.json                                         options and counts

A corpus may have further test sets, which stand beside ``test`` under their own names.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairseq_struct import compat
from fairseq_struct.data.prepared.manifest import digest
from fairseq_struct.data.prepared.prepared_folder import write_prepared_folder
from fairseq_struct.data.prepared.vocabulary.dictionary_file import dictionary_of, require_words
from fairseq_struct.data.readers.labelled_brackets import line_of
from fairseq_struct.data.readers.labelled_text import SPLITS, Instance, LabelledCorpus
from fairseq_struct.errors import InputError
from fairseq_struct.files.reserved_words import index_of, refuse_reserved
from fairseq_struct.files.text_files import write_lines

OPTIONS = "options.json"
TREES = "trees"  # followed by the sentence's number; one line of labelled brackets per instance


def write_labelled_folder(
    corpus: LabelledCorpus,
    out: str | Path,
    *,
    lower: bool = False,
    least_count: int = 1,
    words_of_all_splits: bool = False,
    trees: bool = False,
    selection: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    say: Callable[[str], None] = lambda message: None,
) -> dict:
    """Write a corpus as text and ``data-bin``, and return its manifest.

    A folder made from the same corpus and options stays unchanged.

    Args:
        corpus: the instances.
        out: folder to make; it appears complete or not at all.
        lower: lower-case the sentences.
        least_count: words rarer than this in the training split are unknown.
        words_of_all_splits: put the words of all splits into the dictionary. This is for
            pretrained embeddings, which cover more words than the training split.
        trees: keep the gold trees of the sentences, for models that need them.
        selection: options that selected the instances, for the manifest.
        overwrite: replace a folder made from other options or another corpus; it must have no
            other files.
        say: called with progress messages.

    Raises:
        InputError: ``out`` holds something else, there are too few labels, a sentence contains one
            of fairseq's own symbols as a word, or there are no trees to keep.
    """
    compat.prepare()
    if trees and not all(one.trees for split in corpus.splits.values() for one in split):
        raise InputError(f"--trees: {corpus.name} has no trees")
    splits = {
        split: [_lower(i) if lower else i for i in instances]
        for split, instances in corpus.splits.items()
    }
    for split, instances in splits.items():
        for instance in instances:
            for sentence in instance.sentences:
                refuse_reserved(sentence.split(), corpus.place(split, instance))
    sides = len(splits["train"][0].sentences)
    counted = splits if words_of_all_splits else SPLITS[:1]
    words = _dictionary((s for c in counted for i in splits[c] for s in i.sentences), least_count)
    labels = _labels_of({*corpus.labels, *(instance.label for instance in splits["train"])})

    def fill(folder: Path) -> dict:
        data_bin = folder / "data-bin"
        data_bin.mkdir()
        (folder / "text").mkdir()
        words.save(str(data_bin / "dict.txt"))
        labels.save(str(data_bin / "dict.label.txt"))
        for split, instances in splits.items():
            _write_split(folder, split, instances, sides, words, labels, trees)
        (data_bin / OPTIONS).write_text(json.dumps({"lower": lower}) + "\n", encoding="utf-8")
        return {
            "sentences": sides,
            "instances": {split: len(instances) for split, instances in splits.items()},
            "dropped": {split: dict(corpus.dropped.get(split, {})) for split in splits},
            "words": len(words) - words.nspecial,
            "labels": labels.symbols[labels.nspecial :],
        }

    options = {
        "lower": lower,
        "least_count": least_count,
        "words_of_all_splits": words_of_all_splits,
        # Without trees the identity is that of earlier versions, which had no such option.
        **({"trees": True} if trees else {}),
        **(selection or {}),
    }
    identity = _identity(corpus, options, trees)
    return write_prepared_folder(
        out, identity, fill, generator=corpus.generator, overwrite=overwrite, say=say
    )


def _identity(corpus: LabelledCorpus, options: dict, trees: bool) -> dict:
    """Everything that determines the folder's contents; equal identities make equal folders."""
    return {
        "preparation": "labelled sentences",
        "corpus": corpus.name,
        "options": options,
        "text_sha256": {
            split: digest(_text_of(one, trees) for one in instances)
            for split, instances in corpus.splits.items()
        },
    }


def _write_split(
    folder: Path, split: str, instances: list[Instance], sides: int, words, labels, trees: bool
):
    """Write one split's sentences, labels and, if wanted, trees, as text and binarised."""
    data_bin, text = folder / "data-bin", folder / "text"
    for side in range(sides):
        name = f"{split}.sentence{side + 1}"
        lines = [instance.sentences[side] for instance in instances]
        write_lines(text / name, lines)
        _binarise(data_bin / name, lines, words)
        if trees:
            lines = [_tree(instance, side) for instance in instances]
            write_lines(data_bin / f"{split}.{TREES}{side + 1}", lines)
    lines = [instance.label for instance in instances]
    write_lines(text / f"{split}.label", lines)
    _binarise(data_bin / f"{split}.label", lines, labels)


def _labels_of(wanted: set[str]):
    """The dictionary of the labels, those of the training split among them.

    Raises:
        InputError: there are too few labels, or one of them is a special symbol of fairseq.
    """
    labels = label_dictionary(sorted(wanted))
    if len(labels) - labels.nspecial < max(2, len(wanted)):
        raise InputError(
            f"the training split needs two labels or more, none of them a special symbol of "
            f"fairseq such as <pad>, but has {', '.join(sorted(wanted))}"
        )
    return labels


def label_dictionary(labels: Iterable[str]):
    """Make a fairseq dictionary of labels; fairseq's special symbols come first."""
    from fairseq.data import Dictionary

    dictionary = Dictionary()
    for label in labels:
        dictionary.add_symbol(label)
    return dictionary


def _dictionary(sentences: Iterable[str], least_count: int):
    counts = Counter(word for sentence in sentences for word in sentence.split())
    require_words(counts, least_count)
    return dictionary_of(counts, least_count)


def _lower(instance: Instance) -> Instance:
    return replace(instance, sentences=tuple(s.lower() for s in instance.sentences))


def _tree(instance: Instance, side: int) -> str:
    return line_of(instance.sentences[side].split(), instance.trees[side])


def _text_of(instance: Instance, trees: bool) -> str:
    sides = range(len(instance.sentences) if trees else 0)
    found = (*instance.sentences, instance.label, *(_tree(instance, side) for side in sides))
    return "\t".join(found)


def _binarise(prefix: Path, lines: Iterable[str], dictionary) -> None:
    import torch
    from fairseq.data import indexed_dataset

    builder = indexed_dataset.make_builder(
        f"{prefix}.bin", impl="mmap", vocab_size=len(dictionary)
    )
    for line in lines:
        builder.add_item(torch.tensor([index_of(dictionary, word) for word in line.split()]))
    builder.finalize(f"{prefix}.idx")
