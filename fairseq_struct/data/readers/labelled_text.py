"""Readers of labelled sentences and labelled sentence pairs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairseq_struct.data.readers.labelled_brackets import Constituent, read_line
from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_lines

SPLITS = ("train", "valid", "test")
LEAST_INSTANCES = 10  # of which a tenth can validate

HEADERS = ("label", "labels", "class", "gold_label")  # of a column of labels, in lower case

# The binary labels of the Stanford Sentiment Treebank, and neutral between them.
_SENTIMENT = {
    "0": "negative", "1": "negative", "2": "neutral", "3": "positive", "4": "positive",
}  # fmt: skip


@dataclass(frozen=True)
class Instance:
    """One or two sentences with a label.

    Attributes:
        sentences: one sentence or two, words separated by spaces.
        label: name of the label.
        line: number of its line in the file.
        trees: gold constituents of each sentence; () if the corpus has none.
    """

    sentences: tuple[str, ...]
    label: str
    line: int = field(default=0, compare=False)
    trees: tuple[tuple[Constituent, ...], ...] = field(default=(), compare=False)


@dataclass
class LabelledCorpus:
    """Instances of the three splits, and of further test sets.

    Attributes:
        name: name of the corpus.
        splits: instances by split.
        dropped: number of instances left out, by split and reason.
        files: files of the splits, if they were read from files.
        labels: labels that may occur, besides those of the training split.
        generator: what drew the instances, if they were not read.
    """

    name: str
    splits: dict[str, list[Instance]]
    dropped: dict[str, Counter] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    generator: str = ""

    def place(self, split: str, instance: Instance) -> str:
        """File and line of an instance, for messages."""
        return f"{self.files.get(split, f'the {split} split')}:{instance.line}"


def with_validation(instances: list[Instance]) -> dict[str, list[Instance]]:
    """Let a tenth of the instances, the first ones, validate.

    Args:
        instances: for training and validation.

    Returns:
        The splits ``train`` and ``valid``.
    """
    held_out = len(instances) // 10
    return {"train": instances[held_out:], "valid": instances[:held_out]}


# Reads one file: yields instances, and a reason (str) in place of each instance left out.
Reader = Callable[[Path], Iterator[Instance | str]]


def read_corpus(name: str, reader: Reader, files: dict[str, Path]) -> LabelledCorpus:
    """Read the files of all splits.

    Args:
        name: name of the corpus.
        reader: reader of one file.
        files: file of each split.

    Raises:
        InputError: a file is missing, malformed or empty, a sentence is empty, or the held-out
            splits have a label or a number of sentences that is not in the training split.
    """
    corpus = LabelledCorpus(name, {}, {}, files)
    for split in SPLITS:
        path = files[split]
        if not path.is_file():
            what = "is a folder, not a file" if path.is_dir() else "no such file"
            raise InputError(f"{path}: {what} (the {split} split of {name})")
        read = list(reader(path))
        corpus.splits[split] = [entry for entry in read if isinstance(entry, Instance)]
        corpus.dropped[split] = Counter(entry for entry in read if isinstance(entry, str))
        if not corpus.splits[split]:
            raise InputError(f"{path}: contains no instance")
    _require_same_columns(corpus)
    _refuse_header(corpus)
    labels = {instance.label for instance in corpus.splits["train"]}
    for split in SPLITS:
        for instance in corpus.splits[split]:
            if instance.label not in labels:
                known = ", ".join(sorted(labels))
                raise InputError(
                    f"{files[split]}:{instance.line}: label {instance.label!r} is not in the "
                    f"training split, which has the labels {known}"
                )
    return corpus


def _require_same_columns(corpus: LabelledCorpus):
    sizes = Counter(len(instance.sentences) for instance in corpus.splits["train"])
    usual = sizes.most_common(1)[0][0]
    for split in SPLITS:
        for instance in corpus.splits[split]:
            if len(instance.sentences) != usual:
                one, two = "one sentence", "two sentences"
                own, due = (two, one) if usual == 1 else (one, two)
                raise InputError(
                    f"{corpus.place(split, instance)}: {own} and a label; expected {due} and a "
                    "label, as on most lines of the training split"
                )


def _refuse_header(corpus: LabelledCorpus):
    """Refuse a first line that names the columns; their names would be a sentence and a class."""
    every = [one for split in SPLITS for one in corpus.splits[split]]
    labels = {one.label for one in every if one.line != 1}
    for split in SPLITS:
        first = corpus.splits[split][0]
        if first.line == 1 and first.label.lower() in HEADERS and first.label not in labels:
            raise InputError(
                f"{corpus.place(split, first)}: a header, as it seems, because no other line has "
                f"the label {first.label!r}; remove this line"
            )


def read_tsv(path: Path) -> Iterator[Instance | str]:
    """Read lines ``sentence TAB label`` or ``sentence TAB sentence TAB label``."""
    for number, line in _lines(path):
        columns = line.split("\t")
        if len(columns) not in (2, 3):
            raise InputError(
                f"{path}:{number}: {len(columns)} columns; expected 1 or 2 sentences and a label"
            )
        yield _instance(path, number, columns[:-1], columns[-1])


def read_sentiment_trees(path: Path) -> Iterator[Instance | str]:
    """Read the Stanford Sentiment Treebank with two labels; neutral sentences are left out."""
    for instance in read_fine_sentiment_trees(path):
        if instance.label == "2":
            yield "neutral"
            continue
        trees = tuple(
            tuple(node._replace(label=_SENTIMENT[node.label]) for node in tree)
            for tree in instance.trees
        )
        yield replace(instance, label=_SENTIMENT[instance.label], trees=trees)


def read_fine_sentiment_trees(path: Path) -> Iterator[Instance]:
    """Read the Stanford Sentiment Treebank with five labels, 0 (very negative) to 4."""
    for number, line in _lines(path):
        try:
            words, tree = read_line(line)
            known = all(node.label in _SENTIMENT for node in tree)
        except ValueError:
            known = False
        if not known:
            raise InputError(f"{path}:{number}: malformed sentiment tree")
        sentence = " ".join(word.replace("\\", "") or word for word in words)  # 1\/2 is 1/2
        yield replace(_instance(path, number, [sentence], tree[0].label), trees=(tree,))


def read_snli_jsonl(path: Path) -> Iterator[Instance | str]:
    """Read SNLI's ``.jsonl`` with the tokens of its binary parses; ``-`` means no label."""
    for number, line in _lines(path):
        try:
            entry = json.loads(line)
            label = entry["gold_label"]
            parses = [entry[f"sentence{i}_binary_parse"] for i in (1, 2)]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{path}:{number}: not an SNLI record ({error})") from None
        yield _snli(path, number, parses, label)


def read_snli_tsv(path: Path) -> Iterator[Instance | str]:
    """Read SNLI's ``.txt``, tab-separated with a header, as :func:`read_snli_jsonl` does."""
    names = ("gold_label", "sentence1_binary_parse", "sentence2_binary_parse")
    for number, (label, *parses) in _columns(path, names):
        yield _snli(path, number, parses, label)


def read_sick(path: Path) -> Iterator[Instance | str]:
    """Read SICK, tab-separated with a header; its sentences need no tokenisation."""
    names = ("entailment_judgment", "sentence_A", "sentence_B")
    for number, (label, *sentences) in _columns(path, names):
        yield _instance(path, number, sentences, label.lower())


def _snli(path: Path, number: int, parses: Sequence[str], label: str) -> Instance | str:
    if label is None or label == "-":
        return "without label"
    if not all(isinstance(part, str) for part in (label, *parses)):
        raise InputError(f"{path}:{number}: label and parses must be text")
    sentences = [" ".join(w for w in parse.split() if w not in "()") for parse in parses]
    return _instance(path, number, sentences, label)


def _instance(path: Path, number: int, sentences: Sequence[str], label: str) -> Instance:
    clean = tuple(" ".join(sentence.split()) for sentence in sentences)
    if not all(clean):
        raise InputError(f"{path}:{number}: empty sentence")
    if not label.strip() or len(label.split()) > 1:
        raise InputError(f"{path}:{number}: {label!r} is not a label, which is one word")
    return Instance(clean, label.strip(), number)


def _columns(path: Path, names: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers and the named columns of a tab-separated file with a header."""
    lines = _lines(path)
    header = next(lines, (1, ""))[1].split("\t")
    missing = [name for name in names if name not in header]
    if missing:
        raise InputError(f"{path}:1: no column {missing[0]!r}")
    places = [header.index(name) for name in names]
    for number, line in lines:
        columns = line.split("\t")
        if len(columns) != len(header):
            raise InputError(
                f"{path}:{number}: {len(columns)} columns, but the header has {len(header)}"
            )
        yield number, [columns[place] for place in places]


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the non-empty lines, with their numbers."""
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            yield number, line
