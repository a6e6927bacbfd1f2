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
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path

from fairseq_struct.data.prepared.binarise import SPLITS, binarise, dictionary_size
from fairseq_struct.data.prepared.manifest import digest
from fairseq_struct.data.prepared.prepared_folder import write_prepared_folder
from fairseq_struct.data.prepared.streams.in_order import in_order
from fairseq_struct.data.prepared.streams.learning import learn_segmenter
from fairseq_struct.data.prepared.streams.sentence_pairs import (
    PairSegmenter,
    Segmented,
    TextOptions,
    chunks_of,
    without_text,
)
from fairseq_struct.data.readers.parallel_text import ParallelCorpus
from fairseq_struct.errors import InputError

__all__ = ["TextOptions", "describe_split", "write_translation_folder"]
_PACKAGES = ("fairseq-fixed", "ve-fairseq", "sacremoses", "sentencepiece", "subword-nmt")


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
        workers: number of parallel processes; the folder does not depend on it.
        overwrite: replace a folder made from other options or another corpus; it must have no
            other files.
        say: called with progress messages.

    Raises:
        InputError: ``out`` holds something else, the text is too small for the segmentation or
            contains one of fairseq's own symbols as a word, the filter leaves no training pair, or
            fairseq-preprocess fails.
    """

    def fill(folder: Path) -> dict:
        for split in SPLITS:
            say(f"{split}: {len(corpus.splits[split])} pairs read")
        if options.segment != "none":
            say(f"learning {options.subwords} subwords ({options.segment})")
        segmenter = learn_segmenter(corpus, options, workers)
        segmenter.save(folder)
        work, counts = partial(PairSegmenter, without_text(corpus), options, segmenter), {}
        for split in SPLITS:
            say(f"{split}: segmenting")
            chunks = in_order(work, chunks_of(corpus, split), workers)
            counts[split] = _write_split(folder, split, corpus, chunks)
        for name, lines in corpus.companions.items():
            with _writing(folder / name) as file:
                file.writelines(f"{line}\n" for line in lines)
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
        "options": _options(corpus, options),
        "text_sha256": digests,
    }


def _options(corpus: ParallelCorpus, options: TextOptions) -> dict:
    """The options that matter for a corpus, so that folders of earlier versions stay valid."""
    found = asdict(options)
    if len(corpus.splits["train"]) <= options.learn_on or options.segment == "none":
        del found["learn_on"]
    return found


def _write_split(
    folder: Path, split: str, corpus: ParallelCorpus, chunks: Iterable[Segmented]
) -> dict:
    """Write one split's text and subwords and return its counts."""
    read, kept, dropped, tokens = 0, 0, Counter[str](), [0, 0]
    with ExitStack() as stack:
        files = {
            kind: [stack.enter_context(_writing(folder / kind / f"{split}.{lang}"))
                   for lang in corpus.languages]
            for kind in ("raw", "segmented")
        }  # fmt: skip
        for chunk in chunks:
            for kind, texts in (("raw", chunk.raw), ("segmented", chunk.pieces)):
                for file, text in zip(files[kind], texts, strict=True):
                    file.write(text)
            read, kept = read + chunk.read, kept + chunk.kept
            dropped.update(chunk.dropped)
            tokens = [sum(both) for both in zip(tokens, chunk.tokens, strict=True)]
    if not kept:
        raise InputError(f"no training pair is left; dropped: {dict(dropped)}")
    return {
        "read": read,
        "kept": kept,
        "dropped": dict(sorted(dropped.items())),
        "tokens": dict(zip(corpus.languages, tokens, strict=True)),
    }


def describe_split(counts: dict) -> str:
    """Describe a split in one line.

    Args:
        counts: the split's entry in the manifest.
    """
    dropped = ", ".join(f"{n} {reason}" for reason, n in counts["dropped"].items()) or "none"
    sizes = ", ".join(f"{n} {lang} tokens" for lang, n in counts["tokens"].items())
    return f"{counts['kept']} pairs kept of {counts['read']} (dropped: {dropped}), {sizes}"


def _writing(path: Path):
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("w", encoding="utf-8", newline="\n")


def _versions() -> dict[str, str]:
    installed = {}
    for package in _PACKAGES:
        try:
            installed[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue  # only one of the two fairseq distributions can be installed
    return installed
