"""Layouts of parallel corpora as their owners distribute them, read from a local folder.

A layout has the files of the splits and a suitable preparation; ``LAYOUTS`` has all by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import unescape

from fairseq_struct.data.readers.aligned_files import read_split
from fairseq_struct.data.readers.parallel_text import (
    Pair,
    ParallelCorpus,
    TextOptions,
    normalise,
    reject_blank,
)
from fairseq_struct.errors import InputError
from fairseq_struct.files.compressed_files import existing
from fairseq_struct.files.text_files import read_lines
from fairseq_struct.files.text_lines import STANDARD_INPUT

TANAKA_TEST_PAIRS = 500
IWSLT17_VALID_SETS = ("dev2010",)
IWSLT17_TEST_SETS = tuple(f"tst{year}" for year in range(2010, 2016))

_IWSLT_TAGS = "url|speaker|talkid|title|description|keywords|reviewer|translator|transcript|doc"
_IWSLT_TAG_LINE = re.compile(rf"\s*</?({_IWSLT_TAGS})\b[^>]*>")
_XML_DOCUMENT = re.compile(r'<doc\b[^>]*\bdocid="([^"]*)"')
_XML_SEGMENT = re.compile(r'<seg\b[^>]*\bid="([^"]*)"[^>]*>(.*?)</seg>')
_LANGUAGE = re.compile(r"[\w+@-]+(\.[\w+@-]+)*")
_XML_QUOTES = {"&quot;": '"', "&apos;": "'"}


@dataclass(frozen=True)
class Layout:
    """The layout of a corpus and a suitable preparation.

    Attributes:
        name: name on the command line.
        summary: one line for ``--help``.
        files: which files its folder has, for ``--help``.
        languages: languages of the corpus, the default source and target first.
        options: default preparation.
        read: reader; it takes the folder, the source and the target language.
    """

    name: str
    summary: str
    files: str
    languages: tuple[str, ...]
    options: TextOptions
    read: Callable[..., ParallelCorpus]


def read_multi30k(folder: str | Path, source_lang: str, target_lang: str) -> ParallelCorpus:
    """Read Multi30k: ``train.LANG``, ``val.LANG`` and ``test_2016_flickr.LANG``, raw cased text.

    Args:
        folder: folder of these files.
        source_lang: ``en``, ``de`` or ``fr``.
        target_lang: another of them.

    Raises:
        InputError: a file is missing, not aligned, not UTF-8 or incomplete.
    """
    folder = _find(folder, [f"train.{source_lang}"], ["."])
    names = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
    splits = {
        split: read_split(folder / name, split, source_lang, target_lang)
        for split, name in names.items()
    }
    return ParallelCorpus("multi30k", source_lang, target_lang, splits)


def read_iwslt17_de_en(
    folder: str | Path,
    source_lang: str,
    target_lang: str,
    valid_sets: Sequence[str] = IWSLT17_VALID_SETS,
    test_sets: Sequence[str] = IWSLT17_TEST_SETS,
) -> ParallelCorpus:
    """Read the German-English TED talks of IWSLT 2017.

    Training text is ``train.tags.de-en.LANG`` without its lines of metadata, such as titles and
    descriptions of talks. Held-out sets are ``IWSLT17.TED.SET.de-en.LANG.xml``, joined in the
    order of their names in the arguments.

    Args:
        folder: ``de-en`` of the distribution, or a folder above it.
        source_lang: ``de`` or ``en``.
        target_lang: the other one.
        valid_sets: names of the sets to validate on.
        test_sets: names of the sets to test on.

    Raises:
        InputError: a file is missing, not UTF-8 or malformed, or the two sides are not aligned.
    """
    languages = (source_lang, target_lang)
    names = [f"train.tags.de-en.{lang}" for lang in languages]
    folder = _find(folder, names, [".", "de-en", "texts/de/en/de-en"])
    sides = [
        [line for line in read_lines(existing(folder / name)) if not _IWSLT_TAG_LINE.match(line)]
        for name in names
    ]
    if len(sides[0]) != len(sides[1]) or not sides[0]:
        raise InputError(
            f"not aligned: {folder / names[0]} has {len(sides[0])} lines, "
            f"{folder / names[1]} has {len(sides[1])}, without the lines of metadata"
        )
    splits = {"train": list(zip(*sides, strict=True))}
    for split, sets in (("valid", valid_sets), ("test", test_sets)):
        splits[split] = [pair for name in sets for pair in _read_iwslt_set(folder, name, languages)]
    sets = {"valid_sets": " ".join(valid_sets), "test_sets": " ".join(test_sets)}
    return ParallelCorpus("iwslt17_de_en", source_lang, target_lang, splits, provenance=sets)


def read_kftt_ja_en(folder: str | Path, source_lang: str, target_lang: str) -> ParallelCorpus:
    """Read the Kyoto Free Translation Task: its tokenised text, and raw text as the reference.

    Training text is ``data/tok/kyoto-train.cln.LANG`` (at most 40 words), or ``kyoto-train.LANG``
    if that file is missing. Held-out text is ``kyoto-dev`` and ``kyoto-test``. The references for
    BLEU are the held-out sets in ``data/orig``.

    Args:
        folder: ``kftt-data-1.0`` or its parent folder.
        source_lang: ``ja`` or ``en``.
        target_lang: the other one.

    Raises:
        InputError: a file is missing, not aligned, not UTF-8 or incomplete.
    """
    folder = _find(folder, [f"data/tok/kyoto-dev.{source_lang}"], [".", "kftt-data-1.0"])
    tok, orig = folder / "data" / "tok", folder / "data" / "orig"
    cleaned = existing(tok / f"kyoto-train.cln.{source_lang}").exists()
    train = "kyoto-train.cln" if cleaned else "kyoto-train"
    names = {"train": train, "valid": "kyoto-dev", "test": "kyoto-test"}
    splits, references = {}, {}
    for split, name in names.items():
        splits[split] = read_split(tok / name, split, source_lang, target_lang)
        if split != "train":
            references[split] = read_split(orig / name, split, source_lang, target_lang)
            if len(references[split]) != len(splits[split]):
                raise InputError(
                    f"not aligned: {tok / name} has {len(splits[split])} lines, "
                    f"{orig / name} has {len(references[split])}"
                )
    return ParallelCorpus(
        "kftt_ja_en", source_lang, target_lang, splits, tokenised=True, references=references,
        provenance={"train": train},
    )  # fmt: skip


def read_tanaka_ja_en(folder: str | Path, source_lang: str, target_lang: str) -> ParallelCorpus:
    """Read the small tokenised, lower-cased part of the Tanaka corpus: ``train`` and ``dev``.

    The distribution has no test set, so the last 500 training pairs become the test set. The
    references for BLEU are the detokenised text.

    Args:
        folder: folder of ``train.LANG`` and ``dev.LANG``.
        source_lang: ``ja`` or ``en``.
        target_lang: the other one.

    Raises:
        InputError: a file is missing, not aligned, not UTF-8 or incomplete, or there are not
            enough training pairs.
    """
    folder = _find(folder, [f"train.{source_lang}"], ["."])
    pairs = list(read_split(folder / "train", "train", source_lang, target_lang))
    if len(pairs) <= TANAKA_TEST_PAIRS:
        raise InputError(
            f"{folder / 'train'}.{source_lang}: {len(pairs)} pairs are too few: the last "
            f"{TANAKA_TEST_PAIRS} are the test set"
        )
    train, test = pairs[:-TANAKA_TEST_PAIRS], pairs[-TANAKA_TEST_PAIRS:]
    for side, lang in enumerate((source_lang, target_lang)):
        lines = (pair[side] for pair in test)
        reject_blank(lines, folder / f"train.{lang}", first=len(train) + 1)
    valid = read_split(folder / "dev", "valid", source_lang, target_lang)
    return ParallelCorpus(
        "tanaka_ja_en",
        source_lang,
        target_lang,
        {"train": train, "valid": valid, "test": test},
        tokenised=True,
        provenance={"test": f"the last {TANAKA_TEST_PAIRS} pairs of train, removed from it"},
    )


def read_plain(
    prefixes: dict[str, str], source_lang: str, target_lang: str, tokenised: bool = False
) -> ParallelCorpus:
    """Read any corpus of aligned files ``PREFIX.LANG``, or of lines with a tab between the sides.

    Args:
        prefixes: path without the language suffix, for ``train``, ``valid`` and ``test``; ``-``
            is standard input, whose lines are a sentence, a tab and its translation.
        source_lang: suffix of the source side, a language code if there is one.
        target_lang: suffix of the target side.
        tokenised: whether the files hold space-separated tokens.

    Raises:
        InputError: a language cannot be part of a file's name, a file is missing, not aligned,
            not UTF-8 or incomplete, or two splits are standard input.
    """
    for lang in (source_lang, target_lang):
        if not _LANGUAGE.fullmatch(lang):
            raise InputError(f"{lang!r} is not a language: file names end in it, as in train.en")
    if list(prefixes.values()).count(STANDARD_INPUT) > 1:
        raise InputError("only one split can be standard input")
    splits = {
        split: read_split(Path(prefix), split, source_lang, target_lang)
        for split, prefix in prefixes.items()
    }
    files = {split: tuple(map(str, pairs.paths)) for split, pairs in splits.items()}
    return ParallelCorpus("plain", source_lang, target_lang, splits, tokenised, files=files)


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout(
            "multi30k",
            "Multi30k image captions (raw text; en, de, fr)",
            "train.LANG, val.LANG, test_2016_flickr.LANG",
            ("en", "de", "fr"),
            TextOptions(subwords=10000),
            read_multi30k,
        ),
        Layout(
            "iwslt17_de_en",
            "IWSLT 2017 German-English TED talks",
            "train.tags.de-en.LANG, IWSLT17.TED.SET.de-en.LANG.xml; or a folder above it",
            ("de", "en"),
            TextOptions(subwords=32000),
            read_iwslt17_de_en,
        ),
        Layout(
            "kftt_ja_en",
            "Kyoto Free Translation Task, Japanese-English (tokenised by its owner)",
            "data/tok/kyoto-train.cln.LANG, and kyoto-dev.LANG and kyoto-test.LANG in data/tok and "
            "data/orig",
            ("ja", "en"),
            TextOptions(tokenise="none", subwords=32000),
            read_kftt_ja_en,
        ),
        Layout(
            "tanaka_ja_en",
            "Tanaka corpus, Japanese-English (tokenised and lower-cased by its owner)",
            f"train.LANG, whose last {TANAKA_TEST_PAIRS} pairs become the test set, and dev.LANG",
            ("ja", "en"),
            TextOptions(tokenise="none", subwords=8000),
            read_tanaka_ja_en,
        ),
    )
}


def _find(folder: str | Path, names: list[str], places: list[str]) -> Path:
    """Return the first of ``places`` below ``folder`` that holds one of the files."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    for place in places:
        if any(existing(folder / place / name).exists() for name in names):
            return folder / place
    elsewhere = f" (nor in its {' or '.join(places[1:])})" if places[1:] else ""
    raise InputError(f"{folder}: has no {names[0]}{elsewhere}")


def _read_iwslt_set(folder: Path, name: str, languages: Pair) -> list[Pair]:
    """Read one held-out set, and check that both sides have the same segments."""
    names = (f"IWSLT17.TED.{name}.de-en.{lang}.xml" for lang in languages)
    paths = [existing(folder / name) for name in names]
    source, target = (_read_segments(path) for path in paths)
    if list(source) != list(target):
        raise InputError(f"not aligned: {paths[0]} and {paths[1]} have different segments")
    return list(zip(source.values(), target.values(), strict=True))


def _read_segments(path: Path) -> dict[Pair, str]:
    """Return the sentences of an evaluation file by ids; bare ampersands rule out XML parsers."""
    document, segments = "", {}
    for number, line in enumerate(read_lines(path), start=1):
        if match := _XML_DOCUMENT.search(line):
            document = match[1]
        for identifier, content in _XML_SEGMENT.findall(line):
            sentence = unescape(content, _XML_QUOTES)
            if not normalise(sentence):
                raise InputError(f"{path}:{number}: segment {identifier} is blank")
            segments[document, identifier] = sentence
    if not segments:
        raise InputError(f"{path}: contains no <seg id=…>")
    return segments
