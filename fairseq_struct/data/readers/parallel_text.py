"""Aligned text: normalising, tokenising and filtering sentence pairs."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fairseq_struct.errors import InputError

Pair = tuple[str, str]

NORMALISATIONS = ("none", "unicode", "moses")
TOKENISATIONS = ("none", "moses")


@dataclass(frozen=True)
class TextOptions:
    """Options that determine how text becomes symbols.

    Attributes:
        normalise: one of ``NORMALISATIONS``.
        tokenise: one of ``TOKENISATIONS``.
        segment: one of ``subwords.SEGMENTATIONS``.
        subwords: number of merges (bpe) or pieces (sentencepiece).
        vocabulary_threshold: split pieces rarer than this in their language (bpe; 0 for never).
        max_length: maximum number of symbols of a training sentence; None for no limit.
        max_ratio: maximum number of symbols of one side per symbol of the other; None for no
            limit.
        joined_dictionary: make one dictionary for both languages.
        learn_on: learn subwords on so many training pairs, drawn at random, if there are more.
        seed: of that draw.
    """

    normalise: str = "unicode"
    tokenise: str = "moses"
    segment: str = "bpe"
    subwords: int = 10000
    vocabulary_threshold: int = 0
    max_length: int | None = 100
    max_ratio: float | None = 9.0
    joined_dictionary: bool = True
    learn_on: int = 1_000_000
    seed: int = 1


class Pairs(Protocol):
    """Pairs that can be counted, and read again and again."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Pair]: ...


# Moses' punctuation rules map full-width marks to ASCII. This is wrong in these languages, which
# use full-width marks.
_FULL_WIDTH_LANGUAGES = frozenset({"ja", "ko", "zh"})

# Control characters and all Unicode spaces and line separators: each run becomes one plain space.
_SPACES = re.compile("[\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
# Soft hyphens, zero-width spaces, direction marks and byte-order marks: invisible, so removed.
# Zero-width (non-)joiners stay: Persian and Indic spelling depends on them.
_INVISIBLE = re.compile("[\xad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")


def reject_blank(lines: Iterable[str], path: str | Path, first: int = 1) -> None:
    """Refuse a blank sentence in held-out text.

    Args:
        lines: the sentences, in file order.
        path: the file of the sentences, for the message.
        first: line number of the first sentence in the file.

    Raises:
        InputError: a line has no visible character; the message names the first such line.
    """
    for number, line in enumerate(lines, start=first):
        if not normalise(line):
            raise InputError(
                f"{path}:{number}: blank line; validation and test text must be complete"
            )


def normalise(line: str, language: str = "en", scheme: str = "unicode") -> str:
    """Return a line in a canonical form, with single spaces between words.

    Args:
        line: one sentence.
        language: two-letter code; only ``moses`` depends on it.
        scheme: ``none`` only collapses white space; ``unicode`` also composes characters (NFC),
            turns control characters and odd spaces into spaces and removes invisible characters;
            ``moses`` then normalises punctuation (skipped for Japanese, Korean and Chinese).

    Raises:
        ValueError: the scheme is unknown.
    """
    if scheme not in NORMALISATIONS:
        raise ValueError(f"normalisation must be one of {NORMALISATIONS}, not {scheme!r}")
    if scheme != "none":
        line = _SPACES.sub(" ", unicodedata.normalize("NFC", _INVISIBLE.sub("", line)))
    if scheme == "moses" and language not in _FULL_WIDTH_LANGUAGES:
        line = _moses_punctuation(language).normalize(line)
    return " ".join(line.split())


def tokeniser(language: str, scheme: str = "moses") -> Callable[[str], str]:
    """Return the function that separates a line into space-separated tokens.

    Args:
        language: two-letter code of the line's language.
        scheme: ``none`` (the identity) or ``moses``. The latter does not escape characters, so
            that tokens stay plain text. It does not split at dashes, so that detokenising
            restores the text.

    Raises:
        ValueError: the scheme is unknown.
    """
    if scheme == "none":
        return str
    if scheme != "moses":
        raise ValueError(f"tokenisation must be one of {TOKENISATIONS}, not {scheme!r}")
    return _moses_words(language)


def detokeniser(language: str) -> Callable[[str], str]:
    """Return the function that detokenises as ``fairseq-generate --tokenizer moses`` does.

    Args:
        language: two-letter code of the line's language.
    """
    from sacremoses import MosesDetokenizer

    detokenise = MosesDetokenizer(language).detokenize
    return lambda line: detokenise(line.split())


@dataclass
class LengthFilter:
    """Decides which training pairs are kept, and counts the others by reason.

    Attributes:
        max_length: maximum number of subwords on each side; None for no limit.
        max_ratio: maximum number of subwords of one side per subword of the other; None for no
            limit.
        dropped: number of pairs dropped so far, by reason.
    """

    max_length: int | None = 100
    max_ratio: float | None = 9.0
    dropped: Counter[str] = field(default_factory=Counter)

    def keep(self, source: Sequence[str], target: Sequence[str]) -> bool:
        """Return whether to keep a segmented pair; if not, count it under the first reason.

        Args:
            source: subwords of the source sentence.
            target: subwords of the target sentence.
        """
        shorter, longer = sorted((len(source), len(target)))
        if shorter == 0:
            reason = "empty"
        elif self.max_length is not None and longer > self.max_length:
            reason = "too_long"
        elif self.max_ratio is not None and longer > self.max_ratio * shorter:
            reason = "length_ratio"
        else:
            return True
        self.dropped[reason] += 1
        return False


@dataclass(frozen=True)
class ParallelCorpus:
    """A parallel corpus, with the text that its owner distributes.

    Attributes:
        name: name in the manifest.
        source_lang: code of the source language.
        target_lang: code of the target language.
        splits: aligned pairs of ``train``, ``valid`` and ``test``: lists, or files that are read
            in every iteration (:class:`~fairseq_struct.data.readers.aligned_files.AlignedFiles`).
        tokenised: whether the owner tokenised the text.
        references: for tokenised splits, the same lines untokenised, if the owner distributes
            them; for other tokenised splits, detokenising makes the references.
        provenance: origin of the text, name to value; a part of the manifest.
        companions: additional files to store with the corpus, relative name to lines.
        files: the two files of a split, if each of their lines is a pair.
        generator: what drew the text, if it was not read; told in the manifest.
    """

    name: str
    source_lang: str
    target_lang: str
    splits: dict[str, Pairs]
    tokenised: bool = False
    references: dict[str, Pairs] = field(default_factory=dict)
    provenance: dict[str, str | int] = field(default_factory=dict)
    companions: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, Pair] = field(default_factory=dict)
    generator: str = ""

    def place(self, split: str, side: int, number: int) -> str:
        """Describe the place of a sentence, for messages.

        Args:
            split: split of the corpus.
            side: 0 for the source, 1 for the target.
            number: number of the pair, from 1.
        """
        if split in self.files:
            return f"{self.files[split][side]}:{number}"
        return f"{self.name}, {split} split, {self.languages[side]}, sentence {number}"

    @property
    def languages(self) -> Pair:
        """The source and the target language."""
        return self.source_lang, self.target_lang


@functools.cache
def _moses_words(language: str):
    from fairseq_struct.data.readers.moses_words import MosesWords

    return MosesWords(language)


@functools.cache
def _moses_punctuation(language: str):
    from sacremoses import MosesPunctNormalizer

    return MosesPunctNormalizer(language)
