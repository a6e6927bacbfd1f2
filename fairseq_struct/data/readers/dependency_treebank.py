"""Dependency treebanks for the evaluation of unsupervised parsers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fairseq_struct.data.readers.conllu import Sentence, check_heads, read_conllu
from fairseq_struct.data.readers.penn_treebank import PUNCTUATION, WORDS, normalised
from fairseq_struct.errors import InputError
from fairseq_struct.files.compressed_files import without_ending
from fairseq_struct.files.reserved_words import without_spaces
from fairseq_struct.files.text_files import files_of, read_lines

SUFFIX = ".dp"
# Universal parts of speech of words; .dp files have the tags of the Penn Treebank.
UNIVERSAL = frozenset(
    "ADJ ADP ADV AUX CCONJ CONJ DET INTJ NOUN NUM PART PRON PROPN SCONJ SYM VERB X".split()
)
UNIVERSAL_PUNCTUATION = "PUNCT"


def read_treebank(path: str | Path) -> list[Sentence]:
    """Read the trees of a CoNLL-U file, of a ``.dp`` file, or of all ``.dp`` files of a folder.

    Lines of ``.dp`` files, as nltk distributes them, are ``word<TAB>tag<TAB>head``. Sentences end
    with an empty line. Spaces within a word become ``_``.

    Raises:
        InputError: there are no files or trees, a line is malformed, or heads form no tree; with
            the line.
    """
    path = Path(path)
    if path.is_dir():
        files = files_of(path, f"*{SUFFIX}")
        if not files:
            raise InputError(f"{path}: no {SUFFIX} file in this folder")
        trees = [tree for file in files for tree in _read_dp(file)]
    else:
        is_dp = without_ending(path).suffix == SUFFIX
        trees = list(_read_dp(path) if is_dp else read_conllu(path))
    if not trees:
        raise InputError(f"{path}: contains no sentence")
    return trees


def _read_dp(path: Path) -> Iterator[Sentence]:
    rows: list[tuple[int, str, str, str]] = []
    for number, line in enumerate([*read_lines(path), ""], 1):
        if not line.strip():
            if rows:
                _, words, tags, heads = zip(*rows, strict=True)
                places = check_heads(path, [(row[0], row[3]) for row in rows])
                words = tuple(map(without_spaces, words))
                yield Sentence(words, tuple(places), rows[0][0], tags, (), str(path))
            rows = []
            continue
        columns = line.split("\t")
        if len(columns) != 3:
            raise InputError(f"{path}:{number}: {len(columns)} columns; {SUFFIX} files have 3")
        if not columns[0].strip():
            raise InputError(f"{path}:{number}: word {len(rows) + 1} has no form")
        rows.append((number, *columns))


def heads_of_kept(heads: Sequence[int], kept: Sequence[bool]) -> list[int]:
    """Heads of the kept words: the nearest kept ancestor of each, or the root.

    This removes punctuation from a tree: the dependents of a removed token move up.

    Args:
        heads: heads of a tree, 1-based, 0 for the root.
        kept: whether each word is kept.
    """
    number, new = 0, [0]
    for stays in kept:
        number += stays
        new.append(number)
    result = []
    for head, stays in zip(heads, kept, strict=True):
        if stays:
            while head and not kept[head - 1]:
                head = heads[head - 1]
            result.append(new[head])
    return result


def kept_words(tree: Sentence) -> list[bool]:
    """Which tokens are words, by their universal or Penn Treebank tags.

    Raises:
        InputError: a token has no tag, or a tag of neither set.
    """
    if not tree.tags or "_" in tree.tags:
        raise InputError(f"{tree.place}: no tags, so punctuation cannot be told from words")
    for tag in tree.tags:
        if tag not in UNIVERSAL | {UNIVERSAL_PUNCTUATION} | WORDS | PUNCTUATION:
            raise InputError(
                f"{tree.place}: {tag!r} is neither a universal part of speech nor one of the Penn "
                "Treebank's, so punctuation cannot be told from words"
            )
    return [tag in WORDS or tag in UNIVERSAL for tag in tree.tags]


def without_punctuation(tree: Sentence) -> Sentence | None:
    """Remove punctuation; its dependents move to their nearest kept ancestor.

    Returns:
        The tree of the words, None if no word is left.

    Raises:
        InputError: as for :func:`kept_words`.
    """
    kept = kept_words(tree)
    if not any(kept):
        return None

    def left(values):
        return tuple(value for value, stays in zip(values, kept, strict=True) if stays)

    return replace(
        tree, words=left(tree.words), heads=tuple(heads_of_kept(tree.heads, kept)),
        tags=left(tree.tags),
        relations=left(tree.relations) if tree.relations else (),
    )  # fmt: skip


def as_language_model_text(tree: Sentence) -> Sentence:
    """Lower-case words and replace numbers by N, as in the Penn Treebank's language model text."""
    return replace(tree, words=tuple(normalised(word) for word in tree.words))
