"""The prepared folder for translation, made from a corpus in one deterministic pass.

::

    OUT/raw/{train,valid,test}.LANG        normalised, untokenised: the reference for BLEU
    OUT/segmented/{train,valid,test}.LANG  tokens or subwords, the input of the model
    OUT/codes.bpe or sentencepiece.model   the segmentation model, if words are segmented
    OUT/data-bin/                          the same text binarised, with dict.LANG.txt
    OUT/manifest.json                      options, counts, versions; no path and no date

The line numbers of all files of one split agree.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from fairseq_struct.data.prepared.binarise import SPLITS, binarise, dictionary_size
from fairseq_struct.data.prepared.manifest import digest
from fairseq_struct.data.prepared.prepared_folder import write_prepared_folder
from fairseq_struct.data.prepared.vocabulary.reserved_words import refuse_reserved
from fairseq_struct.data.prepared.vocabulary.subwords import Segmenter, learn_segmenter
from fairseq_struct.data.readers.parallel_text import (
    LengthFilter,
    Pair,
    ParallelCorpus,
    detokeniser,
    normalise,
    tokeniser,
)
from fairseq_struct.errors import InputError

_PACKAGES = ("fairseq-fixed", "ve-fairseq", "sacremoses", "sentencepiece", "subword-nmt")


@dataclass(frozen=True)
class TextOptions:
    """Options that determine how text becomes symbols.

    Attributes:
        normalise: one of ``parallel_text.NORMALISATIONS``.
        tokenise: one of ``parallel_text.TOKENISATIONS``.
        segment: one of ``subwords.SEGMENTATIONS``.
        subwords: number of merges (bpe) or pieces (sentencepiece).
        vocabulary_threshold: split pieces rarer than this in their language (bpe; 0 for never).
        max_length: maximum number of symbols of a training sentence; None for no limit.
        max_ratio: maximum number of symbols of one side per symbol of the other; None for no
            limit.
        joined_dictionary: make one dictionary for both languages.
    """

    normalise: str = "unicode"
    tokenise: str = "moses"
    segment: str = "bpe"
    subwords: int = 10000
    vocabulary_threshold: int = 0
    max_length: int | None = 100
    max_ratio: float | None = 9.0
    joined_dictionary: bool = True


def write_translation_folder(
    corpus: ParallelCorpus,
    options: TextOptions,
    out: str | Path,
    *,
    workers: int = 1,
    overwrite: bool = False,
    say: Callable[[str], None] = lambda message: None,
) -> dict:
    """Write a corpus as text, subwords and ``data-bin``, and return its manifest.

    A folder made from the same corpus and options stays unchanged. Nothing appears at ``out``
    before everything is written.

    Args:
        corpus: the text.
        options: how the text becomes symbols.
        out: the folder to make.
        workers: number of parallel binarising processes.
        overwrite: replace a folder made from other options or another corpus; it must have no
            other files.
        say: called with progress messages.

    Raises:
        InputError: ``out`` holds something else, the text is too small for the segmentation or
            contains one of fairseq's own symbols as a word, the filter leaves no training pair, or
            fairseq-preprocess fails.
    """

    def fill(folder: Path) -> dict:
        raw, tokens = _clean(corpus, options, say)
        if options.segment != "none":
            say(f"learning {options.subwords} subwords ({options.segment})")
        training_text = {
            lang: [pair[side] for pair in tokens["train"] if pair[side]]
            for side, lang in enumerate(corpus.languages)
        }
        segmenter = learn_segmenter(
            options.segment, training_text, options.subwords, options.vocabulary_threshold
        )
        segmenter.save(folder)
        counts = {}
        for split in SPLITS:
            say(f"{split}: segmenting")
            counts[split] = _write_split(
                folder, split, corpus, raw[split], tokens[split], segmenter, options
            )
        for name, lines in corpus.companions.items():
            _write_lines(folder / name, lines)
        say("binarising with fairseq-preprocess")
        joined = options.joined_dictionary
        binarise(folder, *corpus.languages, joined_dictionary=joined, workers=workers)
        return {
            "splits": counts,
            "vocabulary": {x: dictionary_size(folder / "data-bin", x) for x in corpus.languages},
            "versions": _versions(),
        }

    identity = _identity(corpus, options)
    return write_prepared_folder(
        out, identity, fill, generator=corpus.generator, overwrite=overwrite, say=say
    )


def _identity(corpus: ParallelCorpus, options: TextOptions) -> dict:
    """Everything that determines the folder's contents; equal identities make equal folders."""
    digests = {
        split: digest(
            f"{source}\n{target}"
            for pairs in (corpus.splits[split], corpus.references.get(split, ()))
            for source, target in pairs
        )
        for split in SPLITS
    }
    digests["companions"] = digest(
        line for name, lines in corpus.companions.items() for line in (name, *lines)
    )
    return {
        "preparation": "translation",
        "corpus": corpus.name,
        "source_lang": corpus.source_lang,
        "target_lang": corpus.target_lang,
        "provenance": corpus.provenance,
        "tokenised_by_owner": corpus.tokenised,
        "options": asdict(options),
        "text_sha256": digests,
    }


def _clean(
    corpus: ParallelCorpus, options: TextOptions, say: Callable[[str], None]
) -> tuple[dict[str, list[Pair]], dict[str, list[Pair]]]:
    """Return every split twice: as readable text and as tokens."""
    normalisers = [
        partial(normalise, language=lang, scheme=options.normalise) for lang in corpus.languages
    ]
    tokenisers = [tokeniser(lang, options.tokenise) for lang in corpus.languages]
    raw, tokens = {}, {}
    for split in SPLITS:
        say(f"{split}: {len(corpus.splits[split])} pairs read")
        clean = _map_sides(corpus.splits[split], normalisers)
        tokens[split] = _map_sides(clean, tokenisers)
        if split in corpus.references:
            raw[split] = _map_sides(corpus.references[split], normalisers)
        elif corpus.tokenised:
            raw[split] = _map_sides(clean, [detokeniser(lang) for lang in corpus.languages])
        else:
            raw[split] = clean
    return raw, tokens


def _map_sides(pairs: Iterable[Pair], functions: list[Callable[[str], str]]) -> list[Pair]:
    on_source, on_target = functions
    return [(on_source(source), on_target(target)) for source, target in pairs]


def _write_split(
    folder: Path,
    split: str,
    corpus: ParallelCorpus,
    raw: list[Pair],
    tokens: list[Pair],
    segmenter: Segmenter,
    options: TextOptions,
) -> dict:
    """Write one split's text and subwords and return its counts."""
    training, languages = split == "train", corpus.languages
    accept = LengthFilter(options.max_length, options.max_ratio)
    kept: list[tuple[Pair, Pair]] = []
    for number, (text, pair) in enumerate(zip(raw, tokens, strict=True), 1):
        pieces = tuple(segmenter.encode(s, lang) for s, lang in zip(pair, languages, strict=True))
        if not training or accept.keep(pieces[0].split(), pieces[1].split()):
            for side, line in enumerate(pieces):  # segmentation may split symbols
                refuse_reserved(line.split(), corpus.place(split, side, number))
            kept.append((text, pieces))
    if not kept:
        raise InputError(f"no training pair is left; dropped: {dict(accept.dropped)}")
    tokens_written = {}
    for side, lang in enumerate(languages):
        pieces = [pair[side] for _, pair in kept]
        _write_lines(folder / "raw" / f"{split}.{lang}", (text[side] for text, _ in kept))
        _write_lines(folder / "segmented" / f"{split}.{lang}", pieces)
        tokens_written[lang] = sum(line.count(" ") + 1 for line in pieces)
    return {
        "read": len(raw),
        "kept": len(kept),
        "dropped": dict(sorted(accept.dropped.items())),
        "tokens": tokens_written,
    }


def describe_split(counts: dict) -> str:
    """Describe a split in one line.

    Args:
        counts: the split's entry in the manifest.
    """
    dropped = ", ".join(f"{n} {reason}" for reason, n in counts["dropped"].items()) or "none"
    sizes = ", ".join(f"{n} {lang} tokens" for lang, n in counts["tokens"].items())
    return f"{counts['kept']} pairs kept of {counts['read']} (dropped: {dropped}), {sizes}"


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _versions() -> dict[str, str]:
    installed = {}
    for package in _PACKAGES:
        try:
            installed[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue  # only one of the two fairseq distributions can be installed
    return installed
