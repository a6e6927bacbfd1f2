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
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path

from fairseq_struct import __version__
from fairseq_struct.data.prepared.binarise import (
    SPLITS,
    Side,
    binarise,
    data_folders,
    dictionary_size,
)
from fairseq_struct.data.prepared.manifest import digest
from fairseq_struct.data.prepared.prepared_folder import write_prepared_folder
from fairseq_struct.data.prepared.streams import sentence_pairs
from fairseq_struct.data.prepared.streams.journal import Journal, Part
from fairseq_struct.data.prepared.streams.learning import learn_segmenter
from fairseq_struct.data.prepared.streams.progress import Progress
from fairseq_struct.data.prepared.streams.sentence_pairs import (
    Chunk,
    PairSegmenter,
    chunks_of,
    without_text,
)
from fairseq_struct.data.readers.aligned_files import AlignedFiles, TabbedPairs
from fairseq_struct.data.readers.parallel_text import ParallelCorpus, TextOptions
from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import write_lines

_PACKAGES = ("fairseq-fixed", "ve-fairseq", "sacremoses", "sentencepiece", "subword-nmt")


def write_translation_folder(
    corpus: ParallelCorpus,
    options: TextOptions,
    out: str | Path,
    *,
    workers: int = 1,
    shards: int = 1,
    overwrite: bool = False,
    say: Callable[[str], None] = lambda message: None,
    progress: Progress | None = None,
) -> dict:
    """Write a corpus as text, subwords and ``data-bin``, and return its manifest.

    A folder made from the same corpus and options stays unchanged. Nothing appears at ``out``
    before everything is written. An interrupted run goes on when it is started again.

    Args:
        corpus: the text.
        options: how the text becomes symbols.
        out: the folder to make.
        workers: number of parallel processes; the folder does not depend on it.
        shards: number of folders ``data-bin0``, ``data-bin1``, … to divide the training pairs
            among; 1 for ``data-bin``.
        overwrite: replace a folder made from other options or another corpus; it must have no
            other files.
        say: called with progress messages.
        progress: shows how far each step is.

    Raises:
        InputError: ``out`` holds something else, the text is too small for the segmentation or
            contains one of fairseq's own symbols as a word, the filter leaves no training pair or
            fewer than ``shards``, or a process was killed.
    """
    pairs = len(corpus.splits["train"])
    if 1 < shards > pairs:
        raise InputError(f"--shards {shards}: only {pairs} training pairs")

    def fill(journal: Journal) -> dict:
        for split in SPLITS:
            say(f"{split}: {len(corpus.splits[split])} pairs read")
        if options.segment != "none":
            say(f"learning {options.subwords} subwords ({options.segment})")
        segmenter = learn_segmenter(corpus, options, journal, workers)
        work, counts = partial(PairSegmenter, without_text(corpus), options, segmenter), {}
        for split in SPLITS:
            say(f"{split}: segmenting")
            counts[split] = _write_split(journal, split, corpus, work, workers)
        for name, lines in corpus.companions.items():
            (journal.folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_lines(journal.folder / name, lines)
        say("binarising")
        sides = [_side(corpus, language) for language in corpus.languages]
        binarise(
            journal, sides, joined=options.joined_dictionary, workers=workers, shards=shards
        )
        data = journal.folder / data_folders(shards)[0]
        return {
            "splits": counts,
            "vocabulary": {
                language: dictionary_size(data, side.dictionary)
                for language, side in zip(corpus.languages, sides, strict=True)
            },
            "versions": _versions(),
        }

    identity = _identity(corpus, options, shards)
    # "sample": the way of drawing that sample_of has; another one must not go on with its counts.
    return write_prepared_folder(
        out, identity, fill, generator=corpus.generator, overwrite=overwrite, say=say,
        progress=progress,
        goes_on_with={"versions": _versions(), "own": __version__, "pairs": sentence_pairs.PAIRS,
                      "sample": 2},
    )  # fmt: skip


def _identity(corpus: ParallelCorpus, options: TextOptions, shards: int) -> dict:
    """Everything that determines the folder's contents; equal identities make equal folders."""
    digests = {split: _digest_of(corpus, split) for split in SPLITS}
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
        # With one folder of data the identity is that of earlier versions.
        "options": _options(corpus, options) | ({"shards": shards} if shards > 1 else {}),
        "text_sha256": digests,
    }


def _digest_of(corpus: ParallelCorpus, split: str) -> str:
    pairs, references = corpus.splits[split], corpus.references.get(split, ())
    if isinstance(pairs, AlignedFiles | TabbedPairs) and not references:
        return pairs.sha256
    every = chain(pairs, references)
    return digest(f"{source}\n{target}" for source, target in every)


def _options(corpus: ParallelCorpus, options: TextOptions) -> dict:
    """The options that matter for a corpus, so that folders of earlier versions stay valid."""
    found = asdict(options)
    if len(corpus.splits["train"]) <= options.learn_on or options.segment == "none":
        del found["learn_on"], found["seed"]
    elif options.seed == 1:
        del found["seed"]
    return found


def _side(corpus: ParallelCorpus, language: str) -> Side:
    pair = f"{corpus.source_lang}-{corpus.target_lang}"
    return Side(f"segmented/{{}}.{language}", f"{{}}.{pair}.{language}", f"dict.{language}.txt")


def _write_split(
    journal: Journal, split: str, corpus: ParallelCorpus,
    work: Callable[[], Callable[[Chunk], Part]], workers: int,
) -> dict:  # fmt: skip
    """Write one split's text and subwords and return its counts."""
    files = [
        journal.folder / kind / f"{split}.{language}"
        for kind in ("raw", "segmented") for language in corpus.languages
    ]  # fmt: skip
    chunks, total = chunks_of(corpus, split), len(corpus.splits[split])
    counts = journal.work(f"segmenting {split}", files, work, chunks, workers, total)
    dropped = {
        name.removeprefix("dropped "): counts[name]
        for name in sorted(counts) if name.startswith("dropped ")
    }  # fmt: skip
    if not counts["kept"]:
        raise InputError(f"no training pair is left; dropped: {dropped}")
    return {
        "read": counts["lines"],
        "kept": counts["kept"],
        "dropped": dropped,
        "tokens": {language: counts[f"tokens {language}"] for language in corpus.languages},
    }


def describe_split(counts: dict) -> str:
    """Describe a split in one line.

    Args:
        counts: the split's entry in the manifest.
    """
    dropped = ", ".join(f"{n} {reason}" for reason, n in counts["dropped"].items()) or "none"
    sizes = ", ".join(f"{n} {lang} tokens" for lang, n in counts["tokens"].items())
    return f"{counts['kept']} pairs kept of {counts['read']} (dropped: {dropped}), {sizes}"


def _versions() -> dict[str, str]:
    installed = {}
    for package in _PACKAGES:
        try:
            installed[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue  # only one of the two fairseq distributions can be installed
    return installed
